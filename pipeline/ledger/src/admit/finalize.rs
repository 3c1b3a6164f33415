//! Finalizing persisted conversations: by their owners, or by the reconciler when they were abandoned. Admissions that
//! arrive at the same time share a commit.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use db::{Error, array, query_as, query_scalar};
use job::{JobId, Origin, Timestamp, WorkerId};
use records::{ConversationId, Status, UserId};
use serde_json::Value;
use sqlx::{FromRow, PgConnection};
use store::{ConversationView, views};
use trace::TraceContext;
use tracing::Instrument;

use super::{
    AdmitRefusal, Owner, WithKeys, admit_span, lock_conversation, of_meeting, open_revisions, owner,
    waiting_limit::WaitingLimit,
};
use crate::{
    Ledger, StoredJob,
    batcher::{Batched, Locks, only},
    effects::Abort,
    retry_conflicts,
};

const DOING: &str = "finalizing conversations";

#[derive(Clone, Debug, PartialEq)]
pub struct FinalizeOutcome {
    /// The job of the conversation's newest revision; `None`: it never had one.
    pub job: Option<JobId>,
    /// Whether this call made it.
    pub fresh: bool,
    /// The lease that was taken at once, for a request that brought keys.
    pub claimed: Option<StoredJob>,
    /// The conversation as the admission leaves it, with its transcript, where it is short: it was read in the same transaction.
    pub view: Option<Box<ConversationView>>,
}

impl FinalizeOutcome {
    fn of(job: Option<JobId>, fresh: bool) -> Self {
        Self { job, fresh, claimed: None, view: None }
    }
}

/// What a batch makes of a request.
pub(crate) type Finalized = Result<FinalizeOutcome, AdmitRefusal>;

/// The batch that admits a conversation that was made from at most so many bytes reads it, too. A longer one is read after the commit, so that the
/// other requests do not wait for it.
const SHORT: i64 = 16 * 1024;

#[derive(Clone)]
pub(crate) struct FinalizeRequest {
    user: UserId,
    conversation: ConversationId,
    calendar_meeting_context: Option<Value>,
    /// Only if its last append is 24 hours old, and without force_process: asked by the reconciler.
    only_abandoned: bool,
    /// The conversation is shown, with its transcript.
    shown: bool,
    /// The request brought its user's own keys; within, which worker takes the lease at once.
    keys: Option<Option<WorkerId>>,
    /// That of the caller: a batch is a task of its own.
    trace: Option<TraceContext>,
}

impl Ledger {
    /// Admits a persisted conversation (origin `finalize`, queue `finalization`, force_process true). Already
    /// processing or completed: unchanged, with its newest job if it has one. One live job per conversation.
    ///
    /// `keys` are those of a request that brought its user's own. A new job is then leased in the same transaction when a
    /// claimant is named; an older one is returned as it stands, and the process that holds the keys claims it by itself. Such
    /// requests are few and share no commit.
    ///
    /// # Errors
    /// When the database does not answer: it may be admitted all the same, and a repeat changes nothing. When the row cannot
    /// be read.
    pub async fn finalize(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        calendar_meeting_context: Option<Value>,
        keys: Option<WithKeys<'_>>,
    ) -> Result<Finalized, Error> {
        let request = FinalizeRequest {
            shown: keys.is_none(),
            keys: keys.map(|keys| keys.claimant.cloned()),
            ..FinalizeRequest::by_owner(user, conversation, calendar_meeting_context)
        };
        self.finalize_one(request).await
    }

    /// Admits one abandoned conversation (origin `finalize`, force_process false). Returns whether it was admitted.
    pub async fn admit_abandoned(&self, user: &UserId, conversation: &ConversationId) -> Result<bool, Error> {
        let request =
            FinalizeRequest { only_abandoned: true, ..FinalizeRequest::by_owner(user, conversation, None) };
        Ok(self.finalize_one(request).await?.is_ok_and(|outcome| outcome.fresh))
    }

    /// Admits in a batch. A request under an idempotency key shares no commit: its key may be taken, and only it would fail.
    async fn finalize_one(&self, request: FinalizeRequest) -> Result<Finalized, Error> {
        let span = admit_span();
        let request = Arc::new(FinalizeRequest { trace: span.in_scope(TraceContext::current), ..request });
        if self.db.has_request_key() || request.keys.is_some() {
            return only(self.db.in_time(self.finalize_all(&[request], Locks::Wait)).instrument(span).await);
        }
        let all = async |ledger: Self, batch: Vec<_>, locks| {
            ledger.db().in_time(ledger.finalize_all(&batch, locks)).await
        };
        self.admissions.run(self, request, all).instrument(span).await
    }

    async fn finalize_all(
        &self,
        batch: &[Arc<FinalizeRequest>],
        locks: Locks,
    ) -> Result<Vec<Batched<Finalized>>, Error> {
        match retry_conflicts!(DOING, self.try_finalize_all(batch, locks)).await {
            // A second session continues where one died: what the first try committed is found as it is.
            Err(error) if error.is_of_the_session() => {
                self.db.suspect_connections();
                retry_conflicts!(DOING, self.try_finalize_all(batch, locks)).await
            }
            admitted => admitted,
        }
    }

