//! Threads for work that costs processor time, so that requests, heartbeats and health checks never wait behind it.
//!
//! The pool is bounded and fair: users take turns, whatever one of them has queued, and work on long texts has threads of
//! its own, so that it never delays work on short ones. Work that takes longer than its budget is given up by its caller,
//! and its thread is replaced until it ends; a thread cannot be stopped.

mod queue;

use std::{
    any::Any,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use self::queue::Queue;

tokio::task_local! {
    static USER: Arc<str>;
}

/// Runs `work` as the given user's: what it hands to a pool takes turns with what other users hand over.
pub async fn on_behalf_of<F: Future>(user: &str, work: F) -> F::Output {
    USER.scope(Arc::from(user), work).await
}

/// The work took longer than its budget, counted from when a thread took it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the work took longer than its budget")]
pub struct OverBudget;

/// A text longer than this many bytes is a long one: a few minutes of talk.
const LONG: usize = 16 * 1024;

/// A bounded pool of threads. Cheap to clone; the threads end with the last clone.
#[derive(Clone)]
pub struct Pool {
    short: Arc<Owner>,
    long: Arc<Owner>,
}

/// Ends the threads when the last [`Pool`] is dropped.
struct Owner(Arc<Shared>);

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (short, long) = (self.short.0.size, self.long.0.size);
        f.debug_struct("Pool").field("short", &short).field("long", &long).finish_non_exhaustive()
    }
}

struct Shared {
    state: Mutex<State>,
    work_or_end: Condvar,
    /// Threads that take work up.
    size: usize,
    /// Added to the threads' nice value.
    nice: i32,
}

/// On Linux, work on long texts yields the processor to everything else in the process.
const NICE: i32 = 10;

#[derive(Default)]
struct State {
    queue: Queue<Work>,
    has_ended: bool,
    threads: usize,
    /// Threads whose work was given up and has not ended.
    over_budget: usize,
}

/// Work that was given up may hold so many times the pool's threads, before others wait for it.
const MOST_OVER_BUDGET: usize = 4;

type Work = Box<dyn FnOnce(&Shared) + Send>;

/// Where a piece of work is. `is_done` and `is_given_up` change under the lock of [`State`]: of work that runs for about as
/// long as its budget, one of them comes first.
#[derive(Default)]
struct Running {
    has_begun: AtomicBool,
    is_done: AtomicBool,
    is_given_up: AtomicBool,
}

/// Who waits for the work.
struct Caller<'a> {
    shared: &'a Arc<Shared>,
    running: &'a Running,
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        give_up(self.shared, self.running);
    }
}

impl Pool {
    /// A pool of one thread per core, less one where there are several, for short texts, and of as many for long ones.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn for_this_machine() -> std::io::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::new(cores.saturating_sub(1).max(1))
    }

    /// A pool of `threads` for short texts, and of as many for long ones.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn new(threads: usize) -> std::io::Result<Self> {
        Ok(Self { short: Owner::start(threads, 0)?, long: Owner::start(threads, NICE)? })
    }

    /// Runs `work` on a text of `length` bytes on a thread of the pool, in turn with other users' work, and returns what it
    /// returns. Work whose caller is gone before it began is not done. A panic reaches the caller.
    ///
    /// # Errors
    /// [`OverBudget`] when it ran for longer than `budget`.
    pub async fn run<T: Send + 'static>(
        &self,
        budget: Duration,
        length: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, OverBudget> {
        let shared = if length > LONG { &self.long.0 } else { &self.short.0 };
        let running = Arc::new(Running::default());
        let (began, beginning) = oneshot::channel();
        let (done, mut ending) = oneshot::channel::<Result<T, Box<dyn Any + Send>>>();
        let ours = Arc::clone(&running);
        shared.push(Box::new(move |shared| {
            ours.has_begun.store(true, Ordering::Release);
            let result = began.send(()).is_ok().then(|| catch_unwind(AssertUnwindSafe(work)));
            shared.end(&ours);
            result.map(|result| done.send(result));
        }));
        let _given_up_if_dropped = Caller { shared, running: &running };
        // A pool that this borrows does not end, and its threads do not panic.
        beginning.await.map_err(|_| OverBudget)?;
        let result = match tokio::time::timeout(budget, &mut ending).await {
            Ok(result) => result,
            Err(_) if give_up(shared, &running) => return Err(OverBudget),
            Err(_) => ending.await,
        };
        match result.map_err(|_| OverBudget)? {
            Ok(value) => Ok(value),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// How many pieces of work wait for a thread.
    pub fn waiting(&self) -> usize {
        self.short.0.state.lock().queue.len() + self.long.0.state.lock().queue.len()
    }
}

impl Owner {
    fn start(threads: usize, nice: i32) -> std::io::Result<Arc<Self>> {
        let shared = Shared { state: Mutex::default(), work_or_end: Condvar::new(), size: threads, nice };
        let owner = Self(Arc::new(shared));
        (0..threads).try_for_each(|_| start_thread(&owner.0, &mut owner.0.state.lock()))?;
        Ok(Arc::new(owner))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.state.lock().has_ended = true;
        self.0.work_or_end.notify_all();
    }
}

impl Shared {
    fn push(&self, work: Work) {
        let user = USER.try_with(Arc::clone).unwrap_or_else(|_| Arc::from(""));
        self.state.lock().queue.push(user, work);
        self.work_or_end.notify_one();
    }

    /// The next piece of work; `None` once the pool has ended.
    fn next(&self) -> Option<Work> {
        let mut state = self.state.lock();
        loop {
            // A thread that was replaced ends after its work, or another one does.
            if state.has_ended || state.threads - state.over_budget > self.size {
                state.threads -= 1;
                return None;
            }
            if let Some(work) = state.queue.pop() {
                return Some(work);
            }
            self.work_or_end.wait(&mut state);
        }
    }

    /// The work has been done; it may have been given up before.
    fn end(&self, running: &Running) {
        let mut state = self.state.lock();
        running.is_done.store(true, Ordering::Release);
        if running.is_given_up.load(Ordering::Acquire) {
            state.over_budget -= 1;
        }
    }
}

fn start_thread(shared: &Arc<Shared>, state: &mut State) -> std::io::Result<()> {
    let ours = Arc::clone(shared);
    let work = move || {
        // Elsewhere it would be the whole process's. Where it is refused, the thread works as the others do.
        #[cfg(target_os = "linux")]
        rustix::process::nice(ours.nice).ok();
        while let Some(work) = ours.next() {
            work(&ours);
        }
    };
    thread::Builder::new().name("compute".to_owned()).spawn(work)?;
    state.threads += 1;
    Ok(())
}

/// Gives up work that is over budget or whose caller has left, unless it was done just now, and starts a thread in the place of its own.
fn give_up(shared: &Arc<Shared>, running: &Running) -> bool {
    let mut state = shared.state.lock();
    let is_running = running.has_begun.load(Ordering::Acquire) && !running.is_done.load(Ordering::Acquire);
    if !is_running || running.is_given_up.swap(true, Ordering::AcqRel) {
        return false;
    }
    state.over_budget += 1;
    if state.threads < shared.size * (1 + MOST_OVER_BUDGET) {
        // Where none can be started, the next work waits for this one.
        drop(start_thread(shared, &mut state));
    }
    true
}

#[cfg(test)]
mod tests;
