//! Admission: conversation, revision, job and first bell in one transaction.

/// Whether a conversation `c` has anything to work on, as a literal, so that whole statements stay static.
macro_rules! has_content {
    () => {
        "(c.private_text is not null \
             or exists (select from transcript_segments s \
                 where s.user_id = c.user_id and s.conversation_id = c.conversation_id) \
             or exists (select from photos p \
                 where p.user_id = c.user_id and p.conversation_id = c.conversation_id))"
    };
}

pub(crate) use has_content;

mod create;
pub(crate) mod finalize;
mod found;
mod live;
mod opened;
mod reprocess;

pub use finalize::FinalizedWithKeys;
pub use live::{EndedBy, LiveAdmission};
pub use reprocess::ReprocessRefusal;

use job::{Admission, Effect, Epoch, Job, JobId, Origin, Step};
use records::{Conversation, ConversationId, Geolocation, Segment, Source, Timestamp, UserId};
use sqlx::PgConnection;
use trace::TraceContext;
use tracing::Span;

use crate::{
    Ledger,
    effects::{Bell, Stumble},
    error::{Doing, Error},
    row::{self, Stored},
    take::Claimed,
};

/// The words of a new conversation.
#[derive(Clone, Debug)]
pub enum NewContent {
    /// Plain text, kept in a private column.
    Text {
        /// Trimmed, 1–100,000 characters.
        text: String,
        /// `audio_transcript`, `message` or `other_text`.
        text_source: String,
        /// For example `email`.
        text_source_spec: Option<String>,
    },
    /// 1–500 segments, validated and with their speaker numbers.
    Segments(Vec<Segment>),
}

/// A conversation that a client creates; validated at the door.
#[derive(Clone, Debug)]
pub struct NewConversation {
    /// Fresh (UUID v7), or UUID v5 of (user, client_session_id).
    pub id: ConversationId,
    /// Its words.
    pub content: NewContent,
    /// When the talk began; `None` is now, or `finished_at` less its length (DECISIONS §3, "times, derived").
    pub started_at: Option<Timestamp>,
    /// When it ended; `None` is `started_at` plus 5 minutes (text) or plus the largest end (segments).
    pub finished_at: Option<Timestamp>,
    /// A language code; `None` is that of the person's settings.
    pub language: Option<String>,
    /// Where it came from.
    pub source: Source,
    /// Where it took place.
    pub geolocation: Option<Geolocation>,
    /// The client's own key of this conversation.
    pub client_session_id: Option<String>,
    /// The capture device.
    pub client_device_id: Option<String>,
    /// The client's platform.
    pub client_platform: Option<String>,
    /// Persisted `in_progress`, to be finalized later (DECISIONS §3, "ingest now, finalize later").
    pub deferred: bool,
}

impl NewConversation {
    /// With nothing that a client may leave out, to be processed at once.
    pub fn new(id: ConversationId, content: NewContent, source: Source) -> Self {
        Self {
            id,
            content,
            started_at: None,
            finished_at: None,
            language: None,
            source,
            geolocation: None,
            client_session_id: None,
            client_device_id: None,
            client_platform: None,
            deferred: false,
        }
    }
}

/// What came of a create.
#[derive(Clone, Debug, PartialEq)]
pub enum CreateOutcome {
    /// Created and admitted into the `creation` queue, or (a repeat on a failed one) admitted again.
    Admitted(Admitted),
    /// Created and left `in_progress`.
    Deferred(Conversation),
    /// A repeat of a `client_session_id`: nothing was done; its present state.
    Known(Conversation),
    /// A repeat of a `client_session_id` whose conversation was deleted.
    Deleted,
}

/// A conversation with the job that was admitted for it, or that it has already.
#[derive(Clone, Debug, PartialEq)]
pub struct Admitted {
    /// As it stands after the admission.
    pub conversation: Conversation,
    /// The job of its newest revision.
    pub job_id: JobId,
    /// Whether this call made the job.
    pub fresh: bool,
    /// The lease that was taken in the same transaction, for a request that brought keys (`WithKeys`).
    pub claimed: Option<Box<Claimed>>,
}

/// Why a finalize was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmitRefusal {
    /// Unknown, deleted or another user's.
    NoConversation,
    /// No segments, text or photos.
    NoContent,
}

/// The revision of a conversation that is being admitted.
pub(crate) struct Admitting<'a> {
    user: &'a UserId,
    conversation: &'a ConversationId,
    revision: i64,
    origin: Origin,
    force_process: bool,
    requires_keys: bool,
    /// The epoch at which the user's jobs begin.
    first_epoch: i64,
    trace: Option<TraceContext>,
}

impl Ledger {
    /// Writes jobs, admission records and first bells of revisions whose conversations the caller has written.
    async fn admit(
        &self,
        connection: &mut PgConnection,
        admitting: &[Admitting<'_>],
        now: Timestamp,
        bell: Bell,
    ) -> Result<Vec<Step>, Stumble> {
        let (steps, jobs) = self.jobs_of(admitting, now, bell);
        row::insert(connection, &jobs, now, &self.policy).await.doing("admitting jobs")?;
        self.ring_all(connection, &ringing(&steps), bell).await?;
        Ok(steps)
    }

    /// The jobs of revisions, as they are to be written.
    fn jobs_of(&self, admitting: &[Admitting<'_>], now: Timestamp, bell: Bell) -> (Vec<Step>, Vec<Stored>) {
        let job = |admitting: &Admitting<'_>| {
            let mut step = Job::admit(admitting.admission(), now);
            step.job.queue = self.queue_of(admitting.origin);
            let stored = Stored {
                user_id: admitting.user.clone(),
                conversation_id: admitting.conversation.clone(),
                revision: admitting.revision,
                version: 1,
                created_at: now,
                updated_at: now,
                job: Job {
                    epoch: Epoch(admitting.first_epoch),
                    unrung: step.rings() && bell == Bell::Skip,
                    ..step.job.clone()
                },
                trace: admitting.trace,
                line: None,
            };
            (step, stored)
        };
        admitting.iter().map(job).unzip()
    }
}

impl Admitting<'_> {
    fn admission(&self) -> Admission {
        Admission {
            id: JobId::derive(self.user.as_str(), self.conversation.as_str(), self.revision),
            origin: self.origin,
            force_process: self.force_process,
            requires_keys: self.requires_keys,
        }
    }
}

/// Jobs that were admitted, with what is to be written with them.
fn ringing(steps: &[Step]) -> Vec<(&Job, &[Effect])> {
    steps.iter().map(|step| (&step.job, step.effects.as_slice())).collect()
}

/// The part of a trace that is an admission: what waits in the queue is its child.
fn admission() -> Span {
    tracing::info_span!(target: trace::TARGET, "admit", otel.kind = "producer")
}

/// What an admission needs to know of the user.
#[derive(sqlx::FromRow)]
struct Owner {
    /// The user's jobs require the user's own keys.
    requires_byok: bool,
    /// The epoch at which the user's jobs begin.
    first_epoch: i64,
}

/// The user of an admission; `None`: there is none, or the user is being deleted. The row is held against being marked meanwhile.
async fn owner(connection: &mut PgConnection, user: &UserId) -> Result<Option<Owner>, Error> {
    sqlx::query_as(
        "select requires_byok, first_epoch from users where user_id = $1 and deleting_since is null for share",
    )
    .bind(user.as_str())
    .fetch_optional(connection)
    .await
    .doing("reading a person's mark")
}
