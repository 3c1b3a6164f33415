//! Admission: conversation, revision and job in one transaction.

mod create;
pub(crate) mod finalize;
mod live;
mod reprocess;
mod waiting_limit;

pub use finalize::FinalizeOutcome;
pub use live::{EndedBy, LiveAdmission};
pub use reprocess::ReprocessRefusal;
pub(crate) use waiting_limit::FarFromLimit;

use std::slice;

use db::{Error, array, query, query_as, query_scalar};
use job::{Admission, Command, Epoch, Job, JobId, Origin, WorkerId};
use records::{Conversation, ConversationId, Geolocation, OverBudget, Segment, Source, Timestamp, UserId};
use serde_json::{Value, json};
use sqlx::{PgConnection, Postgres, Transaction};
use store::{budgets::Charge, conversations::row::read_conversation, segments::said};
use trace::TraceContext;
use tracing::Span;

use crate::{
    Ledger,
    claim::is_paused,
    effects::{Abort, Answer},
    row::{self, StoredJob, unsettled},
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

impl NewContent {
    /// The bytes that its user's account is charged with.
    pub(crate) fn bytes(&self) -> i64 {
        let bytes = match self {
            Self::Text { text, .. } => text.len(),
            Self::Segments(segments) => segments.iter().map(said).sum(),
        };
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }
}

/// A conversation that a client creates; validated by the API.
#[derive(Clone, Debug)]
pub struct NewConversation {
    /// Fresh (UUID v7), or UUID v5 of (user, client_session_id).
    pub id: ConversationId,
    pub content: NewContent,
    /// When the talk began; `None` is now, or `finished_at` less its length (DECISIONS §3, "times, derived").
    pub started_at: Option<Timestamp>,
    /// When it ended; `None` is `started_at` plus 5 minutes (text) or plus the largest end (segments).
    pub finished_at: Option<Timestamp>,
    /// A language code; `None` is that of the person's settings.
    pub language: Option<String>,
    pub source: Source,
    pub geolocation: Option<Geolocation>,
    /// The client's own key of this conversation.
    pub client_session_id: Option<String>,
    pub client_device_id: Option<String>,
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

#[derive(Clone, Debug, PartialEq)]
pub enum CreateOutcome {
    /// Created and admitted into the `creation` queue, or (a repeat on a failed one) admitted again.
    Admitted(Admitted),
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
    pub claimed: Option<Box<StoredJob>>,
}

/// A request brought its user's own keys: its job requires them, and no run without them is ever granted. The keys never come
/// here: only the word that a process holds them (DECISIONS §4).
#[derive(Clone, Copy, Debug)]
pub struct WithKeys<'a> {
    /// Who takes the lease in the admitting transaction; `None` while no keyed slot is free: the job is parked
    /// until the process that holds the keys claims it.
    pub claimant: Option<&'a WorkerId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmitRefusal {
    /// Unknown, deleted or another user's.
    NoConversation,
    /// No segments, text or photos.
    NoContent,
    /// As many of the user's jobs wait as may.
    OverBudget(OverBudget),
}

impl Ledger {
    /// The job of the revision after `newest`, to be admitted in the present trace; whether the conversation is worth keeping is
    /// judged.
    fn next_job(
        &self,
        newest: i64,
        (user, conversation): (&UserId, &ConversationId),
        origin: Origin,
        owner: &Owner,
        keys: Option<WithKeys<'_>>,
        now: Timestamp,
    ) -> StoredJob {
        let revision = newest + 1;
        let admission = Admission {
            id: JobId::derive(user.as_str(), conversation.as_str(), revision),
            origin,
            force_process: false,
            requires_keys: owner.requires_byok || keys.is_some(),
        };
        let mut job = Job::admit(admission, now).job;
        job.epoch = Epoch(owner.first_epoch);
        if origin == Origin::Live {
            job.queue = self.live_queue;
        }
        StoredJob {
            user_id: user.clone(),
            conversation_id: conversation.clone(),
            revision,
            version: 1,
            created_at: now,
            updated_at: now,
            job,
            trace: TraceContext::current(),
            event: None,
        }
    }

    /// Writes the jobs and admission records of revisions whose conversations the caller has locked or just written. Dead letters
    /// of earlier revisions wait for no operator any more.
    async fn admit(
        &self,
        connection: &mut PgConnection,
        jobs: &[StoredJob],
        now: Timestamp,
    ) -> Result<(), Abort> {
        let later = || jobs.iter().filter(|job| job.revision > 1);
        if later().next().is_some() {
            let users: Vec<_> = later().map(|job| job.user_id.as_str()).collect();
            let conversations: Vec<_> = later().map(|job| job.conversation_id.as_str()).collect();
            for dead in unsettled(connection, &users, &conversations).await? {
                // A refusal is a dead letter that was replayed meanwhile: then its conversation has a live job, and this admission fails.
                self.decide(connection, &dead, Command::Supersede, None, now).await?;
            }
        }
        if !jobs.is_empty() {
            row::insert(connection, jobs, now, &self.policy).await?;
        }
        Ok(())
    }

    /// Admits a conversation that the transaction has locked or written, takes the lease for a request with keys, and commits.
    async fn admit_and_commit(
        &self,
        mut transaction: Transaction<'static, Postgres>,
        new: &StoredJob,
        keys: Option<WithKeys<'_>>,
        charge: Option<Charge>,
        now: Timestamp,
    ) -> Result<Admitted, Abort> {
        self.admit(&mut transaction, slice::from_ref(new), now).await?;
        let claimed = self.claim_at_once(&mut transaction, new, keys, now).await?.map(Box::new);
        let conversation = must_read(&mut transaction, &new.user_id, &new.conversation_id).await?;
        if let Some(charge) = charge {
            self.store.charge(&mut transaction, &new.user_id, charge, now).await?;
        }
        transaction.commit().await?;
        self.wake_workers(&new.job);
        Ok(Admitted { conversation, job_id: new.job.id.clone(), fresh: true, claimed })
    }

    /// Leases a job that was admitted a moment ago, in the admitting transaction (epoch 1), when its request brought
    /// keys, a keyed slot is free and its queue is not paused.
    async fn claim_at_once(
        &self,
        connection: &mut PgConnection,
        admitted: &StoredJob,
        keys: Option<WithKeys<'_>>,
        now: Timestamp,
    ) -> Result<Option<StoredJob>, Abort> {
        let Some(worker) = keys.and_then(|keys| keys.claimant) else { return Ok(None) };
        if is_paused(connection, admitted.job.queue).await? {
            return Ok(None);
        }
        let generation = admitted.job.generation;
        let claim = Command::Claim { generation, worker: worker.clone(), keys: true };
        Ok(match self.decide(connection, admitted, claim, None, now).await? {
            Answer::Granted { job, .. } => Some(StoredJob { job, ..admitted.clone() }),
            Answer::Refused(_) | Answer::Missing => None,
        })
    }
}

async fn must_read(
    connection: &mut PgConnection,
    user: &UserId,
    id: &ConversationId,
) -> Result<Conversation, Abort> {
    read_conversation(connection, user, id).await?.ok_or(Abort::Conflict)
}

/// Opens revisions of conversations that are locked. `meetings` are what each request brings of a calendar ([`of_meeting`]).
async fn open_revisions(
    connection: &mut PgConnection,
    jobs: &[StoredJob],
    meetings: &[Option<Value>],
    now: Timestamp,
) -> Result<(), Error> {
    if jobs.is_empty() {
        return Ok(());
    }
    query!(
        "admission/open_revisions.sql",
        now,
        array(jobs, |job| job.user_id.as_str()),
        array(jobs, |job| job.conversation_id.as_str()),
        array(jobs, |job| job.revision),
        meetings
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// What a conversation keeps of the meeting that a request speaks of, as `external_data` has it.
fn of_meeting(calendar_meeting_context: Option<&Value>) -> Option<Value> {
    calendar_meeting_context.map(|context| json!({ "calendar_meeting_context": context }))
}

/// What must be known of a conversation before its next revision is admitted.
#[derive(sqlx::FromRow)]
struct Standing {
    status: String,
    finalization_revision: i64,
    /// Of a live conversation: the socket that opened it last, and when it is processed if nothing more is said.
    live_epoch: Option<i64>,
    process_after: Option<Timestamp>,
    has_content: bool,
}

/// Waits for the lock of a conversation, whose user and job are locked before it. Returns `false` if it does not exist.
pub(crate) async fn lock_conversation(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
) -> Result<bool, Error> {
    let there: Option<bool> =
        query_scalar!("conversations/lock.sql", user, conversation).fetch_optional(connection).await?;
    Ok(there.is_some())
}

async fn lock_standing(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
) -> Result<Option<Standing>, Error> {
    Ok(query_as!("admission/lock_conversation.sql", user, conversation).fetch_optional(connection).await?)
}

/// The part of a trace that is an admission: what waits in the queue is its child.
fn admit_span() -> Span {
    tracing::info_span!(target: trace::TARGET, "admit", otel.kind = "producer")
}

/// What an admission needs to know of the user.
#[derive(sqlx::FromRow)]
pub(crate) struct Owner {
    /// The user's jobs require the user's own keys.
    pub(crate) requires_byok: bool,
    /// The epoch at which the user's jobs begin.
    first_epoch: i64,
    /// What the user speaks, where a conversation does not say.
    language: String,
}

/// The user of an admission, locked; `None`: unknown, or being deleted.
pub(crate) async fn owner(connection: &mut PgConnection, user: &UserId) -> Result<Option<Owner>, Error> {
    Ok(query_as!("admission/lock_user.sql", user).fetch_optional(connection).await?)
}
