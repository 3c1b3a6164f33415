//! Finalizing persisted conversations: by their owners, or by the reconciler when they were abandoned. Admissions
//! that arrive together are committed together.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use job::{JobId, Origin, Step, WorkerId};
use records::{ConversationId, UserId};
use serde_json::Value;
use sqlx::PgConnection;
use trace::TraceContext;
use tracing::Instrument;

use super::{
    AdmitRefusal, Admitting, admission,
    held::{Found, Ready, hold},
    opened::open_revisions,
};
use crate::{
    ConversationView, Ledger,
    conversations::{NamedRow, Seen, Shown, read_seen},
    effects::{Bell, Stumble, until_stored},
    error::{Doing, Error},
    keyed::{Keying, WithKeys},
    row,
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
pub(super) type About<'a> = (&'a UserId, &'a ConversationId);

/// The conversations whose revisions were opened, as they stand then.
type Opened<'a> = HashMap<About<'a>, NamedRow>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asker {
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
    /// It is read by those who admit it, in their transaction, so that a request waits for one batch and not for two.
    ///
    /// # Errors
    /// When the database does not answer: it may be admitted all the same, and a repeat changes nothing. When the row cannot
    /// be read.
    pub async fn finalize_and_show(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        calendar_meeting_context: Option<Value>,
    ) -> Result<Result<ConversationView, AdmitRefusal>, Error> {
        let asked = Asked { shown: true, ..Asked::by_owner(user, conversation, calendar_meeting_context) };
        match self.ask(asked).await? {
            Ok(answer) => {
                let view = answer.seen.unwrap_or_default().into_view()?;
                Ok(view.ok_or(AdmitRefusal::NoConversation))
            }
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
        let all = async |ledger: Self, batch: Vec<_>| ledger.in_time(ledger.finalize_all(&batch)).await;
        let span = admission();
        let asked = Asked { trace: span.in_scope(TraceContext::current), ..asked };
        self.admissions.ask(self, Arc::new(asked), all).instrument(span).await
    }

    async fn finalize_all(&self, batch: &[Arc<Asked>]) -> Result<Vec<Finalized>, Error> {
        let finalized =
            until_stored!(self, "finalizing conversations", |bell| self.try_finalize_all(batch, bell));
        finalized.map(|(answers, _)| answers)
    }

    /// The answers in the order of the batch, and the leases that were taken at once.
    async fn try_finalize_all(
        &self,
        batch: &[Arc<Asked>],
        bell: Bell,
    ) -> Result<(Vec<Finalized>, Vec<Claimed>), Stumble> {
        let mut transaction = self.open(DOING).await?;
        let found = hold(&mut transaction, batch).await?;
        let ready = ready(batch, &found);
        let (steps, opened) = self.admit_ready(&mut transaction, &ready, bell).await?;
        let mut claims = Vec::new();
        for ((asked, held), step) in ready.iter().zip(&steps) {
            let keying = asked.keying(held.marked);
            claims.extend(self.claim_at_once(&mut transaction, &step.job.id, keying, held.now).await?);
        }
        let newest = newest_jobs(&mut transaction, batch, &found).await?;
        let admitted =
            ready.iter().zip(&steps).map(|((asked, _), step)| (asked.about(), &step.job.id)).collect();
        let mut answers = answers(batch, &found, &admitted, &newest);
        show(&mut transaction, batch, &mut answers, opened).await?;
        transaction.commit().await.doing(DOING)?;
        self.wake_all(&steps);
        Ok((answers, claims))
    }

    /// Opens the revisions of what is ready, with their jobs and bells; the conversations as they stand then.
    async fn admit_ready<'a>(
        &self,
        connection: &mut PgConnection,
        ready: &[(&'a Asked, Ready)],
        bell: Bell,
    ) -> Result<(Vec<Step>, Opened<'a>), Stumble> {
        let Some((_, Ready { now, .. })) = ready.first() else { return Ok(Default::default()) };
        let admitting: Vec<Admitting<'_>> = ready.iter().map(|(asked, held)| asked.admitting(held)).collect();
        let (steps, jobs) = self.jobs_of(&admitting, *now, bell);
        let written = row::written(&jobs, *now, &self.policy);
        let opened = open_revisions(connection, ready, written, *now).await?;
        self.ring_admitted(connection, &steps, bell).await?;
        Ok((steps, ready.iter().map(|(asked, _)| asked.about()).zip(opened).collect()))
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

    pub(super) fn about(&self) -> About<'_> {
        (&self.user, &self.conversation)
    }

    pub(super) fn asker(&self) -> Asker {
        self.asker
    }

    pub(super) fn context(&self) -> Option<&Value> {
        self.calendar_meeting_context.as_ref()
    }

    fn admitting(&self, held: &Ready) -> Admitting<'_> {
        Admitting {
            user: &self.user,
            conversation: &self.conversation,
            revision: held.revision,
            origin: Origin::Finalize,
            force_process: self.asker == Asker::Owner,
            requires_keys: self.keying(held.marked).required,
            trace: self.trace,
        }
    }

    fn keying(&self, marked: bool) -> Keying<'_> {
        Keying::of(marked, self.keys.as_ref().map(|claimant| WithKeys { claimant: claimant.as_ref() }))
    }
}

/// Those to be admitted: of two that ask for one conversation, the first.
fn ready<'a>(batch: &'a [Arc<Asked>], found: &[Found]) -> Vec<(&'a Asked, Ready)> {
    let mut seen = HashSet::new();
    let held = batch.iter().zip(found).filter_map(|(asked, found)| Some((asked.as_ref(), found.ready()?)));
    held.filter(|(asked, _)| seen.insert(asked.about())).collect()
}

/// Reads the conversations that are to be shown. Theirs are held, so nothing of them changes before the commit.
async fn show(
    connection: &mut PgConnection,
    batch: &[Arc<Asked>],
    answers: &mut [Finalized],
    mut opened: Opened<'_>,
) -> Result<(), Error> {
    let (shown, answers): (Vec<_>, Vec<&mut Answer>) = batch
        .iter()
        .zip(answers)
        .filter(|(asked, _)| asked.shown)
        .filter_map(|(asked, answer)| Some((asked.shown(), answer.as_mut().ok()?)))
        .unzip();
    let known = shown.iter().map(|shown| opened.remove(&(&shown.user, &shown.conversation))).collect();
    for (seen, answer) in read_seen(connection, &shown, known).await?.into_iter().zip(answers) {
        answer.seen = Some(seen);
    }
    Ok(())
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
        .filter(|(_, (asked, found))| matches!(found, Found::AsItIs) && asked.asker == Asker::Owner);
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
        Found::Ready(_) => Ok(admitted.get(&asked.about()).copied().cloned().into()),
        Found::AsItIs => Ok(newest.get(&place).cloned().into()),
    };
    batch.iter().zip(found).enumerate().map(answer).collect()
}