    /// One transaction: lock users and conversations, decide, write jobs and revisions. Returns an outcome for each request,
    /// in their order.
    async fn try_finalize_all(
        &self,
        batch: &[Arc<FinalizeRequest>],
        locks: Locks,
    ) -> Result<Vec<Batched<Finalized>>, Abort> {
        let mut transaction = match batch {
            [only] if self.db.has_request_key() => {
                self.db.begin_creating(&[only.conversation.as_str()]).await?.0
            }
            _ => self.db.begin_without_clock().await?,
        };
        if locks == Locks::Wait {
            wait_for_locks(&mut transaction, batch).await?;
        }
        let owners = lock_users(&mut transaction, batch).await?;
        let found = lock_conversations(&mut transaction, batch).await?;
        let newest = newest_jobs(&mut transaction, batch, &found).await?;
        let Some(now) = found.values().next().map(|conversation| conversation.now) else {
            return Ok(batch.iter().map(|_| nothing_found(locks)).collect());
        };
        let limited = found.keys().filter_map(|place| {
            let user = &batch[*place].user;
            Some((user, owners.get(user.as_str())?.limit_waiting_jobs.unwrap_or(self.budgets.waiting_jobs)))
        });
        let mut limit = WaitingLimit::of(&mut transaction, limited, &self.far_from_limit, now).await?;

        let mut admitted: HashSet<(&UserId, &ConversationId)> = HashSet::new();
        let (mut places, mut jobs): (Vec<usize>, Vec<StoredJob>) = (Vec::new(), Vec::new());
        let mut outcomes = Vec::with_capacity(batch.len());
        for (place, request) in batch.iter().enumerate() {
            let (Some(owner), Some(conversation)) = (owners.get(request.user.as_str()), found.get(&place))
            else {
                outcomes.push(nothing_found(locks));
                continue;
            };
            let owner = &owner.owner;
            outcomes.push(Batched::Done(match conversation.decide(request) {
                Decision::Refuse(refusal) => Err(refusal),
                Decision::LeaveAsItIs => Ok(FinalizeOutcome::of(newest.get(&place).cloned(), false)),
                Decision::Admit
                    if !admitted.contains(&(&request.user, &request.conversation))
                        && !request.only_abandoned
                        && let Err(over) = limit.take(&request.user) =>
                {
                    Err(AdmitRefusal::OverBudget(over))
                }
                Decision::Admit => {
                    let named = (&request.user, &request.conversation);
                    let (newest, keys) = (conversation.finalization_revision, request.keys());
                    let mut new = self.next_job(newest, named, Origin::Finalize, owner, keys, now);
                    new.job.force_process = !request.only_abandoned;
                    new.trace = request.trace;
                    let job = Some(new.job.id.clone());
                    // Of two requests for one conversation both get the job, and the first has made it.
                    let fresh = admitted.insert(named);
                    if fresh {
                        places.push(place);
                        jobs.push(new);
                    }
                    Ok(FinalizeOutcome::of(job, fresh))
                }
            }));
        }
        // What is refused holds no idempotency key.
        if self.db.has_request_key() && !matches!(outcomes.as_slice(), [Batched::Done(Ok(_))]) {
            return Ok(outcomes);
        }
        let meeting = |place: &usize| of_meeting(batch[*place].calendar_meeting_context.as_ref());
        let meetings: Vec<Option<Value>> = places.iter().map(meeting).collect();
        self.admit(&mut transaction, &jobs, now).await?;
        open_revisions(&mut transaction, &jobs, &meetings, now).await?;
        for (place, job) in places.iter().zip(&jobs) {
            let claimed = self.claim_at_once(&mut transaction, job, batch[*place].keys(), now).await?;
            if let Batched::Done(Ok(outcome)) = &mut outcomes[*place] {
                outcome.claimed = claimed;
            }
        }
        show(&mut transaction, batch, &found, &mut outcomes).await?;
        transaction.commit().await?;
        jobs.iter().for_each(|admitted| self.wake_workers(&admitted.job));
        Ok(outcomes)
    }
}

impl FinalizeRequest {
    fn by_owner(
        user: &UserId,
        conversation: &ConversationId,
        calendar_meeting_context: Option<Value>,
    ) -> Self {
        Self {
            user: user.clone(),
            conversation: conversation.clone(),
            calendar_meeting_context,
            only_abandoned: false,
            shown: false,
            keys: None,
            trace: None,
        }
    }

    fn keys(&self) -> Option<WithKeys<'_>> {
        self.keys.as_ref().map(|claimant| WithKeys { claimant: claimant.as_ref() })
    }
}

