//! Natural batches: what arrives while a commit is on its way is committed by the next one (DESIGN §5).
//!
//! There is no timer: a question that finds nobody asking is answered at once, alone. A second batch is begun beside the
//! first when it is no smaller: a trickle of small ones would cost more than it answers sooner. A batch that fails falls
//! apart into single ones, so that each fails for its own reasons; unless the database is away, which is nobody's own.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::{StreamExt, stream};
use tokio::sync::oneshot;

use crate::error::Error;

/// How many batches may be on their way at once.
#[derive(Clone, Copy)]
pub(crate) enum Lanes {
    /// What is read within a millisecond gathers most so.
    One = 1,
    /// Where one may wait while another could be worked on: for a commit to be on the disk.
    Two = 2,
}

/// How many questions one batch answers at most.
const BATCH: usize = 64;

/// How many of a batch that fell apart are asked at once: no more than a few sessions' worth, nor than memory holds of the
/// longest talks.
const ALONE: usize = 8;

/// Gathers questions of one kind. Cheap to clone; clones gather together.
pub(crate) struct Together<Q, A>(Arc<Mutex<Gathered<Q, A>>>);

/// Where one answer goes.
type Reply<A> = oneshot::Sender<Result<A, Error>>;

struct Gathered<Q, A> {
    waiting: VecDeque<(Q, Reply<A>)>,
    /// Lanes that are busy, and how many may be.
    lanes: usize,
    most: Lanes,
    /// How many questions they are answering.
    answering: usize,
}

impl<Q, A> Gathered<Q, A> {
    /// Whether those who wait make a batch to be begun now.
    fn is_batch(&self) -> bool {
        !self.waiting.is_empty() && self.waiting.len() >= self.answering.min(BATCH)
    }
}

impl<Q, A> Clone for Together<Q, A> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<Q: Clone + Send + 'static, A: Send + 'static> Together<Q, A> {
    pub(crate) fn new(most: Lanes) -> Self {
        Self(Arc::new(Mutex::new(Gathered { waiting: VecDeque::new(), lanes: 0, most, answering: 0 })))
    }

    /// Asks, and waits for the answer. `verb`, said by a clone of `who`, answers a batch as a whole, one answer for each
    /// question in their order. A batch is a task of its own: whoever stops waiting cancels nothing that others wait for.
    ///
    /// # Errors
    /// Those of `verb`, said of this question alone.
    pub(crate) async fn ask<W, V, F>(&self, who: &W, question: Q, verb: V) -> Result<A, Error>
    where
        W: Clone + Send + Sync + 'static,
        V: Fn(W, Vec<Q>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Vec<A>, Error>> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let who = who.clone();
        let verb = Arc::new(move |questions| verb(who.clone(), questions));
        if let Some(lane) = self.join(question.clone(), answer) {
            tokio::spawn(lane.run(Arc::clone(&verb)));
        }
        match answered.await {
            Ok(answer) => answer,
            // The batch panicked, over this question or another. Alone, a panic reaches whoever it belongs to.
            Err(_) => verb(vec![question]).await.map(only),
        }
    }

    /// Queues a question; a lane that is to be begun for it is run by the caller.
    fn join(&self, question: Q, answer: Reply<A>) -> Option<Lane<Q, A>> {
        let mut gathered = self.lock();
        gathered.waiting.push_back((question, answer));
        let is_begun = gathered.lanes < gathered.most as usize && gathered.is_batch();
        gathered.lanes += usize::from(is_begun);
        is_begun.then(|| Lane { of: self.clone(), is_open: true, answering: 0 })
    }

    fn lock(&self) -> MutexGuard<'_, Gathered<Q, A>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lane, for as long as this lives.
struct Lane<Q: Clone + Send + 'static, A: Send + 'static> {
    of: Together<Q, A>,
    is_open: bool,
    /// The size of its batch.
    answering: usize,
}

impl<Q: Clone + Send + 'static, A: Send + 'static> Lane<Q, A> {
    /// Answers batch after batch until nobody waits. Before each, whoever is about to ask is let ask: requests that
    /// arrived at the same moment, and those that the last batch answered, would else come one by one.
    async fn run<V, F>(mut self, verb: Arc<V>)
    where
        V: Fn(Vec<Q>) -> F,
        F: Future<Output = Result<Vec<A>, Error>>,
    {
        loop {
            tokio::task::yield_now().await;
            let Some((questions, replies)) = self.next() else { break };
            answer(questions, replies, &*verb).await;
        }
    }

