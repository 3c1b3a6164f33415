//! Creating a conversation: stored and admitted, or stored to be finalized later.

use chrono::Duration;
use job::{JobId, Origin};
use records::{Conversation, ConversationId, Status, Timestamp, UserId};
use sqlx::{PgConnection, Postgres, Transaction};
use trace::TraceContext;
use tracing::Instrument;

use super::{Admitted, Admitting, CreateOutcome, NewContent, NewConversation, Owner, admission, owner};
use crate::{
    Ledger,
    budgets::Charge,
    conversations::{row::read_conversation, shapes::geolocation_to_json},
    effects::{Bell, Stumble, until_stored},
    error::{Doing, Error},
    keyed::{Keying, WithKeys},
    segments::{first_words, insert_segments, length},
};

impl Ledger {
    /// Persists a conversation and, unless it is deferred, admits it (origin `create`, queue `creation`, force_process
    /// false), in one transaction. Of segments with one id the first is stored, and
    /// speakers without a number get one, as in an append. A repeat of a `client_session_id` makes nothing twice, also when two arrive at once.
    ///
    /// # Errors
    /// When the database does not answer, or a budget of the user's is used up.
    pub async fn create_conversation(
        &self,
        user: &UserId,
        new: NewConversation,
    ) -> Result<CreateOutcome, Error> {
        self.create(user, new, None).await
    }

    /// Creates as [`create_conversation`](Self::create_conversation) does, for a request that brought its user's own
    /// keys: the job requires them, and is leased in the same transaction when a claimant is named.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn create_conversation_with_keys(
        &self,
        user: &UserId,
        new: NewConversation,
        keys: WithKeys<'_>,
    ) -> Result<CreateOutcome, Error> {
        self.in_time(self.create(user, new, Some(keys))).await
    }

    async fn create(
        &self,
        user: &UserId,
        mut new: NewConversation,
        keys: Option<WithKeys<'_>>,
    ) -> Result<CreateOutcome, Error> {
        if let NewContent::Segments(segments) = &mut new.content {
            first_words(segments);
        }
        async {
            until_stored!(self, "creating a conversation", |bell| self.try_create(user, &new, keys, bell))
        }
        .instrument(admission())
        .await
    }

    async fn try_create(
        &self,
        user: &UserId,
        new: &NewConversation,
        keys: Option<WithKeys<'_>>,
        bell: Bell,
    ) -> Result<CreateOutcome, Stumble> {
        let (mut transaction, now) =
            self.begin_creating("creating a conversation", &[new.id.as_str()]).await?;
        let owner = owner(&mut transaction, user).await?;
        let owner = owner.ok_or(sqlx::Error::RowNotFound).doing("reading who creates a conversation")?;
        let keying = Keying::of(owner.requires_byok, keys);
        if !insert_conversation(&mut transaction, user, new, now).await.doing("storing a conversation")? {
            return self.repeat(transaction, user, &new.id, (&owner, keying), now, bell).await;
        }
        if new.client_session_id.is_some() && was_deleted(&mut transaction, user, &new.id).await? {
            return Ok(CreateOutcome::Deleted);
        }
        if let NewContent::Segments(segments) = &new.content {
            insert_segments(&mut transaction, user, &new.id, 0, segments).await.doing("storing segments")?;
        }
        let created = Charge { conversations: 1, bytes: new.content.bytes(), job: !new.deferred };
        if new.deferred {
            let conversation = must_read(&mut transaction, user, &new.id).await?;
            self.charge(&mut transaction, user, created, now).await?;
            transaction.commit().await.doing("creating a conversation")?;
            return Ok(CreateOutcome::Deferred(conversation));
        }
        let job_id = JobId::derive(user.as_str(), new.id.as_str(), 1);
        let admitting = Admitting {
            user,
            conversation: &new.id,
            revision: 1,
            origin: Origin::Create,
            force_process: false,
            requires_keys: keying.required,
            first_epoch: owner.first_epoch,
            trace: TraceContext::current(),
        };
        let steps = self.admit(&mut transaction, &[admitting], now, bell).await?;
        let claimed = self.claim_at_once(&mut transaction, &job_id, keying, now).await?.map(Box::new);
        let conversation = must_read(&mut transaction, user, &new.id).await?;
        self.charge(&mut transaction, user, created, now).await?;
        transaction.commit().await.doing("creating a conversation")?;
        self.wake_all(&steps);
        Ok(CreateOutcome::Admitted(Admitted { conversation, job_id, fresh: true, claimed }))
    }

    /// The id is taken: a repeat of a `client_session_id`. One that failed is admitted again.
    async fn repeat(
        &self,
        mut transaction: Transaction<'static, Postgres>,
        user: &UserId,
        id: &ConversationId,
        (owner, keying): (&Owner, Keying<'_>),
        now: Timestamp,
        bell: Bell,
    ) -> Result<CreateOutcome, Stumble> {
        let known = must_read(&mut transaction, user, id).await?;
        if known.status != Status::Failed {
            return Ok(CreateOutcome::Known(known));
        }
        // Compare-and-set on the status: of two repeats at once, one admits and the other finds it processing.
        let reopened: Option<i64> = sqlx::query_scalar(
            "update conversations set status = 'processing', finalization_revision = finalization_revision + 1, \
                 discarded = discarded and not discarded_by_failure, discarded_by_failure = false, updated_at = $3 \
             where user_id = $1 and conversation_id = $2 and status = 'failed' returning finalization_revision",
        )
        .bind(user.as_str())
        .bind(id.as_str())
        .bind(now)
        .fetch_optional(&mut *transaction)
        .await
        .doing("reopening a conversation")?;
        let Some(revision) = reopened else { return Err(Stumble::Lost) };
        let job_id = JobId::derive(user.as_str(), id.as_str(), revision);
        let admitting = Admitting {
            user,
            conversation: id,
            revision,
            origin: Origin::Create,
            force_process: false,
            requires_keys: keying.required,
            first_epoch: owner.first_epoch,
            trace: TraceContext::current(),
        };
        let steps = self.admit(&mut transaction, &[admitting], now, bell).await?;
        let claimed = self.claim_at_once(&mut transaction, &job_id, keying, now).await?.map(Box::new);
        let conversation = must_read(&mut transaction, user, id).await?;
        self.charge(&mut transaction, user, Charge { job: true, ..Charge::default() }, now).await?;
        transaction.commit().await.doing("creating a conversation")?;
        self.wake_all(&steps);
        Ok(CreateOutcome::Admitted(Admitted { conversation, job_id, fresh: true, claimed }))
    }
}

