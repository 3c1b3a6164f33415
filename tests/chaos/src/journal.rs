//! The kit's own record of answers, posts, calls and faults, each with the kit's own time.

use parking_lot::Mutex;
use tokio::time::Instant;

/// The outcome of a request.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// Seconds of the run at which the request was sent, and was answered.
    pub(crate) sent: f64,
    pub(crate) at: f64,
    pub(crate) user: String,
    pub(crate) conversation: String,
    /// `ingest`, `create`, `finalize`, `reprocess`, `patch`, `delete`, `end`.
    pub(crate) verb: &'static str,
    /// The HTTP status; 0 when none came.
    pub(crate) status: i32,
    /// What was set, or answered: a title, a status.
    pub(crate) word: String,
    /// Who answered.
    pub(crate) process: String,
}

/// A post that a receiver got.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    pub(crate) at: f64,
    pub(crate) endpoint: String,
    pub(crate) delivery: String,
    pub(crate) event: String,
    pub(crate) signed: bool,
    /// Tells bodies apart.
    pub(crate) digest: i64,
    /// What the receiver answered; 0 when it hung up.
    pub(crate) status: i32,
}

/// The answer to a request with an `Idempotency-Key`.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) at: f64,
    pub(crate) user: String,
    pub(crate) name: String,
    /// `conversation` or `item`.
    pub(crate) makes: &'static str,
    /// The number in its words.
    pub(crate) number: i64,
    /// The HTTP status; 0 when none came.
    pub(crate) status: i32,
    /// The id in the answer.
    pub(crate) made: String,
    /// Who answered.
    pub(crate) process: String,
}

/// An append, whether acknowledged or not.
#[derive(Clone, Debug)]
pub(crate) struct Added {
    pub(crate) user: String,
    pub(crate) conversation: String,
    /// What tells them apart.
    pub(crate) word: String,
    /// The last HTTP status; 0 when none came.
    pub(crate) status: i32,
}

/// A line sent through a live socket.
#[derive(Clone, Debug)]
pub(crate) struct Spoken {
    pub(crate) user: String,
    /// The segment's id, which is in its words.
    pub(crate) word: String,
    /// Lines are numbered in the order in which they are said.
    pub(crate) number: i64,
    /// How often it was sent: again on each socket that did not confirm it.
    pub(crate) sends: i32,
    /// A socket showed it as stored.
    pub(crate) confirmed: bool,
}

/// A reminder that a receiver got.
#[derive(Clone, Debug)]
pub(crate) struct Pushed {
    pub(crate) at: f64,
    pub(crate) endpoint: String,
    pub(crate) delivery: String,
    pub(crate) item: String,
    /// The due date in it.
    pub(crate) due_at: String,
    /// What the receiver answered.
    pub(crate) status: i32,
}

/// A call that the model server got.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) at: f64,
    /// The conversation's number, by the marker in its words.
    pub(crate) number: i64,
    pub(crate) stage: String,
    pub(crate) mood: &'static str,
    /// Whose key came with it: `service`, a person's id, `refused` or `unknown`.
    pub(crate) key_of: String,
    /// The appended words that came with it.
    pub(crate) words: String,
}

/// A conversation of the run.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) number: i64,
    pub(crate) user: String,
    pub(crate) conversation: String,
    /// Whether the judge must discard it.
    pub(crate) noise: bool,
}

/// A fault, from its beginning until it was lifted.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    pub(crate) name: &'static str,
    pub(crate) began: f64,
    pub(crate) lifted: f64,
    /// The process that was hit, if one was.
    pub(crate) pid: Option<u32>,
}

/// A process that ran, under the name that the history has.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    pub(crate) name: String,
    pub(crate) pid: u32,
}

/// The kit's own log.
#[derive(Debug)]
pub(crate) struct Journal {
    begun: Instant,
    pub(crate) answers: Kept<Answer>,
    pub(crate) posts: Kept<Post>,
    pub(crate) named: Kept<Named>,
    pub(crate) added: Kept<Added>,
    pub(crate) pushed: Kept<Pushed>,
    pub(crate) spoken: Kept<Spoken>,
    pub(crate) calls: Kept<Call>,
    pub(crate) said: Kept<Said>,
    pub(crate) broken: Kept<Broken>,
    pub(crate) ran: Kept<Ran>,
    /// Acknowledged writes that were read back.
    pub(crate) acknowledged: Kept<()>,
    /// Requests whose clients hung up, by fault.
    pub(crate) hung_up: Kept<u64>,
    /// Breaches that were seen while they happened.
    pub(crate) breaches: Kept<String>,
}

impl Journal {
    /// An empty one; its time begins now.
    pub(crate) fn new() -> Self {
        Self {
            begun: Instant::now(),
            answers: Kept::default(),
            posts: Kept::default(),
            named: Kept::default(),
            added: Kept::default(),
            pushed: Kept::default(),
            spoken: Kept::default(),
            calls: Kept::default(),
            said: Kept::default(),
            broken: Kept::default(),
            ran: Kept::default(),
            acknowledged: Kept::default(),
            hung_up: Kept::default(),
            breaches: Kept::default(),
        }
    }

    /// Seconds of the run.
    pub(crate) fn now(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}

/// A list that many tasks add to.
#[derive(Debug)]
pub(crate) struct Kept<T>(Mutex<Vec<T>>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T: Clone> Kept<T> {
    /// Adds one.
    pub(crate) fn note(&self, one: T) {
        self.0.lock().push(one);
    }

    /// All of them so far.
    pub(crate) fn all(&self) -> Vec<T> {
        self.0.lock().clone()
    }
}