    /// The next batch; with none, the lane closes under the same lock, so that nobody counts on one that is going. Those
    /// who are too few wait for the lane that is busy.
    fn next(&mut self) -> Option<(Vec<Q>, Vec<Reply<A>>)> {
        let mut gathered = self.of.lock();
        gathered.answering -= std::mem::take(&mut self.answering);
        if !gathered.is_batch() {
            gathered.lanes -= 1;
            self.is_open = false;
            return None;
        }
        let size = gathered.waiting.len().min(BATCH);
        gathered.answering += size;
        self.answering = size;
        Some(gathered.waiting.drain(..size).unzip())
    }
}

impl<Q: Clone + Send + 'static, A: Send + 'static> Drop for Lane<Q, A> {
    /// A lane that is still open panicked. Whom no other lane will answer hears of it by a closed channel.
    fn drop(&mut self) {
        if self.is_open {
            let mut gathered = self.of.lock();
            gathered.lanes -= 1;
            gathered.answering -= self.answering;
            if gathered.lanes == 0 {
                gathered.waiting.clear();
            }
        }
    }
}

/// Answers a batch. Of one that falls apart each is told as soon as it is known: who waits for a lock of their own delays none
/// of the others.
async fn answer<Q: Clone, A, V, F>(questions: Vec<Q>, replies: Vec<Reply<A>>, verb: &V)
where
    V: Fn(Vec<Q>) -> F,
    F: Future<Output = Result<Vec<A>, Error>>,
{
    let is_one = questions.len() == 1;
    let said: Vec<Result<A, Error>> = match verb(questions.clone()).await {
        Ok(answers) => answers.into_iter().map(Ok).collect(),
        Err(error) if is_one => vec![Err(error)],
        Err(error) => match questions.iter().map(|_| error.for_all().map(Err)).collect() {
            Some(for_all) => for_all,
            None => {
                let alone = async |(question, reply)| tell(reply, verb(vec![question]).await.map(only));
                let each = stream::iter(questions.into_iter().zip(replies));
                return each.for_each_concurrent(ALONE, alone).await;
            }
        },
    };
    said.into_iter().zip(replies).for_each(|(said, reply)| tell(reply, said));
}

/// Whoever stopped waiting is told nothing.
fn tell<A>(reply: Reply<A>, said: Result<A, Error>) {
    let _nobody_may_wait = reply.send(said);
}

/// The answer of a batch of one.
fn only<A>(mut answers: Vec<A>) -> A {
    answers.swap_remove(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "one of them is about a panic")]

    use std::{panic::AssertUnwindSafe, time::Duration};

    use futures::{FutureExt, future::join_all};
    use tokio::sync::Semaphore;

    use super::*;

    /// Whoever is not answered by then is answered by nobody.
    const PATIENCE: Duration = Duration::from_secs(20);
    const ODD: Error = Error::Contended { doing: "answering an odd number" };

    /// Answers each number with the size of its batch, once `gate` lets it.
    async fn sizes(gate: Arc<Semaphore>, numbers: Vec<u32>) -> Result<Vec<usize>, Error> {
        let _permit = gate.acquire().await;
        Ok(vec![numbers.len(); numbers.len()])
    }