/// `false`: the id is taken.
async fn insert_conversation(
    connection: &mut PgConnection,
    user: &UserId,
    new: &NewConversation,
    now: Timestamp,
) -> Result<bool, sqlx::Error> {
    let (started_at, finished_at) = times(new, now);
    let geolocation = new
        .geolocation
        .as_ref()
        .map(geolocation_to_json)
        .transpose()
        .map_err(|error| sqlx::Error::Encode(error.into()))?;
    let (text, text_source, text_source_spec) = match &new.content {
        NewContent::Text { text, text_source, text_source_spec } => {
            (Some(text), Some(text_source), text_source_spec.as_ref())
        }
        NewContent::Segments(_) => (None, None, None),
    };
    let status = if new.deferred { Status::InProgress } else { Status::Processing };
    let inserted = sqlx::query(
        "insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, \
             language, source, status, geolocation, private_text, text_source, text_source_spec, \
             client_session_id, client_device_id, client_platform, finalization_revision, last_append_at, \
             counted_bytes) \
         values ($1, $2, $3, $3, $4, $5, coalesce($6, (select language from users where user_id = $1)), \
             $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) \
         on conflict (user_id, conversation_id) do nothing",
    )
    .bind(user.as_str())
    .bind(new.id.as_str())
    .bind(now)
    .bind(started_at)
    .bind(finished_at)
    .bind(&new.language)
    .bind(new.source.as_str())
    .bind(status.as_str())
    .bind(geolocation)
    .bind(text)
    .bind(text_source)
    .bind(text_source_spec)
    .bind(&new.client_session_id)
    .bind(&new.client_device_id)
    .bind(&new.client_platform)
    .bind(i64::from(!new.deferred))
    .bind(new.deferred.then_some(now))
    .bind(new.content.bytes())
    .execute(connection)
    .await?;
    Ok(inserted.rows_affected() > 0)
}

/// The times of a conversation that its client left open (spec; DECISIONS §3, "times, derived").
fn times(new: &NewConversation, now: Timestamp) -> (Timestamp, Timestamp) {
    let length = match &new.content {
        NewContent::Text { .. } => Duration::minutes(5),
        NewContent::Segments(segments) => length(segments),
    };
    match (new.started_at, new.finished_at) {
        (Some(started), Some(finished)) => (started, finished),
        (Some(started), None) => (started, started + length),
        (None, Some(finished)) => (finished - length, finished),
        (None, None) => (now, now + length),
    }
}

async fn was_deleted(
    connection: &mut PgConnection,
    user: &UserId,
    id: &ConversationId,
) -> Result<bool, Error> {
    sqlx::query_scalar(
        "select exists (select from deleted_conversations where user_id = $1 and conversation_id = $2)",
    )
    .bind(user.as_str())
    .bind(id.as_str())
    .fetch_one(connection)
    .await
    .doing("looking for a deletion")
}

async fn must_read(
    connection: &mut PgConnection,
    user: &UserId,
    id: &ConversationId,
) -> Result<Conversation, Stumble> {
    read_conversation(connection, user, id).await?.ok_or(Stumble::Lost)
}
