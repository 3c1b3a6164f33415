//! A user's own model keys that come with a request (DECISIONS §4, "BYOK keys"). They are read here, handed to the
//! keyed runs of this process together with the job, and kept nowhere else.

use axum::http::{HeaderMap, HeaderName};
use futures::future::BoxFuture;
use job::{JobId, WorkerId};
use ledger::{CreateOutcome, Ledger, NewConversation, WithKeys};
use records::{ConversationId, Status, UserId};
use secrecy::SecretString;

use crate::{AppState, ByokPermit, Code, Error, Problem, keyed::admitted};

const NAME: &str = "x-byok-openai";
const OPENAI: HeaderName = HeaderName::from_static(NAME);
/// No provider's key comes near this length.
const LONGEST: usize = 512;

/// The key that the request brings, if it brings one.
///
/// # Errors
/// [`Error::Invalid`] for one that no provider can be sent; the answer does not repeat it.
pub(crate) fn key_of(headers: &HeaderMap) -> Result<Option<SecretString>, Error> {
    let mut sent = headers.get_all(OPENAI).iter();
    let Some(first) = sent.next() else { return Ok(None) };
    let key = first.to_str().ok().and_then(key_from);
    if key.is_none() || sent.next().is_some() {
        let loc = vec!["header".into(), NAME.into()];
        let text = "the header must hold one key of 1 to 512 visible ASCII characters";
        return Err(Error::Invalid(vec![Problem::rule(loc, text)]));
    }
    Ok(key)
}

/// A key that a provider can be sent; `None` for any other text.
pub(crate) fn key_from(text: &str) -> Option<SecretString> {
    let key = text.trim();
    let is_key = (1..=LONGEST).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    is_key.then(|| SecretString::from(key.to_owned()))
}

/// A permit for a run with own keys, taken before anything is changed.
///
/// # Errors
/// [`Code::ByokRunsFull`].
pub(super) fn permit(state: &AppState, user: &UserId) -> Result<Box<dyn ByokPermit>, Error> {
    state.settings.keyed.permit(user).ok_or(Error::Refused(Code::ByokRunsFull))
}

/// Creates a conversation whose job runs with `key`, or resumes the parked job of a repeat.
///
/// # Errors
/// [`Code::ByokRunsFull`], and when the database does not answer.
pub(super) async fn create(
    state: &AppState,
    user: &UserId,
    new: NewConversation,
    key: SecretString,
) -> Result<CreateOutcome, Error> {
    let permit = match permit(state, user) {
        Ok(permit) => permit,
        // Nothing runs before its finalize, which brings keys of its own. Where it is a repeat, and what it made before has failed
        // since, the job that is admitted again waits for keys.
        Err(_) if new.deferred => {
            let unclaimed = WithKeys { claimant: None };
            return Ok(state.ledger.create_conversation(user, new, Some(unclaimed)).await?);
        }
        Err(full) => return Err(full),
    };
    let user = user.clone();
    admitted(permit, &state.ledger, key, async move |ledger: Ledger, claimant: Option<WorkerId>| {
        let id = new.id.clone();
        let keys = WithKeys { claimant: claimant.as_ref() };
        let mut outcome = ledger.create_conversation(&user, new, Some(keys)).await?;
        let (job, claimed) = match &mut outcome {
            CreateOutcome::Admitted(admitted) => {
                (Some(admitted.job_id.clone()), admitted.claimed.take().map(|claimed| *claimed))
            }
            CreateOutcome::Known(known) if known.status == Status::Processing => {
                (live_job(&ledger, &user, &id).await?, None)
            }
            CreateOutcome::Known(_) | CreateOutcome::Deferred(_) | CreateOutcome::Deleted => (None, None),
        };
        Ok((outcome, job, claimed))
    })
    .await
}

/// Hands the key that a repeat under a name brings to the job of what the first request made, which may wait for it. Answers are
/// given again without asking a handler; keys must not be lost with it.
pub(super) fn resume<'a>(
    state: &'a AppState,
    user: &'a UserId,
    made: &'a ConversationId,
    headers: &'a HeaderMap,
) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        let Some(key) = key_of(headers)? else { return Ok(()) };
        if let Some(job) = live_job(&state.ledger, user, made).await? {
            permit(state, user)?.wait(job, key);
        }
        Ok(())
    })
}

async fn live_job(ledger: &Ledger, user: &UserId, id: &ConversationId) -> Result<Option<JobId>, Error> {
    let newest = ledger.poll(user, id).await?;
    Ok(newest.map(|poll| poll.stored.job).filter(|job| !job.state.is_terminal()).map(|job| job.id))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use axum::http::HeaderValue;
    use secrecy::ExposeSecret;

    use super::*;

    fn headers(values: &[&[u8]]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(OPENAI, HeaderValue::from_bytes(value).unwrap());
        }
        headers
    }

    #[test]
    fn byok_key_is_read_unchanged_and_may_be_absent() {
        assert!(key_of(&HeaderMap::new()).unwrap().is_none());
        let key = key_of(&headers(&[b"sk-Abc_123"])).unwrap().unwrap();
        assert_eq!(key.expose_secret(), "sk-Abc_123");
        assert!(!format!("{key:?}").contains("Abc"));
    }

    #[test]
    fn byok_key_that_no_header_can_hold_is_refused_without_repeating_it() {
        let long = vec![b'k'; LONGEST + 1];
        for wrong in
            [&[b"".as_slice()][..], &[b"  "], &[b"sk two"], &[b"sk-\xfc"], &[&long], &[b"sk-1", b"sk-2"]]
        {
            let Err(Error::Invalid(problems)) = key_of(&headers(wrong)) else { unreachable!("{wrong:?}") };
            let shown = problems[0].shape().to_string();
            assert!(shown.contains("x-byok-openai") && !shown.contains("sk"), "{shown}");
        }
    }
}
