//! Finalizing persisted conversations: by their owners, or by the reconciler when they were abandoned. Admissions
//! that arrive together are committed together.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use job::{JobId, Origin, WorkerId};
use records::{ConversationId, Status, Timestamp, UserId};
use serde_json::Value;
use sqlx::PgConnection;
use trace::TraceContext;
use tracing::Instrument;

use super::{AdmitRefusal, Admitting, admission, require_keys};
use crate::{
    ConversationView, Ledger,
    conversations::{Seen, Shown},
    effects::{Bell, Stumble, until_stored},
    error::{Doing, Error},
    keyed::{Keying, WithKeys},
    take::Claimed,
};

const DOING: &str = "finalizing conversations";

/// What a finalize answers.
pub(crate) type Finalized = Result<Answer, AdmitRefusal>;

/// The job of the conversation's newest revision, if it ever had one; and the conversation as it stands then, if it was
/// to be shown.
pub(crate) struct Answer {
    job: Option<JobId>,
    seen: Option<Seen>,
}

/// The job, with the lease that was taken at once.
type FinalizedWithKeys = Result<(Option<JobId>, Option<Claimed>), AdmitRefusal>;

/// What is asked to be finalized.
pub(crate) struct Asked {
    user: UserId,
    conversation: ConversationId,
    calendar_meeting_context: Option<Value>,
    asker: Asker,
    /// The asker wants to see the conversation, with its transcript.
    shown: bool,
    /// The request brought its user's own keys; within, who takes the lease at once.
    keys: Option<Option<WorkerId>>,
    /// That of whoever asks: the batch is a task of its own.
    trace: Option<TraceContext>,
}

impl From<Option<JobId>> for Answer {
    fn from(job: Option<JobId>) -> Self {
        Self { job, seen: None }
    }
}

/// Whose conversation, and which.
type About<'a> = (&'a UserId, &'a ConversationId);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asker {
    Owner,
    Reconciler,
}

