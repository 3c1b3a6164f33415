//! The ports of this crate to what it cannot name: users' servers that take raw audio, the text engine, and the runs of delivered jobs.
//! Declared here, because requests come in here; the binary ties them to what implements them.

use futures::future::BoxFuture;
use job::{Generation, JobId};
use ledger::Delivered;
use records::{MemoryCategory, UserId};

/// Takes the raw audio of live sessions.
pub trait AudioWebhooks: Send + Sync {
    /// Begins to take the audio of a session of `user`, whose mono samples come at `rate` a second.
    fn open(&self, user: &UserId, rate: u32) -> Box<dyn AudioTap>;
}

/// Takes the audio of one session; dropping it is the end of the audio.
pub trait AudioTap: Send {
    /// Takes the next samples. Never waits.
    fn hear(&mut self, samples: &[i16]);
}

/// A process that sends no audio anywhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAudioWebhooks;

impl AudioWebhooks for NoAudioWebhooks {
    fn open(&self, _: &UserId, _: u32) -> Box<dyn AudioTap> {
        Box::new(Self)
    }
}

impl AudioTap for NoAudioWebhooks {
    fn hear(&mut self, _: &[i16]) {}
}

/// Finds the category of a memory that came without one.
pub trait Categorize: Send + Sync {
    /// What `content` is about. Called while a client waits: free and quick, never a model server.
    fn memory(&self, content: &str) -> MemoryCategory;
}

/// Where nothing understands text, every memory is about something else.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uncategorized;

impl Categorize for Uncategorized {
    fn memory(&self, _: &str) -> MemoryCategory {
        MemoryCategory::Other
    }
}

/// The callers that may deliver jobs.
pub trait Invokers: Send + Sync {
    /// Whether the bearer of `token` may.
    fn check<'a>(&'a self, token: Option<&'a str>) -> BoxFuture<'a, Result<(), NotInvoker>>;
}

/// Why a caller may not deliver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotInvoker {
    /// There is no token of the service's issuer: 401.
    NotAuthenticated,
    /// It is a good token of another identity: 403.
    Forbidden,
    /// Nothing is known yet by which a token could be verified: 503.
    NoKeys,
}

/// The runs of delivered jobs in this process.
pub trait Deliveries: Send + Sync {
    /// Claims and runs the dispatch (job, generation), and answers when the run has ended, or for too long has not. Goes on by itself when
    /// no client waits for the answer any more.
    fn deliver(&self, job: JobId, generation: Generation) -> BoxFuture<'_, Delivered>;
}

/// A process that runs no delivered jobs, and where no caller may deliver.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDeliveries;

impl Invokers for NoDeliveries {
    fn check<'a>(&'a self, _: Option<&'a str>) -> BoxFuture<'a, Result<(), NotInvoker>> {
        Box::pin(async { Err(NotInvoker::NotAuthenticated) })
    }
}

impl Deliveries for NoDeliveries {
    fn deliver(&self, _: JobId, _: Generation) -> BoxFuture<'_, Delivered> {
        Box::pin(async { Delivered::Busy })
    }
}