    /// Returns when no lane is busy any more, and how many are still said to be answered.
    async fn answering_at_rest<A: Send + 'static>(together: &Together<u32, A>) -> usize {
        while together.lock().lanes > 0 {
            tokio::task::yield_now().await;
        }
        together.lock().answering
    }

    #[tokio::test]
    async fn who_comes_alone_is_answered_alone_and_at_once() {
        let together = Together::new(Lanes::Two);
        for number in 0..3 {
            let answer = together.ask(&Arc::new(Semaphore::new(1)), number, sizes).await;
            assert_eq!(answer.ok(), Some(1));
        }
    }

    #[tokio::test]
    async fn what_arrives_while_both_lanes_are_busy_is_answered_together() {
        let (together, gate) = (Together::new(Lanes::Two), Arc::new(Semaphore::new(0)));
        let ask = |number| together.ask(&gate, number, sizes);
        // Waits until `waiting` questions wait for `lanes` busy lanes.
        let until = async |lanes, waiting| {
            let reached = || {
                let gathered = together.lock();
                (gathered.lanes, gathered.waiting.len()) == (lanes, waiting)
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
            futures::join!(join_all((2..100).map(ask)), open).0
        };
        let other = async {
            until(1, 0).await;
            ask(1).await
        };
        let (one, other, rest) = futures::join!(ask(0), other, rest);
        assert_eq!((one.ok(), other.ok()), (Some(1), Some(1)), "the first two found a free lane");
        let sizes: Vec<usize> = rest.into_iter().flatten().collect();
        assert_eq!(sizes.len(), 98, "everybody is answered");
        assert_eq!(sizes[0], 64, "a batch has its limit");
        assert_eq!(sizes[97], 34);
    }

    #[tokio::test]
    async fn a_second_batch_is_begun_when_it_is_no_smaller_than_the_first() {
        let (together, gate) = (Together::new(Lanes::Two), Arc::new(Semaphore::new(0)));
        let mut asked: Vec<_> = (0..6).map(|number| Box::pin(together.ask(&gate, number, sizes))).collect();
        let answering = || together.lock().answering;
        // Three in one breath are one batch.
        for asked in &mut asked[..3] {
            assert!(futures::poll!(asked).is_pending());
        }
        while answering() < 3 {
            tokio::task::yield_now().await;
        }
        for (asked, lanes) in asked[3..].iter_mut().zip([1, 1, 2]) {
            assert!(futures::poll!(asked).is_pending());
            tokio::task::yield_now().await;
            assert_eq!(together.lock().lanes, lanes, "two are too few, three are a batch");
        }
        gate.add_permits(2);
        for answer in join_all(asked).await {
            assert_eq!(answer.ok(), Some(3));
        }
        assert_eq!(answering_at_rest(&together).await, 0);
    }

    #[tokio::test]
    async fn a_batch_that_fails_falls_apart_so_that_each_fails_for_its_own_reasons() {
        async fn even((): (), numbers: Vec<u32>) -> Result<Vec<u32>, Error> {
            tokio::task::yield_now().await;
            if numbers.iter().any(|number| number % 2 == 1) { Err(ODD) } else { Ok(numbers) }
        }
        let together = Together::new(Lanes::Two);
        let answers = join_all((0..40).map(|number| together.ask(&(), number, even))).await;
        for (number, answer) in (0..).zip(answers) {
            assert_eq!(answer.ok(), (number % 2 == 0).then_some(number));
        }
    }

    #[tokio::test]
    async fn who_takes_long_when_a_batch_falls_apart_delays_nobody_else() {
        async fn slow(gate: Arc<Semaphore>, numbers: Vec<u32>) -> Result<Vec<u32>, Error> {
            tokio::task::yield_now().await;
            if numbers.len() > 1 {
                return Err(ODD);
            }
            if numbers == [1] {
                let _permit = gate.acquire().await;
            }
            Ok(numbers)
        }
        let (together, gate) = (Together::new(Lanes::One), Arc::new(Semaphore::new(0)));
        let ask = |number| Box::pin(together.ask(&gate, number, slow));
        let (first, mut second, third) = (ask(0), ask(1), ask(2));
        assert!(futures::poll!(&mut second).is_pending());
        let others = tokio::time::timeout(PATIENCE, futures::future::join(first, third)).await;
        assert!(matches!(others, Ok((Ok(0), Ok(2)))), "{others:?}");
        assert!(futures::poll!(&mut second).is_pending());
        gate.add_permits(1);
        assert_eq!(second.await.ok(), Some(1));
    }

    #[tokio::test]
    async fn who_fails_alone_is_asked_once() {
        let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let together = Together::new(Lanes::One);
        let odd = async |asked: Arc<std::sync::atomic::AtomicUsize>,
                         numbers: Vec<u32>|
               -> Result<Vec<u32>, Error> {
            asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            if numbers == [1] { Err(ODD) } else { Ok(numbers) }
        };
        assert!(together.ask(&asked, 1, odd).await.is_err());
        assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_database_that_is_away_is_asked_once_by_a_batch() {
        let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        async fn away(
            asked: Arc<std::sync::atomic::AtomicUsize>,
            numbers: Vec<u32>,
        ) -> Result<Vec<u32>, Error> {
            asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            tokio::task::yield_now().await;
            let source = sqlx::Error::PoolTimedOut;
            if numbers.is_empty() { Ok(numbers) } else { Err(Error::Unavailable { doing: "asking", source }) }
        }
        let together = Together::new(Lanes::One);
        let answers = join_all((0..40).map(|number| together.ask(&asked, number, away))).await;
        assert!(answers.iter().all(|answer| matches!(answer, Err(Error::Unavailable { .. }))));
        assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_panic_goes_to_whom_it_belongs_and_the_next_question_is_answered() {
        async fn all_but_one((): (), numbers: Vec<u32>) -> Result<Vec<u32>, Error> {
            assert!(!numbers.contains(&1), "as this test wants it");
            Ok(numbers)
        }
        let together = Together::new(Lanes::Two);
        let mine = together.clone();
        let panicked = tokio::spawn(async move { mine.ask(&(), 1, all_but_one).await }).await;
        assert!(panicked.is_err());
        assert_eq!(together.ask(&(), 2, all_but_one).await.ok(), Some(2));
    }

    async fn all_but_one(gate: Arc<Semaphore>, numbers: Vec<u32>) -> Result<Vec<u32>, Error> {
        let _permit = gate.acquire().await;
        assert!(!numbers.contains(&1), "as these tests want it");
        Ok(numbers)
    }

    #[tokio::test]
    async fn a_batch_that_panicked_stands_in_nobodys_way() {
        let (together, gate) = (Together::new(Lanes::One), Arc::new(Semaphore::new(1)));
        let ask = |number| AssertUnwindSafe(together.ask(&gate, number, all_but_one)).catch_unwind();
        let said = join_all([0, 1, 2].map(ask)).await;
        let said: Vec<_> = said.into_iter().map(|said| said.ok().and_then(Result::ok)).collect();
        assert_eq!(said, [Some(0), None, Some(2)], "in one breath");
        let next = tokio::time::timeout(PATIENCE, together.ask(&gate, 3, all_but_one)).await;
        assert!(matches!(next, Ok(Ok(3))), "{next:?}");
        assert_eq!(answering_at_rest(&together).await, 0);
    }

    #[tokio::test]
    async fn who_waits_behind_a_batch_that_panics_is_answered() {
        let (together, gate) = (Together::new(Lanes::One), Arc::new(Semaphore::new(0)));
        let mut first = Box::pin(AssertUnwindSafe(together.ask(&gate, 1, all_but_one)).catch_unwind());
        assert!(futures::poll!(&mut first).is_pending());
        while together.lock().answering == 0 {
            tokio::task::yield_now().await;
        }
        let mut second = Box::pin(together.ask(&gate, 2, all_but_one));
        assert!(futures::poll!(&mut second).is_pending());
        gate.add_permits(1);
        assert!(first.await.is_err());
        let second = tokio::time::timeout(PATIENCE, second).await;
        assert!(matches!(second, Ok(Ok(2))), "{second:?}");
    }

    #[tokio::test]
    async fn whoever_stops_waiting_cancels_nothing_for_others() {
        let (together, gate) = (Together::new(Lanes::Two), Arc::new(Semaphore::new(0)));
        let ask = |number| together.ask(&gate, number, sizes);
        let mut leaving = Box::pin(ask(1));
        assert!(futures::poll!(&mut leaving).is_pending());
        drop(leaving);
        gate.add_permits(1);
        assert!(ask(2).await.is_ok());
    }
}