#[derive(FromRow)]
struct LockedConversation {
    place: i64,
    /// The database's clock.
    now: Timestamp,
    status: String,
    finalization_revision: i64,
    /// Of what it was made from.
    bytes: i64,
    is_abandoned: bool,
    has_content: bool,
}

enum Decision {
    Admit,
    /// Processing, completed, or not abandoned any more.
    LeaveAsItIs,
    Refuse(AdmitRefusal),
}

impl LockedConversation {
    fn decide(&self, request: &FinalizeRequest) -> Decision {
        let in_progress = self.status == Status::InProgress.as_str();
        let is_open = match request.only_abandoned {
            true => in_progress && self.is_abandoned,
            false => in_progress || self.status == Status::Failed.as_str(),
        };
        match (is_open, self.has_content) {
            (false, _) => Decision::LeaveAsItIs,
            (true, false) => Decision::Refuse(AdmitRefusal::NoContent),
            (true, true) => Decision::Admit,
        }
    }
}

/// Waits for the locks of a request that runs by itself, in the lock order: user, then conversation.
async fn wait_for_locks(connection: &mut PgConnection, batch: &[Arc<FinalizeRequest>]) -> Result<(), Error> {
    for request in batch {
        owner(connection, &request.user).await?;
        lock_conversation(connection, &request.user, &request.conversation).await?;
    }
    Ok(())
}

/// Of a conversation that is unknown, or locked.
fn nothing_found(locks: Locks) -> Batched<Finalized> {
    match locks {
        Locks::Wait => Batched::Done(Err(AdmitRefusal::NoConversation)),
        Locks::Skip => Batched::Locked,
    }
}

#[derive(FromRow)]
struct LockedUser {
    user_id: String,
    #[sqlx(flatten)]
    owner: Owner,
    /// How many of the user's jobs may wait, where that is not the service's own limit.
    limit_waiting_jobs: Option<i64>,
}

async fn lock_users(
    connection: &mut PgConnection,
    batch: &[Arc<FinalizeRequest>],
) -> Result<HashMap<String, LockedUser>, Error> {
    let users: HashSet<&str> = batch.iter().map(|request| request.user.as_str()).collect();
    let rows: Vec<LockedUser> = query_as!("admission/lock_users.sql", users.into_iter().collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    Ok(rows.into_iter().map(|user| (user.user_id.clone(), user)).collect())
}

/// The conversations of a batch, by the places of their requests.
async fn lock_conversations(
    connection: &mut PgConnection,
    batch: &[Arc<FinalizeRequest>],
) -> Result<HashMap<usize, LockedConversation>, Error> {
    let rows: Vec<LockedConversation> = query_as!(
        "admission/lock_conversations.sql",
        array(batch, |request| request.user.as_str()),
        array(batch, |request| request.conversation.as_str())
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().filter_map(|row| Some((usize::try_from(row.place).ok()?, row))).collect())
}

/// Reads the conversations that are shown, as the transaction leaves them. One that cannot be read is left out: its request asks
/// for it alone, and fails for a reason of its own.
async fn show(
    connection: &mut PgConnection,
    batch: &[Arc<FinalizeRequest>],
    found: &HashMap<usize, LockedConversation>,
    outcomes: &mut [Batched<Finalized>],
) -> Result<(), Error> {
    let is_short = |place| found.get(&place).is_some_and(|conversation| conversation.bytes <= SHORT);
    let is_done = |place: usize| matches!(outcomes[place], Batched::Done(Ok(_)));
    let places: Vec<usize> =
        (0..batch.len()).filter(|place| batch[*place].shown && is_short(*place) && is_done(*place)).collect();
    let named: Vec<_> =
        places.iter().map(|place| (&batch[*place].user, &batch[*place].conversation)).collect();
    for (nth, view) in views(connection, &named, true).await? {
        if let Batched::Done(Ok(outcome)) = &mut outcomes[places[nth]] {
            outcome.view = view.ok().map(Box::new);
        }
    }
    Ok(())
}

/// The newest jobs of conversations that stay as they are, by the places of their requests.
async fn newest_jobs(
    connection: &mut PgConnection,
    batch: &[Arc<FinalizeRequest>],
    found: &HashMap<usize, LockedConversation>,
) -> Result<HashMap<usize, JobId>, Error> {
    let places: Vec<usize> = found
        .iter()
        .filter(|(place, conversation)| matches!(conversation.decide(&batch[**place]), Decision::LeaveAsItIs))
        .map(|(place, _)| *place)
        .collect();
    if places.is_empty() {
        return Ok(HashMap::new());
    }
    let jobs: Vec<Option<String>> = query_scalar!(
        "admission/newest_jobs.sql",
        array(&places, |place| batch[*place].user.as_str()),
        array(&places, |place| batch[*place].conversation.as_str())
    )
    .fetch_all(connection)
    .await?;
    let job = |(place, job): (usize, Option<String>)| Some((place, JobId::from_text(job?)));
    Ok(places.into_iter().zip(jobs).filter_map(job).collect())
}
