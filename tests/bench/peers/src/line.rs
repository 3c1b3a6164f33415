//! The line protocol over a queue: a verb per line on standard input, one line of JSON for each on standard output.
//! `tests/bench/src/peers/adapter.rs` is the other side. The bench itself includes this file for its own adapter, so
//! that everybody is measured by the same lines; `node/line.mjs` and `python/line.py` say the same.

use std::collections::{HashMap, hash_map::Entry};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, FutureExt, join_all, pending};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// What a handler does with its job, and waits for.
pub(crate) type Handle = Arc<dyn Fn(usize) -> BoxFuture<'static, ()> + Send + Sync>;

/// Stops a worker; what it has begun is finished first.
pub(crate) type Stop = BoxFuture<'static, ()>;

/// What is reported of a job.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reported {
    /// That it started.
    Start,
    /// That it ended; for a no-op handler this is its start.
    End,
    /// That it started; and it never ends.
    Held,
}

/// What a million rows are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Jobs that were done.
    Finished,
    /// Jobs that are not ready before tomorrow.
    Waiting,
}

/// A queue as its own documentation has it used. Stumbling is allowed: a benchmark that stumbles stops loudly.
pub(crate) trait Queue: Send + Sync + 'static {
    /// Makes the schema.
    fn setup(&self) -> impl Future<Output = ()> + Send;
    /// Puts rows beside the work; false where the queue keeps none of that kind.
    fn fill(&self, fill: Fill, count: usize) -> impl Future<Output = bool> + Send;
    /// How many jobs are ready or running.
    fn left(&self) -> impl Future<Output = i64> + Send;
    /// What must exist before jobs `0..count` can be pushed.
    fn prepare(&self, _count: usize) -> impl Future<Output = ()> + Send {
        async {}
    }
    /// Makes jobs `from..to` ready, as fast as the library can.
    fn load(&self, from: usize, to: usize) -> impl Future<Output = ()> + Send;
    /// Makes one job ready, in a transaction of its own.
    fn push(&self, job: usize) -> impl Future<Output = ()> + Send;
    /// Starts a worker with `width` jobs at once.
    fn work(&self, width: usize, reported: Reported, handle: Handle) -> impl Future<Output = Stop> + Send;
}

/// When each job was first seen, and how often one was seen again.
#[derive(Default)]
struct Sightings {
    seen: Mutex<(HashMap<usize, Instant>, usize)>,
    expected: usize,
    all: Notify,
}

impl Sightings {
    fn of(expected: usize) -> Arc<Self> {
        Arc::new(Self { expected, ..Self::default() })
    }

    fn handle(self: &Arc<Self>) -> Handle {
        let sightings = self.clone();
        Arc::new(move |job| {
            sightings.see(job);
            async {}.boxed()
        })
    }

    fn see(&self, job: usize) {
        let mut seen = self.seen.lock().expect("no thread panicked");
        let (first, again) = &mut *seen;
        match first.entry(job) {
            Entry::Occupied(_) => *again += 1,
            Entry::Vacant(place) => {
                place.insert(Instant::now());
            }
        }
        if first.len() == self.expected {
            self.all.notify_one();
        }
    }

    async fn all_within(&self, bound: Duration) {
        timeout(bound, self.all.notified()).await.ok();
    }

    fn at(&self, job: usize) -> Option<Instant> {
        self.seen.lock().expect("no thread panicked").0.get(&job).copied()
    }

    /// (done once or more, runs beyond the first)
    fn counts(&self) -> (usize, usize) {
        let seen = self.seen.lock().expect("no thread panicked");
        (seen.0.len(), seen.1)
    }

    /// Milliseconds from each commit to its sighting, of those that were seen.
    fn waits(&self, committed: &[Instant]) -> Vec<f64> {
        let wait = |(job, at): (usize, &Instant)| {
            Some(self.at(job)?.saturating_duration_since(*at).as_secs_f64() * 1e3)
        };
        committed.iter().enumerate().filter_map(wait).collect()
    }
}

async fn enqueue<Q: Queue>(queue: &Arc<Q>, count: usize, producers: usize) -> Value {
    let next = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let began = Instant::now();
    let produce = |_| {
        let (queue, next) = (queue.clone(), next.clone());
        tokio::spawn(async move {
            loop {
                let job = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if job >= count {
                    return;
                }
                queue.push(job).await;
            }
        })
    };
    for producer in join_all((0..producers).map(produce)).await {
        producer.expect("a producer");
    }
    json!({ "seconds": began.elapsed().as_secs_f64() })
}

