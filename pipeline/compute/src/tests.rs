//! What callers of a pool see, and how many threads it has.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use std::sync::mpsc;

use futures::FutureExt;

use super::*;

/// Longer than any of these takes.
const ENOUGH: Duration = Duration::from_secs(60);

/// Work that keeps a thread until the gate is dropped, and a sign that it has begun.
fn gated() -> (mpsc::Sender<()>, oneshot::Receiver<()>, impl FnOnce() + Send) {
    let (gate, closed) = mpsc::channel();
    let (begun, beginning) = oneshot::channel();
    let work = move || {
        begun.send(()).unwrap();
        assert!(closed.recv().is_err());
    };
    (gate, beginning, work)
}

#[tokio::test]
async fn compute_returns_the_value_and_propagates_panics() {
    let pool = Pool::new(1).unwrap();
    assert_eq!(pool.run(ENOUGH, 1, || 6 * 7).await, Ok(42));
    let panicked = AssertUnwindSafe(pool.run(ENOUGH, 1, || panic!("on purpose"))).catch_unwind().await;
    assert!(panicked.is_err());
    assert_eq!(pool.run(ENOUGH, 1, || "the thread goes on").await, Ok("the thread goes on"));
}

#[tokio::test]
async fn compute_second_user_waits_for_one_task_not_the_queue() {
    let pool = Pool::new(1).unwrap();
    let (gate, begun, blocks) = gated();
    let order = Arc::new(Mutex::new(Vec::new()));
    let run = |user: &'static str| {
        let (pool, order) = (pool.clone(), Arc::clone(&order));
        let work = move || order.lock().push(user);
        tokio::spawn(on_behalf_of(user, async move { pool.run(ENOUGH, 1, work).await }))
    };
    let first = {
        let pool = pool.clone();
        tokio::spawn(async move { pool.run(ENOUGH, 1, blocks).await })
    };
    begun.await.unwrap();
    let mut all: Vec<_> = (0..20).map(|_| run("ann")).collect();
    while pool.waiting() < 20 {
        tokio::task::yield_now().await;
    }
    all.push(run("bob"));
    while pool.waiting() < 21 {
        tokio::task::yield_now().await;
    }
    drop(gate);
    for work in all {
        work.await.unwrap().unwrap();
    }
    first.await.unwrap().unwrap();
    assert_eq!(order.lock().iter().position(|user| *user == "bob"), Some(1));
}

#[tokio::test]
async fn compute_cancels_work_over_its_budget() {
    let pool = Pool::new(1).unwrap();
    let mut gates = Vec::new();
    for _ in 0..3 {
        let (gate, closed) = mpsc::channel::<()>();
        let blocks = move || assert!(closed.recv().is_err());
        assert_eq!(pool.run(Duration::from_millis(20), 1, blocks).await, Err(OverBudget));
        gates.push(gate);
        assert_eq!(pool.run(ENOUGH, 1, || 1).await, Ok(1), "by the thread that replaced it");
    }
    let threads = || {
        let state = pool.short.0.state.lock();
        (state.threads, state.over_budget)
    };
    assert_eq!(threads(), (4, 3));
    drop(gates);
    // Threads look whether they are too many when they look for work.
    while threads() != (1, 0) {
        pool.run(ENOUGH, 1, || ()).await.unwrap();
    }
}

#[tokio::test]
async fn compute_does_not_start_work_of_a_gone_caller() {
    let pool = Pool::new(1).unwrap();
    let (gate, begun, blocks) = gated();
    let first = {
        let pool = pool.clone();
        tokio::spawn(async move { pool.run(ENOUGH, 1, blocks).await })
    };
    begun.await.unwrap();
    let (done, is_done) = mpsc::channel();
    let abandoned = {
        let pool = pool.clone();
        tokio::spawn(async move { pool.run(ENOUGH, 1, move || done.send(())).await })
    };
    while pool.waiting() < 1 {
        tokio::task::yield_now().await;
    }
    abandoned.abort();
    assert!(abandoned.await.unwrap_err().is_cancelled());
    drop(gate);
    first.await.unwrap().unwrap();
    pool.run(ENOUGH, 1, || ()).await.unwrap();
    assert!(is_done.try_recv().is_err());
}

#[tokio::test]
async fn compute_cancels_running_work_of_a_gone_caller() {
    let pool = Pool::new(1).unwrap();
    let (gate, begun, blocks) = gated();
    let left = {
        let pool = pool.clone();
        tokio::spawn(async move { pool.run(ENOUGH, 1, blocks).await })
    };
    begun.await.unwrap();
    left.abort();
    assert!(left.await.unwrap_err().is_cancelled());
    assert_eq!(pool.run(ENOUGH, 1, || 1).await, Ok(1));
    drop(gate);
}

#[tokio::test]
async fn compute_short_text_does_not_wait_for_a_long_one() {
    let pool = Pool::new(1).unwrap();
    let (gate, begun, blocks) = gated();
    let long = {
        let pool = pool.clone();
        tokio::spawn(async move { pool.run(ENOUGH, LONG + 1, blocks).await })
    };
    begun.await.unwrap();
    assert!(pool.run(ENOUGH, LONG + 1, || ()).now_or_never().is_none(), "the long texts' thread is taken");
    assert_eq!(pool.run(ENOUGH, LONG, || 1).await, Ok(1));
    drop(gate);
    long.await.unwrap().unwrap();
}
