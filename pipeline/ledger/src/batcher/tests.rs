//! Group commit: who shares a batch, who runs alone, and what a failure leaves.

#![allow(clippy::panic, reason = "one of them is about a panic")]

use std::{panic::AssertUnwindSafe, sync::atomic::AtomicUsize, sync::atomic::Ordering, time::Duration};

use futures::future::join_all;

use super::*;

/// A request that is not answered by then never is.
const PATIENCE: Duration = Duration::from_secs(20);
const CONTENDED: Error = Error::Contended { doing: "answering an odd number" };

/// Answers each number with the size of its batch, once `gate` lets it.
async fn sizes(gate: Arc<Semaphore>, numbers: Vec<u32>, _: Locks) -> Result<Vec<Batched<usize>>, Error> {
    let _permit = gate.acquire().await;
    Ok(numbers.iter().map(|_| Batched::Done(numbers.len())).collect())
}

fn done(numbers: Vec<u32>) -> Vec<Batched<u32>> {
    numbers.into_iter().map(Batched::Done).collect()
}

/// Returns when no lane runs any more, and how many requests are still counted as in flight.
async fn in_flight_at_rest<A: Send + 'static>(batcher: &Batcher<u32, A>) -> usize {
    while batcher.state.lock().lanes > 0 {
        tokio::task::yield_now().await;
    }
    batcher.state.lock().in_flight
}

#[tokio::test]
async fn batcher_runs_a_single_request_at_once() {
    let batcher = Batcher::new();
    for number in 0..3 {
        let answer = batcher.run(&Arc::new(Semaphore::new(1)), number, sizes).await;
        assert_eq!(answer.ok(), Some(1));
    }
}

#[tokio::test]
async fn batcher_shares_the_next_batch_among_arriving_requests() {
    let (batcher, gate) = (Batcher::new(), Arc::new(Semaphore::new(0)));
    let run = |number| batcher.run(&gate, number, sizes);
    let until = async |lanes, waiting| {
        let reached = || {
            let state = batcher.state.lock();
            (state.lanes, state.waiting.len()) == (lanes, waiting)
        };
        while !reached() {
            tokio::task::yield_now().await;
        }
    };
    let rest = async {
        until(2, 0).await;
        let open = async {
            until(2, 98).await;
            gate.add_permits(1);
        };
        futures::join!(join_all((0..98).map(run)), open).0
    };
    let few = async {
        until(1, 0).await;
        let enough = async {
            until(1, 3).await;
            run(3).await
        };
        let (few, last) = futures::join!(join_all((0..3).map(run)), enough);
        few.into_iter().chain([last]).flatten().collect::<Vec<usize>>()
    };
    let (one, few, rest) = futures::join!(run(0), few, rest);
    assert_eq!((one.ok(), few), (Some(1), vec![4; 4]), "one runs at once, three wait, four run beside it");
    let sizes: Vec<usize> = rest.into_iter().flatten().collect();
    assert_eq!((sizes.len(), sizes[0], sizes[97]), (98, 64, 34), "a batch has its limit");
    assert_eq!(in_flight_at_rest(&batcher).await, 0);
}

#[tokio::test]
async fn batcher_failing_request_fails_alone() {
    async fn even((): (), numbers: Vec<u32>, _: Locks) -> Result<Vec<Batched<u32>>, Error> {
        tokio::task::yield_now().await;
        if numbers.iter().any(|number| number % 2 == 1) { Err(CONTENDED) } else { Ok(done(numbers)) }
    }
    let batcher = Batcher::new();
    let answers = join_all((0..40).map(|number| batcher.run(&(), number, even))).await;
    for (number, answer) in (0..).zip(answers) {
        assert_eq!(answer.ok(), (number % 2 == 0).then_some(number));
    }
}

#[tokio::test]
async fn batcher_locked_request_delays_no_other() {
    async fn locked(
        gate: Arc<Semaphore>,
        numbers: Vec<u32>,
        locks: Locks,
    ) -> Result<Vec<Batched<u32>>, Error> {
        tokio::task::yield_now().await;
        if locks == Locks::Wait {
            let _permit = gate.acquire().await;
            return Ok(done(numbers));
        }
        let outcome = |number| if number == 1 { Batched::Locked } else { Batched::Done(number) };
        Ok(numbers.into_iter().map(outcome).collect())
    }
    let (batcher, gate) = (Batcher::new(), Arc::new(Semaphore::new(0)));
    let run = |number| Box::pin(batcher.run(&gate, number, locked));
    let (first, mut second, third) = (run(0), run(1), run(2));
    assert!(futures::poll!(&mut second).is_pending());
    let others = tokio::time::timeout(PATIENCE, futures::future::join(first, third)).await;
    assert!(matches!(others, Ok((Ok(0), Ok(2)))), "{others:?}");
    let later = tokio::time::timeout(PATIENCE, run(3)).await;
    assert!(matches!(later, Ok(Ok(3))), "the lane goes on: {later:?}");
    assert!(futures::poll!(&mut second).is_pending());
    gate.add_permits(1);
    assert_eq!(second.await.ok(), Some(1));
}

#[tokio::test]
async fn batcher_unavailable_database_fails_a_whole_batch_once() {
    async fn unavailable(
        asked: Arc<AtomicUsize>,
        numbers: Vec<u32>,
        _: Locks,
    ) -> Result<Vec<Batched<u32>>, Error> {
        asked.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        let source = sqlx::Error::PoolTimedOut;
        if numbers.is_empty() { Ok(Vec::new()) } else { Err(source.into()) }
    }
    let (batcher, asked) = (Batcher::new(), Arc::new(AtomicUsize::new(0)));
    let answers = join_all((0..40).map(|number| batcher.run(&asked, number, unavailable))).await;
    assert!(answers.iter().all(|answer| matches!(answer, Err(Error::Unavailable { .. }))));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

async fn all_but_one(gate: Arc<Semaphore>, numbers: Vec<u32>, _: Locks) -> Result<Vec<Batched<u32>>, Error> {
    let _permit = gate.acquire().await;
    assert!(!numbers.contains(&1), "as these tests want it");
    Ok(done(numbers))
}

#[tokio::test]
async fn batcher_panic_reaches_its_own_caller_only() {
    let (batcher, gate) = (Batcher::new(), Arc::new(Semaphore::new(1)));
    let run = |number| AssertUnwindSafe(batcher.run(&gate, number, all_but_one)).catch_unwind();
    let answers = join_all([0, 1, 2].map(run)).await;
    let answers: Vec<_> = answers.into_iter().map(|answer| answer.ok().and_then(Result::ok)).collect();
    assert_eq!(answers, [Some(0), None, Some(2)]);
    let next = tokio::time::timeout(PATIENCE, batcher.run(&gate, 3, all_but_one)).await;
    assert!(matches!(next, Ok(Ok(3))), "{next:?}");
    assert_eq!(in_flight_at_rest(&batcher).await, 0);
}

#[tokio::test]
async fn batcher_dropped_caller_cancels_nothing_for_others() {
    let (batcher, gate) = (Batcher::new(), Arc::new(Semaphore::new(0)));
    let run = |number| batcher.run(&gate, number, sizes);
    let mut leaving = Box::pin(run(1));
    assert!(futures::poll!(&mut leaving).is_pending());
    drop(leaving);
    gate.add_permits(1);
    assert!(run(2).await.is_ok());
}
