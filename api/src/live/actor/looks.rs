//! What a session looks up now and then: its key, whether its user must bring an own key by now, and the jobs that wait for
//! that key. One at a time, and beside the loop: a database that does not answer holds up no frame.

use futures::future::BoxFuture;
use job::JobId;
use live::CloseCode;
use tokio::time::{Duration, Instant};

use super::Actor;
use crate::completion::run_to_completion;

/// How often jobs that wait for this session's key are looked for, and how many are looked at.
const PARKED: Duration = Duration::from_secs(15);
const LOOKED_AT: i64 = 50;

/// What was seen.
pub(super) enum Looked {
    /// The session's key was revoked, or has expired.
    KeyIsGone,
    /// The user must bring an own key by now, and the session's speech is recognized under the service's.
    OwnKeyRequired,
    /// The oldest of the user's jobs that wait for keys.
    Parked(Vec<JobId>),
    /// Nothing to act on.
    Nothing,
}

impl Actor {
    /// When the next look is due.
    pub(super) fn next_look(&self) -> Instant {
        match self.operator.own_key {
            Some(_) => self.next_key.min(self.next_parked),
            None => self.next_key,
        }
    }

    /// Begins the look that is due.
    pub(super) fn look(&mut self) -> Option<BoxFuture<'static, Looked>> {
        let now = Instant::now();
        if now < self.next_look() {
            return None;
        }
        let ledger = self.state.ledger.clone();
        if now >= self.next_key {
            self.next_key = now + self.state.settings.live.key_checked_every;
            let (key, user, under_service_key) =
                (self.key, self.operator.user.clone(), self.under_service_key);
            Some(Box::pin(run_to_completion(async move {
                let read = async {
                    if ledger.store().key_owner(&key).await?.is_none() {
                        return Ok(Looked::KeyIsGone);
                    }
                    let user = if under_service_key { ledger.store().user(&user).await? } else { None };
                    Ok::<_, db::Error>(match user.is_some_and(|user| user.requires_byok) {
                        true => Looked::OwnKeyRequired,
                        false => Looked::Nothing,
                    })
                };
                ledger.db().in_time(read).await.unwrap_or(Looked::Nothing)
            })))
        } else {
            self.next_parked = now + PARKED;
            let user = self.operator.user.clone();
            Some(Box::pin(run_to_completion(async move {
                let parked = ledger.store().parked_jobs(&user, LOOKED_AT);
                ledger.db().in_time(parked).await.map_or(Looked::Nothing, Looked::Parked)
            })))
        }
    }

    pub(super) fn looked(&mut self, looked: Looked) {
        match looked {
            Looked::KeyIsGone => self.leave(CloseCode::Refused),
            Looked::OwnKeyRequired => self.audio_refused = true,
            Looked::Parked(jobs) => self.resume_parked(jobs),
            Looked::Nothing => {}
        }
    }

    /// Hands the session's key to the oldest of these jobs that has not had it yet.
    fn resume_parked(&mut self, parked: Vec<JobId>) {
        let Some(key) = self.operator.own_key.clone() else { return };
        let Some(job) = parked.into_iter().find(|job| !self.tried.contains(job)) else { return };
        if let Some(permit) = self.state.settings.keyed.permit(&self.operator.user) {
            self.tried.push(job.clone());
            permit.wait(job, key);
        }
    }
}
