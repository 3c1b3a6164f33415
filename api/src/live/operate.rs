//! What the session's machine asks of the ledger, carried out: each operation to its end, and again while the database
//! does not answer.

use std::{sync::Arc, time::Duration};

use job::WorkerId;
use ledger::{EndedBy, Ledger, LiveAdmission, WithKeys};
use live::{Action, Conversation, Event, Lost, Utterance};
use records::{ConversationId, Segment, UserId};
use secrecy::SecretString;
use store::{Appended, LiveLost, LiveUsage, NewLive, PhotoRefusal, SegmentIds};
use tracing::Instrument;

use super::pictures::Whole;
use crate::{
    ByokRuns, Error,
    completion::run_to_completion,
    ids::Ids,
    keyed::{admitted, ended_with_keys},
};

/// The first wait after a database that did not answer, and the longest.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The conversation that a socket owns.
#[derive(Clone, Debug)]
pub(super) struct Current {
    pub(super) id: ConversationId,
    pub(super) epoch: i64,
}

/// Who operates: a session, without its socket.
pub(super) struct Operator {
    pub(super) ledger: Arc<Ledger>,
    pub(super) user: UserId,
    pub(super) ids: Arc<dyn Ids>,
    pub(super) keyed: Arc<dyn ByokRuns>,
    pub(super) own_key: Option<SecretString>,
    /// What is opened; its `fresh_id` is made anew every time.
    pub(super) opens: NewLive,
}

/// What came of an operation.
pub(super) struct Outcome {
    /// For the machine.
    pub(super) event: Event,
    /// What is owned from now on.
    pub(super) opened: Option<(Current, bool)>,
    /// A job was made.
    pub(super) admitted: bool,
    /// Another socket has taken the conversation over. What was heard before is stored all the same.
    pub(super) superseded: bool,
}

impl From<Event> for Outcome {
    fn from(event: Event) -> Self {
        Self { event, opened: None, admitted: false, superseded: false }
    }
}

impl From<LiveLost> for Outcome {
    fn from(lost: LiveLost) -> Self {
        Event::Refused(match lost {
            LiveLost::Ended => Lost::Ended,
            LiveLost::Superseded => Lost::Superseded,
        })
        .into()
    }
}

impl Operator {
    /// Carries out an operation of the machine; [`Event::GaveUp`] when it never can be.
    /// What recognition has taken is noted first; that may fail.
    pub(super) async fn carry(
        self: Arc<Self>,
        current: Option<Current>,
        action: Action,
        usage: Option<LiveUsage>,
    ) -> Outcome {
        if let (Some(usage), Some(current)) = (usage, &current) {
            self.note(current, &usage).await;
        }
        let operator = Arc::clone(&self);
        let done = patiently(move || {
            let (operator, current, action) = (Arc::clone(&operator), current.clone(), action.clone());
            async move { operator.once(current, action).await }
        });
        done.await.unwrap_or_else(|| Event::GaveUp.into())
    }

    pub(super) async fn note(&self, Current { id, epoch }: &Current, usage: &LiveUsage) {
        let noted = self.ledger.store().note_live_usage(&self.user, id, *epoch, usage);
        if let Err(error) = self.ledger.db().in_time(noted).await {
            tracing::warn!(%error, "what the speech of a conversation took was not noted");
        }
    }

    async fn once(&self, current: Option<Current>, action: Action) -> Result<Outcome, Error> {
        let current = match (action, current) {
            (Action::Open, _) => return self.open().await,
            (action, Some(current)) => (action, current),
            (_, None) => return Ok(Event::GaveUp.into()),
        };
        let (ledger, user) = (&self.ledger, &self.user);
        Ok(match current {
            (Action::Append { segments, began_ago }, Current { id, epoch }) => {
                let ids = match segments.iter().any(|said| said.own_id) {
                    true => SegmentIds::OfClient,
                    false => SegmentIds::OfService,
                };
                let segments: Vec<Segment> = segments.iter().map(segment).collect();
                match ledger.store().append_live(user, &id, epoch, &segments, began_ago, ids).await? {
                    Ok(Appended::Stored(numbers)) => Event::Appended(numbers).into(),
                    Ok(Appended::StoredLate(numbers)) => {
                        Outcome { superseded: true, ..Event::Appended(numbers).into() }
                    }
                    Ok(Appended::Repeated) => Event::Repeated.into(),
                    Ok(Appended::Full) => Event::Full.into(),
                    Ok(Appended::OverBudget) => Event::OverBudget.into(),
                    Err(lost) => lost.into(),
                }
            }
            (Action::Renew, Current { id, epoch }) => {
                match ledger.store().renew_live(user, &id, epoch).await? {
                    Ok(()) => Event::Renewed.into(),
                    Err(LiveLost::Superseded) => Outcome { superseded: true, ..Event::Renewed.into() },
                    Err(lost) => lost.into(),
                }
            }
            (Action::Release, Current { id, epoch }) => {
                match ledger.store().close_live(user, &id, epoch).await? {
                    Ok(()) => Event::Released.into(),
                    Err(lost) => lost.into(),
                }
            }
            (Action::Admit, current) => match self.admit(current).await? {
                LiveAdmission::Admitted(_) => Outcome { admitted: true, ..Event::Admitted.into() },
                LiveAdmission::Superseded => Event::Refused(Lost::Superseded).into(),
                LiveAdmission::Ended | LiveAdmission::Empty | LiveAdmission::NotDue => Event::Admitted.into(),
            },
            _ => Event::GaveUp.into(),
        })
    }

