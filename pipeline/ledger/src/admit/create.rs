//! Creating a conversation: stored and admitted, or stored to be finalized later.

use std::slice;

use chrono::Duration;
use db::{Error, query, query_scalar};
use job::Origin;
use records::{ConversationId, Status, Timestamp, UserId};
use sqlx::{PgConnection, Postgres, Transaction};
use store::{
    budgets::Charge,
    conversations::shapes::geolocation_to_json,
    segments::{first_words, insert_segments, length},
};
use tracing::Instrument;

use super::{
    CreateOutcome, NewContent, NewConversation, Owner, WithKeys, admit_span, lock_standing, must_read,
    open_revisions, owner,
};
use crate::{Ledger, effects::Abort, retry_conflicts};

impl Ledger {
    /// Persists a conversation and, unless it is deferred, admits it (origin `create`, queue `creation`, force_process
    /// false), in one transaction. Of segments with one id the first is stored, and
    /// speakers without a number get one, as in an append. A repeat of a `client_session_id` makes nothing twice, also when two arrive at once.
    /// `keys` are those of a request that brought its user's own: the job then requires them, and is leased in the same
    /// transaction when a claimant is named.
    ///
    /// # Errors
    /// When the database does not answer, a budget of the user's is used up, or the user is being deleted.
    pub async fn create_conversation(
        &self,
        user: &UserId,
        mut new: NewConversation,
        keys: Option<WithKeys<'_>>,
    ) -> Result<CreateOutcome, Error> {
        if let NewContent::Segments(segments) = &mut new.content {
            first_words(segments);
        }
        let created = retry_conflicts!("creating a conversation", async {
            let (mut transaction, now) = self.db.begin_creating(&[new.id.as_str()]).await?;
            let owner = owner(&mut transaction, user).await?;
            let owner = owner.ok_or(Error::UserDeleted)?;
            let language = new.language.as_deref().unwrap_or(&owner.language);
            let stored = insert_conversation(&mut transaction, user, (&new, language), now).await;
            if !stored? {
                return self.repeat(transaction, user, &new.id, (&owner, keys), now).await;
            }
            if new.client_session_id.is_some()
                && query_scalar!("admission/was_deleted.sql", user, new.id.as_str())
                    .fetch_one(&mut *transaction)
                    .await?
            {
                return Ok(CreateOutcome::Deleted);
            }
            if let NewContent::Segments(segments) = &new.content {
                insert_segments(&mut transaction, user, &new.id, 0, segments).await?;
            }
            let created = Charge { conversations: 1, bytes: new.content.bytes(), job: !new.deferred };
            if new.deferred {
                let conversation = must_read(&mut transaction, user, &new.id).await?;
                self.store.charge(&mut transaction, user, created, now).await?;
                transaction.commit().await?;
                return Ok(CreateOutcome::Deferred(conversation));
            }
            let job = self.next_job(0, (user, &new.id), Origin::Create, &owner, keys, now);
            let admitted = self.admit_and_commit(transaction, &job, keys, Some(created), now).await?;
            Ok(CreateOutcome::Admitted(admitted))
        })
        .instrument(admit_span());
        match keys {
            Some(_) => self.db.in_time(created).await,
            None => created.await,
        }
    }

    /// The id is taken: a repeat of a `client_session_id`. One that failed is admitted again.
    async fn repeat(
        &self,
        mut transaction: Transaction<'static, Postgres>,
        user: &UserId,
        id: &ConversationId,
        (owner, keys): (&Owner, Option<WithKeys<'_>>),
        now: Timestamp,
    ) -> Result<CreateOutcome, Abort> {
        let Some(standing) = lock_standing(&mut transaction, user, id).await? else {
            return Err(Abort::Conflict);
        };
        if standing.status != Status::Failed.as_str() {
            return Ok(CreateOutcome::Known(must_read(&mut transaction, user, id).await?));
        }
        let newest = standing.finalization_revision;
        let job = self.next_job(newest, (user, id), Origin::Create, owner, keys, now);
        open_revisions(&mut transaction, slice::from_ref(&job), &[None], now).await?;
        let charge = Charge { job: true, ..Charge::default() };
        let admitted = self.admit_and_commit(transaction, &job, keys, Some(charge), now).await?;
        Ok(CreateOutcome::Admitted(admitted))
    }
}

/// `false`: the id is taken.
async fn insert_conversation(
    connection: &mut PgConnection,
    user: &UserId,
    (new, language): (&NewConversation, &str),
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
    let inserted = query!(
        "admission/insert_conversation.sql",
        user,
        new.id.as_str(),
        now,
        started_at,
        finished_at,
        language,
        new.source.as_str(),
        status.as_str(),
        geolocation,
        text,
        text_source,
        text_source_spec,
        &new.client_session_id,
        &new.client_device_id,
        &new.client_platform,
        i64::from(!new.deferred),
        new.deferred.then_some(now),
        new.content.bytes()
    )
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
