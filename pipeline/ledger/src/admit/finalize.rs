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
    found::{Found, Ready, look},
    opened::{hold, open_revisions},
    ringing,
    room::{lock_accounts, refuse_beyond},
};
use crate::{
    ConversationView, Ledger,
    conversations::{NamedRow, Seen},
    effects::{Bell, Rings, Stumble, until_stored},
    error::{Doing, Error},
    keyed::{Keying, WithKeys},
    row::{self, Written},
    take::Claimed,
};

const DOING: &str = "finalizing conversations";

/// What a finalize answers.
pub(crate) type Finalized = Result<Answer, AdmitRefusal>;

/// The job of the conversation's newest revision, if it ever had one.
pub(crate) struct Answer {
    job: Option<JobId>,
    /// It was made by this question.
    fresh: bool,
    /// The conversation as it stands then, if it was to be shown and was read whole.
    seen: Option<Seen>,
}

/// What came of a finalize that brought keys.
#[derive(Clone, Debug, PartialEq)]
pub struct FinalizedWithKeys {
    /// The job of the conversation's newest revision, if it ever had one.
    pub job: Option<JobId>,
    /// Whether this call made it.
    pub fresh: bool,
    /// The lease that was taken at once.
    pub claimed: Option<Claimed>,
}

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

    /// Admits as [`finalize`](Self::finalize) does and answers the conversation as it stands then, with its transcript, and
    /// whether this call admitted it.
    /// Where its row and its words are all that is to be shown, those who admit it have read them: such a request, and most
    /// are, waits for one batch and not for two.
    ///
    /// # Errors
    /// When the database does not answer: it may be admitted all the same, and a repeat changes nothing. When the row cannot
    /// be read.
    pub async fn finalize_and_show(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        calendar_meeting_context: Option<Value>,
    ) -> Result<Result<(ConversationView, bool), AdmitRefusal>, Error> {
        let asked = Asked { shown: true, ..Asked::by_owner(user, conversation, calendar_meeting_context) };
        let Answer { seen, fresh, .. } = match self.ask(asked).await? {
            Ok(answer) => answer,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let view = match seen {
            Some(seen) => seen.into_view()?,
            None => self.one_view(user, conversation, true).await?,
        };
        Ok(view.map(|view| (view, fresh)).ok_or(AdmitRefusal::NoConversation))
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
    ) -> Result<Result<FinalizedWithKeys, AdmitRefusal>, Error> {
        let keys = Some(keys.claimant.cloned());
        let span = admission();
        let trace = span.in_scope(TraceContext::current);
        let asked = Asked { keys, trace, ..Asked::by_owner(user, conversation, calendar_meeting_context) };
        let batch = [Arc::new(asked)];
        let stored =
            async { until_stored!(self, "finalizing with keys", |bell| self.try_finalize_all(&batch, bell)) };
        let (answers, claims) = self.in_time(stored.instrument(span)).await?;
        let answer = answers.into_iter().next().unwrap_or(Err(AdmitRefusal::NoConversation));
        Ok(answer.map(|Answer { job, fresh, .. }| FinalizedWithKeys {
            job,
            fresh,
            claimed: claims.into_iter().next(),
        }))
    }

    /// Admits one abandoned conversation (origin `finalize`, force_process false); it is held and compared with what was found
    /// when it is admitted.
    /// `true` when it was admitted.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn admit_abandoned(&self, user: &UserId, conversation: &ConversationId) -> Result<bool, Error> {
        let asked = Asked { asker: Asker::Reconciler, ..Asked::by_owner(user, conversation, None) };
        Ok(self.ask(asked).await?.is_ok_and(|answer| answer.fresh))
    }

    async fn ask(&self, asked: Asked) -> Result<Finalized, Error> {
        let all = async |ledger: Self, batch: Vec<_>| ledger.in_time(ledger.finalize_all(&batch)).await;
        let span = admission();
        let asked = Asked { trace: span.in_scope(TraceContext::current), ..asked };
        self.admissions.ask(self, Arc::new(asked), all).instrument(span).await
    }

    async fn finalize_all(&self, batch: &[Arc<Asked>]) -> Result<Vec<Finalized>, Error> {
        match self.finalize_at_once(batch).await {
            Ok(answers) => return Ok(answers),
            Err(Stumble::Broken(error)) if error.is_without_session() => return Err(error),
            // The batch falls apart: each is asked by itself.
            Err(Stumble::Broken(error @ Error::TooMuch { .. })) => return Err(error),
            // Who goes step by step finds out what was in the way; a session that died leaves another one to go on with,
            // and what it may have done is found done.
            Err(Stumble::Broken(error)) => {
                tracing::warn!(%error, "finalizing step by step");
                if error.is_of_the_session() {
                    self.doubt();
                }
            }
            Err(Stumble::Lost | Stumble::Bell(_)) => (),
        }
        let finalized =
            until_stored!(self, "finalizing conversations", |bell| self.try_finalize_all(batch, bell));
        finalized.map(|(answers, _)| answers)
    }

    /// The answers in the order of the batch. One look and one write, which is a transaction of its own: it goes by what was
    /// found, and writes nothing when that is so no more.
    async fn finalize_at_once(&self, batch: &[Arc<Asked>]) -> Result<Vec<Finalized>, Stumble> {
        let mut session = self.by_keys.session(&self.pool, DOING).await?;
        let mut found = look(&mut session, batch, self.budgets.waiting_jobs).await?;
        if !refuse_beyond(batch, &mut found).is_empty() {
            return Err(Stumble::Lost); // step by step, with the accounts of users near their limit locked
        }
        let newest = newest_jobs(&mut session, batch, &found).await?;
        let ready = ready(batch, &found);
        let (steps, jobs) = self.jobs_of_ready(&ready, Bell::Write);
        let rings = self.rings(&ringing(&steps), Bell::Write);
        let opened = open_all(&mut session, &ready, jobs, rings).await?;
        session.keep();
        self.wake_all(&steps);
        let made = made(&ready, &steps);
        Ok(answers(batch, found, opened, &made, &newest))
    }

    /// The same step by step in a transaction that holds what it looks at, the bells by themselves; also the leases that were
    /// taken at once.
    async fn try_finalize_all(
        &self,
        batch: &[Arc<Asked>],
        bell: Bell,
    ) -> Result<(Vec<Finalized>, Vec<Claimed>), Stumble> {
        let mut session = self.by_keys.session(&self.pool, DOING).await?;
        let mut transaction = session.begin(DOING).await?;
        hold(&mut transaction, batch).await?;
        let mut found = look(&mut transaction, batch, self.budgets.waiting_jobs).await?;
        let near = refuse_beyond(batch, &mut found);
        if !near.is_empty() {
            lock_accounts(&mut transaction, &near).await?;
            found = look(&mut transaction, batch, self.budgets.waiting_jobs).await?;
            refuse_beyond(batch, &mut found);
        }
        let newest = newest_jobs(&mut transaction, batch, &found).await?;
        let ready = ready(batch, &found);
        let (steps, jobs) = self.jobs_of_ready(&ready, bell);
        let opened = open_all(&mut transaction, &ready, jobs, Rings::default()).await?;
        self.ring_all(&mut transaction, &ringing(&steps), bell).await?;
        let mut claims = Vec::new();
        for ((asked, found), step) in ready.iter().zip(&steps) {
            let keying = asked.keying(found.marked);
            claims.extend(self.claim_at_once(&mut transaction, &step.job.id, keying, found.now).await?);
        }
        transaction.commit().await.doing(DOING)?;
        session.keep();
        self.wake_all(&steps);
        let made = made(&ready, &steps);
        Ok((answers(batch, found, opened, &made, &newest), claims))
    }

    /// The jobs of the revisions that are to be opened.
    fn jobs_of_ready(&self, ready: &[(&Asked, &Ready)], bell: Bell) -> (Vec<Step>, Written) {
        let Some((_, Ready { now, .. })) = ready.first() else { return Default::default() };
        let admitting: Vec<Admitting<'_>> =
            ready.iter().map(|(asked, found)| asked.admitting(found)).collect();
        let (steps, jobs) = self.jobs_of(&admitting, *now, bell);
        (steps, row::written(&jobs, *now, &self.policy))
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

    pub(super) fn is_shown(&self) -> bool {
        self.shown
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

    fn admitting(&self, found: &Ready) -> Admitting<'_> {
        Admitting {
            user: &self.user,
            conversation: &self.conversation,
            revision: found.revision,
            origin: Origin::Finalize,
            force_process: self.asker == Asker::Owner,
            requires_keys: self.keying(found.marked).required,
            first_epoch: found.first_epoch,
            trace: self.trace,
        }
    }

    fn keying(&self, marked: bool) -> Keying<'_> {
        Keying::of(marked, self.keys.as_ref().map(|claimant| WithKeys { claimant: claimant.as_ref() }))
    }
}