impl Ledger {
    /// Admits a persisted conversation (origin `finalize`, queue `finalization`, force_process true). Already
    /// processing or completed: unchanged, with its newest job if it has one. One live job per conversation.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn finalize(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        calendar_meeting_context: Option<Value>,
    ) -> Result<Result<Option<JobId>, AdmitRefusal>, Error> {
        let asked = Asked::by_owner(user, conversation, calendar_meeting_context);
        Ok(self.ask(asked).await?.map(|answer| answer.job))
    }

    /// Admits as [`finalize`](Self::finalize) does and answers the conversation as it stands then, with its transcript.
    /// It is read by those who admitted it, after their commit, so that a request waits for one batch and not for two.
    /// `None`: it was deleted in between.
    ///
    /// # Errors
    /// When the database does not answer or the row cannot be read; it may be admitted all the same, and a repeat
    /// changes nothing.
    pub async fn finalize_and_show(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        calendar_meeting_context: Option<Value>,
    ) -> Result<Result<Option<ConversationView>, AdmitRefusal>, Error> {
        let asked = Asked { shown: true, ..Asked::by_owner(user, conversation, calendar_meeting_context) };
        match self.ask(asked).await? {
            Ok(answer) => Ok(Ok(answer.seen.unwrap_or_default().into_view()?)),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// Admits as [`finalize`](Self::finalize) does, for a request that brought its user's own keys. A fresh job is
    /// leased in the same transaction when a claimant is named; an older one is answered as it stands, and whoever
    /// holds the keys claims it by itself. Such requests share no commit: they are few.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn finalize_with_keys(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        calendar_meeting_context: Option<Value>,
        keys: WithKeys<'_>,
    ) -> Result<FinalizedWithKeys, Error> {
        let keys = Some(keys.claimant.cloned());
        let span = admission();
        let trace = span.in_scope(TraceContext::current);
        let asked = Asked { keys, trace, ..Asked::by_owner(user, conversation, calendar_meeting_context) };
        let batch = [Arc::new(asked)];
        let stored =
            async { until_stored!(self, "finalizing with keys", |bell| self.try_finalize_all(&batch, bell)) };
        let (answers, claims) = stored.instrument(span).await?;
        let answer = answers.into_iter().next().unwrap_or(Err(AdmitRefusal::NoConversation));
        Ok(answer.map(|answer| (answer.job, claims.into_iter().next())))
    }

    /// Admits one abandoned conversation (origin `finalize`, force_process false), locked and re-checked.
    /// `true` when it was admitted.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn admit_abandoned(&self, user: &UserId, conversation: &ConversationId) -> Result<bool, Error> {
        let asked = Asked { asker: Asker::Reconciler, ..Asked::by_owner(user, conversation, None) };
        Ok(self.ask(asked).await?.is_ok_and(|answer| answer.job.is_some()))
    }

    async fn ask(&self, asked: Asked) -> Result<Finalized, Error> {
        let all = async |ledger: Self, batch: Vec<_>| ledger.finalize_all(&batch).await;
        let span = admission();
        let asked = Asked { trace: span.in_scope(TraceContext::current), ..asked };
        self.admissions.ask(self, Arc::new(asked), all).instrument(span).await
    }

    async fn finalize_all(&self, batch: &[Arc<Asked>]) -> Result<Vec<Finalized>, Error> {
        let finalized =
            until_stored!(self, "finalizing conversations", |bell| self.try_finalize_all(batch, bell));
        let (mut answers, _) = finalized?;
        self.show(batch, &mut answers).await?;
        Ok(answers)
    }

    /// Reads what is to be shown, once it is committed: nobody waits behind a long transcript for a lock.
    async fn show(&self, batch: &[Arc<Asked>], answers: &mut [Finalized]) -> Result<(), Error> {
        let (shown, answers): (Vec<Shown>, Vec<&mut Answer>) = batch
            .iter()
            .zip(answers)
            .filter(|(asked, _)| asked.shown)
            .filter_map(|(asked, answer)| Some((asked.shown(), answer.as_mut().ok()?)))
            .unzip();
        if shown.is_empty() {
            return Ok(());
        }
        for (seen, answer) in self.look_at(&shown).await?.into_iter().zip(answers) {
            answer.seen = Some(seen);
        }
        Ok(())
    }

    /// The answers in the order of the batch, and the leases that were taken at once.
    async fn try_finalize_all(
        &self,
        batch: &[Arc<Asked>],
        bell: Bell,
    ) -> Result<(Vec<Finalized>, Vec<Claimed>), Stumble> {
        let mut transaction = self.open(DOING).await?;
        let people: BTreeSet<&str> = batch.iter().map(|asked| asked.user.as_str()).collect();
        let (now, marks) = require_keys(&mut transaction, &people).await?;
        let found = lock(&mut transaction, batch).await?;
        let ready: Vec<&Asked> = ready(batch, &found);
        let revisions = open_revisions(&mut transaction, &ready, now).await?;
        let admitting: Vec<Admitting<'_>> = ready
            .iter()
            .zip(revisions)
            .map(|(asked, revision)| Admitting {
                user: &asked.user,
                conversation: &asked.conversation,
                revision,
                origin: Origin::Finalize,
                force_process: asked.asker == Asker::Owner,
                requires_keys: asked.keying(&marks).required,
                trace: asked.trace,
            })
            .collect();
        let steps = match admitting.is_empty() {
            true => Vec::new(),
            false => self.admit(&mut transaction, &admitting, now, bell).await?,
        };
        let mut claims = Vec::new();
        for (asked, step) in ready.iter().zip(&steps) {
            let keying = asked.keying(&marks);
            claims.extend(self.claim_at_once(&mut transaction, &step.job.id, keying, now).await?);
        }
        let newest = newest_jobs(&mut transaction, batch, &found).await?;
        transaction.commit().await.doing(DOING)?;
        self.wake_all(&steps);
        let admitted = ready.iter().zip(&steps).map(|(asked, step)| (asked.about(), &step.job.id)).collect();
        Ok((answers(batch, &found, &admitted, &newest), claims))
    }
}

