//! Runs operations at the same moment.

use std::{future::Future, sync::Arc};

use tokio::sync::Barrier;

/// Starts all operations at the same moment, each in its own task, and returns their results in order.
///
/// # Panics
/// When one of them does.
pub async fn at_once<V>(verbs: impl IntoIterator<Item = V>) -> Vec<V::Output>
where
    V: Future<Output: Send + 'static> + Send + 'static,
{
    let verbs: Vec<V> = verbs.into_iter().collect();
    let start = Arc::new(Barrier::new(verbs.len()));
    let begin = |verb: V| {
        let start = Arc::clone(&start);
        tokio::spawn(async move {
            start.wait().await;
            verb.await
        })
    };
    let tasks: Vec<_> = verbs.into_iter().map(begin).collect();
    let mut done = Vec::new();
    for task in tasks {
        done.push(task.await.expect("none of them panics"));
    }
    done
}

/// The same for two operations with different results.
///
/// # Panics
/// When one of them does.
pub async fn both_at_once<A: Send + 'static, B: Send + 'static>(
    one: impl Future<Output = A> + Send + 'static,
    other: impl Future<Output = B> + Send + 'static,
) -> (A, B) {
    let start = Arc::new(Barrier::new(2));
    let also = Arc::clone(&start);
    let one = tokio::spawn(async move {
        start.wait().await;
        one.await
    });
    let other = tokio::spawn(async move {
        also.wait().await;
        other.await
    });
    (one.await.expect("it does not panic"), other.await.expect("it does not panic"))
}