/// Those to be admitted: of two that ask for one conversation, the first.
fn ready<'a, 'f>(batch: &'a [Arc<Asked>], found: &'f [Found]) -> Vec<(&'a Asked, &'f Ready)> {
    let mut seen = HashSet::new();
    let ready = batch.iter().zip(found).filter_map(|(asked, found)| Some((asked.as_ref(), found.ready()?)));
    ready.filter(|(asked, _)| seen.insert(asked.about())).collect()
}

/// Opens the revisions of what is ready; the conversations as they stand then.
async fn open_all<'a>(
    connection: &mut PgConnection,
    ready: &[(&'a Asked, &Ready)],
    jobs: Written,
    rings: Rings,
) -> Result<Opened<'a>, Stumble> {
    if ready.is_empty() {
        return Ok(Opened::new());
    }
    let opened = open_revisions(connection, ready, jobs, rings).await.doing("opening revisions")?;
    if opened.len() < ready.len() {
        return Err(Stumble::Lost);
    }
    Ok(ready.iter().map(|(asked, _)| asked.about()).zip(opened).collect())
}

/// The jobs that were made of what was ready.
fn made<'a>(ready: &[(&'a Asked, &Ready)], steps: &'a [Step]) -> HashMap<About<'a>, JobId> {
    ready.iter().zip(steps).map(|((asked, _), step)| (asked.about(), step.job.id.clone())).collect()
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

/// The answers in the order of the batch: of two that ask for one conversation, both get the job that was made, and the
/// first gets what was read of it.
fn answers<'a>(
    batch: &'a [Arc<Asked>],
    found: Vec<Found>,
    mut opened: Opened<'a>,
    made: &HashMap<About<'_>, JobId>,
    newest: &HashMap<usize, JobId>,
) -> Vec<Finalized> {
    let answer = |(place, (asked, found)): (usize, (&'a Arc<Asked>, Found))| match found {
        Found::Nothing => Err(AdmitRefusal::NoConversation),
        Found::Empty => Err(AdmitRefusal::NoContent),
        Found::Full(over) => Err(AdmitRefusal::OverBudget(over)),
        Found::AsItIs => Ok(Answer { job: newest.get(&place).cloned(), fresh: false, seen: None }),
        Found::Ready(ready) => {
            let (job, row) = (made.get(&asked.about()).cloned(), opened.remove(&asked.about()));
            let fresh = row.is_some();
            let seen = row.filter(|_| asked.shown).and_then(|row| Seen::of_words(row, ready.segments));
            Ok(Answer { job, fresh, seen })
        }
    };
    batch.iter().zip(found).enumerate().map(answer).collect()
}