impl Asked {
    fn by_owner(
        user: &UserId,
        conversation: &ConversationId,
        calendar_meeting_context: Option<Value>,
    ) -> Self {
        let (user, conversation) = (user.clone(), conversation.clone());
        Self {
            user,
            conversation,
            calendar_meeting_context,
            asker: Asker::Owner,
            shown: false,
            keys: None,
            trace: None,
        }
    }

    fn shown(&self) -> Shown {
        Shown { user: self.user.clone(), conversation: self.conversation.clone(), with_transcript: true }
    }

    fn about(&self) -> About<'_> {
        (&self.user, &self.conversation)
    }

    fn keying(&self, marks: &HashMap<String, bool>) -> Keying<'_> {
        let marked = marks.get(self.user.as_str()).is_some_and(|mark| *mark);
        Keying::of(marked, self.keys.as_ref().map(|claimant| WithKeys { claimant: claimant.as_ref() }))
    }
}

/// What admission finds of a conversation; its row is locked, so that a segment is in the revision or is refused.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Unknown, deleted or another user's.
    Nothing,
    /// Nothing to work on.
    Empty,
    /// To be admitted.
    Ready,
    /// Processing, completed, or no more abandoned: left as it is.
    AsItIs,
}

/// Locks the conversations in key order; what was found of each, in the order of the batch.
async fn lock(connection: &mut PgConnection, batch: &[Arc<Asked>]) -> Result<Vec<Found>, Error> {
    let rows: Vec<(i64, String, bool, bool)> = sqlx::query_as(concat!(
        "select k.place, c.status, coalesce(c.last_append_at < clock_timestamp() - interval '24 hours', false), ",
        has_content!(),
        " from conversations c \
         join unnest($1::text[], $2::text[]) with ordinality k (user_id, conversation_id, place) \
             using (user_id, conversation_id) \
         order by c.user_id, c.conversation_id for no key update of c"
    ))
    .bind(batch.iter().map(|asked| asked.user.as_str()).collect::<Vec<_>>())
    .bind(batch.iter().map(|asked| asked.conversation.as_str()).collect::<Vec<_>>())
    .fetch_all(connection)
    .await
    .doing("locking conversations")?;
    let found = |place: usize, asked: &Arc<Asked>| {
        let is_mine = |row: &&(i64, String, bool, bool)| usize::try_from(row.0) == Ok(place + 1);
        let Some((_, status, is_abandoned, has_content)) = rows.iter().find(is_mine) else {
            return Found::Nothing;
        };
        let is_waiting = status == Status::InProgress.as_str();
        let is_admissible = match asked.asker {
            Asker::Owner => is_waiting || status == Status::Failed.as_str(),
            Asker::Reconciler => is_waiting && *is_abandoned,
        };
        match (is_admissible, has_content) {
            (false, _) => Found::AsItIs,
            (true, false) => Found::Empty,
            (true, true) => Found::Ready,
        }
    };
    Ok(batch.iter().enumerate().map(|(place, asked)| found(place, asked)).collect())
}

/// Those to be admitted: of two that ask for one conversation, the first.
fn ready<'a>(batch: &'a [Arc<Asked>], found: &[Found]) -> Vec<&'a Asked> {
    let mut seen = HashSet::new();
    let ready = batch.iter().zip(found).filter(|(_, found)| **found == Found::Ready);
    ready.map(|(asked, _)| asked.as_ref()).filter(|asked| seen.insert(asked.about())).collect()
}