async fn drain<Q: Queue>(queue: &Arc<Q>, count: usize, width: usize, bound: usize) -> Value {
    let sightings = Sightings::of(count);
    let began = Instant::now();
    let stop = queue.work(width, Reported::End, sightings.handle()).await;
    sightings.all_within(Duration::from_secs(bound as u64)).await;
    let seconds = began.elapsed().as_secs_f64();
    stop.await;
    let (done, double) = sightings.counts();
    json!({ "seconds": seconds, "done": done, "double": double })
}

async fn open<Q: Queue>(queue: &Arc<Q>, rate: usize, seconds: usize, width: usize) -> Value {
    let count = rate * seconds;
    let sightings = Sightings::of(count);
    let stop = queue.work(width, Reported::Start, sightings.handle()).await;
    sleep(Duration::from_secs(1)).await;
    let mut clock = tokio::time::interval(Duration::from_secs_f64(1.0 / rate as f64));
    let mut pushes = Vec::new();
    for job in 0..count {
        clock.tick().await;
        let queue = queue.clone();
        pushes.push(tokio::spawn(async move {
            queue.push(job).await;
            Instant::now()
        }));
    }
    let committed: Vec<_> = join_all(pushes).await.into_iter().map(|at| at.expect("a push")).collect();
    sightings.all_within(Duration::from_secs(3)).await;
    stop.await;
    json!({ "waits": sightings.waits(&committed), "of": count, "double": sightings.counts().1 })
}

async fn idle<Q: Queue>(queue: &Arc<Q>, tries: usize, width: usize) -> Value {
    let sightings = Sightings::of(usize::MAX);
    let stop = queue.work(width, Reported::Start, sightings.handle()).await;
    let mut committed = Vec::new();
    for job in 0..tries {
        // Not in step with anybody's poll.
        sleep(Duration::from_millis(1_000 + (job as u64 * 137) % 500)).await;
        queue.push(job).await;
        let at = Instant::now();
        committed.push(at);
        while sightings.at(job).is_none() && at.elapsed() < Duration::from_secs(10) {
            sleep(Duration::from_millis(1)).await;
        }
    }
    stop.await;
    json!({ "waits": sightings.waits(&committed), "of": tries, "double": sightings.counts().1 })
}

/// Takes jobs and never finishes one, until it is killed.
async fn hold<Q: Queue>(queue: &Arc<Q>, width: usize) -> Value {
    let handle: Handle = Arc::new(|job| {
        println!("{}", json!({ "started": job }));
        pending().boxed()
    });
    std::mem::forget(queue.work(width, Reported::Held, handle).await);
    json!({ "ready": true })
}

async fn answer<Q: Queue>(queue: &Arc<Q>, words: &[&str]) -> Value {
    let number = |word: &str| word.parse::<usize>().expect("a number");
    match words {
        ["setup"] => queue.setup().await,
        ["fill", kind, count] => {
            let fill = if *kind == "finished" { Fill::Finished } else { Fill::Waiting };
            let filled = queue.fill(fill, number(count)).await;
            return json!({ "skipped": !filled });
        }
        ["left"] => return json!({ "left": queue.left().await }),
        ["prepare", count] => queue.prepare(number(count)).await,
        ["load", from, to] => queue.load(number(from), number(to)).await,
        ["enqueue", count, producers] => return enqueue(queue, number(count), number(producers)).await,
        ["drain", count, width, bound] => {
            return drain(queue, number(count), number(width), number(bound)).await;
        }
        ["open", rate, seconds, width] => {
            return open(queue, number(rate), number(seconds), number(width)).await;
        }
        ["idle", tries, width] => return idle(queue, number(tries), number(width)).await,
        ["hold", width] => return hold(queue, number(width)).await,
        _ => panic!("no verb is called {words:?}"),
    }
    json!({})
}

/// Answers line after line until there are no more.
pub(crate) async fn serve(queue: impl Queue) {
    let queue = Arc::new(queue);
    let next = || tokio::task::spawn_blocking(|| std::io::stdin().lines().next());
    while let Some(line) = next().await.expect("a reader") {
        let line = line.expect("a line on standard input");
        let words: Vec<&str> = line.split(' ').collect();
        println!("{}", answer(&queue, &words).await);
    }
}
