//! Admission: conversation, revision, job and first bell in one transaction.

mod create;
mod finalize;
mod reprocess;

pub use reprocess::ReprocessRefusal;

use job::{Admission, Effect, Job, JobId, Origin};
use records::{Conversation, ConversationId, Geolocation, Segment, Source, Timestamp, UserId};
use sqlx::PgConnection;

use crate::{
    Ledger,
    effects::{Bell, Stumble, ring},
    error::{Doing, Error},
    row::{self, Stored},
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
    /// A language code.
    pub language: String,
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
}

impl Ledger {
    /// Writes job, admission record and first bell of a revision whose conversation the caller has already written.
    async fn admit(
        &self,
        connection: &mut PgConnection,
        admitting: Admitting<'_>,
        now: Timestamp,
        bell: Bell,
    ) -> Result<(Job, Vec<Effect>), Stumble> {
        let id = JobId::derive(admitting.user.as_str(), admitting.conversation.as_str(), admitting.revision);
        let step = Job::admit(
            Admission {
                id,
                origin: admitting.origin,
                force_process: admitting.force_process,
                requires_keys: admitting.requires_keys,
            },
            now,
        );
        let rings = step.effects.iter().any(|effect| matches!(effect, Effect::Ring { .. }));
        let stored = Stored {
            user_id: admitting.user.clone(),
            conversation_id: admitting.conversation.clone(),
            revision: admitting.revision,
            version: 1,
            created_at: now,
            updated_at: now,
            job: Job { unrung: rings && bell == Bell::Skip, ..step.job },
        };
        row::insert(connection, &stored, now, &self.policy).await.doing("admitting a job")?;
        if bell == Bell::Write && self.bells {
            for effect in &step.effects {
                if let Effect::Ring { at } = effect {
                    ring(connection, &stored.job, *at).await.map_err(Stumble::Bell)?;
                }
            }
        }
        Ok((stored.job, step.effects))
    }
}

/// Whether a person's jobs require the person's own keys. The row is held against being marked meanwhile.
async fn requires_keys(connection: &mut PgConnection, user: &UserId) -> Result<bool, Error> {
    let marked: Option<bool> =
        sqlx::query_scalar("select requires_byok from users where user_id = $1 for share")
            .bind(user.as_str())
            .fetch_optional(connection)
            .await
            .doing("reading a person's mark")?;
    Ok(marked.unwrap_or(false))
}