/// Takes the next revisions; the discarded mark of a dead letter is taken back.
async fn open_revisions(
    connection: &mut PgConnection,
    ready: &[&Asked],
    now: Timestamp,
) -> Result<Vec<i64>, Stumble> {
    if ready.is_empty() {
        return Ok(Vec::new());
    }
    let mut opened: Vec<(i64, i64)> = sqlx::query_as(
        "update conversations c set status = 'processing', finalization_revision = finalization_revision + 1, \
             discarded = discarded and not discarded_by_failure, discarded_by_failure = false, updated_at = $1, \
             external_data = case when k.context is null then external_data \
                 else coalesce(external_data, '{}') || jsonb_build_object('calendar_meeting_context', k.context) end \
         from unnest($2::text[], $3::text[], $4::jsonb[]) with ordinality k (user_id, conversation_id, context, place) \
         where c.user_id = k.user_id and c.conversation_id = k.conversation_id \
         returning k.place, c.finalization_revision",
    )
    .bind(now)
    .bind(ready.iter().map(|asked| asked.user.as_str()).collect::<Vec<_>>())
    .bind(ready.iter().map(|asked| asked.conversation.as_str()).collect::<Vec<_>>())
    .bind(ready.iter().map(|asked| asked.calendar_meeting_context.as_ref()).collect::<Vec<_>>())
    .fetch_all(connection)
    .await
    .doing("opening revisions")?;
    opened.sort_unstable();
    // They are locked, so each was there.
    if opened.len() < ready.len() {
        return Err(Stumble::Lost);
    }
    Ok(opened.into_iter().map(|(_, revision)| revision).collect())
}

/// The newest jobs, by place, of what its owner asked for and is left as it is.
async fn newest_jobs(
    connection: &mut PgConnection,
    batch: &[Arc<Asked>],
    found: &[Found],
) -> Result<HashMap<usize, JobId>, Error> {
    // What somebody else admitted was not admitted by the reconciler's call.
    let left = batch
        .iter()
        .zip(found)
        .enumerate()
        .filter(|(_, (asked, found))| **found == Found::AsItIs && asked.asker == Asker::Owner);
    let (places, abouts): (Vec<usize>, Vec<About<'_>>) =
        left.map(|(place, (asked, _))| (place, asked.about())).unzip();
    if places.is_empty() {
        return Ok(HashMap::new());
    }
    let jobs: Vec<Option<String>> = sqlx::query_scalar(
        "select (select a.job_id from finalization_admissions a \
                 where a.user_id = k.user_id and a.conversation_id = k.conversation_id \
                 order by a.revision desc limit 1) \
         from unnest($1::text[], $2::text[]) with ordinality k (user_id, conversation_id, place) order by k.place",
    )
    .bind(abouts.iter().map(|(user, _)| user.as_str()).collect::<Vec<_>>())
    .bind(abouts.iter().map(|(_, conversation)| conversation.as_str()).collect::<Vec<_>>())
    .fetch_all(connection)
    .await
    .doing("looking for newest jobs")?;
    Ok(places
        .into_iter()
        .zip(jobs)
        .filter_map(|(place, job)| Some((place, JobId::from_text(job?))))
        .collect())
}

/// The answers in the order of the batch: of two that ask for one conversation, both get the job that was made.
fn answers(
    batch: &[Arc<Asked>],
    found: &[Found],
    admitted: &HashMap<About<'_>, &JobId>,
    newest: &HashMap<usize, JobId>,
) -> Vec<Finalized> {
    let answer = |(place, (asked, found)): (usize, (&Arc<Asked>, &Found))| match found {
        Found::Nothing => Err(AdmitRefusal::NoConversation),
        Found::Empty => Err(AdmitRefusal::NoContent),
        Found::Ready => Ok(admitted.get(&asked.about()).copied().cloned().into()),
        Found::AsItIs => Ok(newest.get(&place).cloned().into()),
    };
    batch.iter().zip(found).enumerate().map(answer).collect()
}