    async fn open(&self) -> Result<Outcome, Error> {
        let fresh_id = ConversationId::new(self.ids.fresh().to_string());
        let new = NewLive { fresh_id, ..self.opens.clone() };
        let opened = self.ledger.store().open_live(&self.user, &new).await?;
        Ok(match opened {
            Some(live) => {
                let conversation = Conversation {
                    id: live.id.as_str().to_owned(),
                    began_ago: live.began_ago,
                    silent_for: live.silent_for,
                    pictured: live.pictured,
                };
                let current = Current { id: live.id, epoch: live.epoch };
                Outcome { opened: Some((current, live.resumed)), ..Event::Opened(conversation).into() }
            }
            None => Event::NoUser.into(),
        })
    }

    /// Ends the conversation, with the session's own key if there is one: this process then claims the job at once, or as
    /// soon as one of its keyed slots is free.
    async fn admit(&self, current: Current) -> Result<LiveAdmission, Error> {
        let span =
            tracing::info_span!(target: trace::TARGET, "live end", conversation_id = current.id.as_str());
        self.admit_now(current).instrument(span).await
    }

    async fn admit_now(&self, Current { id, epoch }: Current) -> Result<LiveAdmission, Error> {
        let by = EndedBy::Socket { epoch };
        let (ledger, user) = (&self.ledger, &self.user);
        let Some(key) = self.own_key.clone() else {
            return Ok(ledger.admit_live(user, &id, by, None).await?);
        };
        let Some(permit) = self.keyed.permit(user) else {
            // The job is parked, and this session resumes it later.
            return Ok(ledger.admit_live(user, &id, by, Some(WithKeys { claimant: None })).await?);
        };
        let user = user.clone();
        admitted(permit, ledger, key, async move |ledger: Ledger, claimant: Option<WorkerId>| {
            let keys = WithKeys { claimant: claimant.as_ref() };
            Ok(ended_with_keys(ledger.admit_live(&user, &id, by, Some(keys)).await?))
        })
        .await
    }

    /// Stores a picture; `None` when the database never takes it.
    pub(super) async fn picture(
        self: Arc<Self>,
        Current { id, epoch }: Current,
        photo: Arc<Whole>,
    ) -> Option<Result<(), PhotoRefusal>> {
        patiently(move || {
            let (operator, id, photo) = (Arc::clone(&self), id.clone(), Arc::clone(&photo));
            async move {
                let (ledger, user) = (&operator.ledger, &operator.user);
                Ok(ledger.store().add_live_photo(user, &id, epoch, (&photo.id, &photo.base64)).await?)
            }
        })
        .await
    }

    /// Notes who a speaker is; whether that was possible.
    pub(super) async fn assign(
        self: Arc<Self>,
        Current { id, epoch }: Current,
        assigned: store::AssignedSpeaker,
    ) -> Option<Result<bool, LiveLost>> {
        patiently(move || {
            let (operator, id, assigned) = (Arc::clone(&self), id.clone(), assigned.clone());
            async move {
                Ok(operator.ledger.store().assign_live_speaker(&operator.user, &id, epoch, &assigned).await?)
            }
        })
        .await
    }
}

/// Repeats `operation`, each time to its end, while the database does not answer; `None` when it refuses.
async fn patiently<T: Send + 'static, F>(operation: impl Fn() -> F) -> Option<T>
where
    F: Future<Output = Result<T, Error>> + Send + 'static,
{
    let mut wait = FIRST_WAIT;
    loop {
        match run_to_completion(operation()).await {
            Ok(done) => return Some(done),
            Err(Error::Ledger(error)) if error.is_passing() => {
                tracing::debug!(%error, "a live session waits for the database");
            }
            Err(error) => {
                tracing::error!(%error, "a live session's operation was refused");
                return None;
            }
        }
        tokio::time::sleep(wait).await;
        wait = LONGEST_WAIT.min(wait * 2);
    }
}

fn segment(said: &Utterance) -> Segment {
    Segment {
        id: Some(said.id.clone()),
        text: said.text.clone(),
        speaker: Some(said.speaker.clone()),
        speaker_id: None,
        is_user: said.is_user,
        person_id: said.person_id.clone(),
        start: said.start,
        end: said.end,
    }
}
