//! Sessions lie in the visitor's cookie, signed with a secret that lives as long as this process. Which of them were signed out
//! of is kept in memory until they would have expired.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use parking_lot::Mutex;
use sha2::Sha256;
use tokio::time::Instant;

/// The cookie's name.
pub(super) const COOKIE: &str = "console-session";
/// How long a session lasts.
pub(super) const LASTS: Duration = Duration::from_secs(12 * 60 * 60);

/// How many sessions are remembered as signed out of. Beyond it all that were opened so far end.
const REMEMBERED: usize = 10_000;

/// Makes, reads and ends sessions. A restart ends all of them, and so does a change of keys, which needs one.
pub(super) struct Sessions {
    secret: [u8; 32],
    began: Instant,
    /// The id of the next session.
    next: AtomicU64,
    ended: Mutex<Ended>,
}

/// The sessions that were signed out of.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// When they would expire, by their ids.
    ids: BTreeMap<u64, u64>,
    /// All that have a smaller id.
    before: u64,
}

impl Ended {
    fn has(&self, id: u64) -> bool {
        id < self.before || self.ids.contains_key(&id)
    }
}

/// What a session says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Session {
    id: u64,
    until: u64,
    pub(super) name: String,
    pub(super) may_act: bool,
}

impl Sessions {
    /// Begins with `secret`, which no other process may know.
    pub(super) fn new(secret: [u8; 32]) -> Self {
        let (next, ended) = (AtomicU64::new(0), Mutex::default());
        Self { secret, began: Instant::now(), next, ended }
    }

    /// The value of a cookie for this visitor.
    pub(super) fn open(&self, name: &str, may_act: bool) -> String {
        let role = if may_act { "operator" } else { "reader" };
        let until = (self.began.elapsed() + LASTS).as_secs();
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let said = format!("{id}|{until}|{role}|{name}");
        format!("{}.{}", URL_SAFE_NO_PAD.encode(&said), self.sign("session", &said))
    }

    /// Whose session it is; `None`: not a session of this process, expired, or signed out of.
    pub(super) fn read(&self, cookie: &str) -> Option<Session> {
        let (said, signature) = cookie.split_once('.')?;
        let said = String::from_utf8(URL_SAFE_NO_PAD.decode(said).ok()?).ok()?;
        if !self.is_signed("session", &said, signature) {
            return None;
        }
        let mut parts = said.splitn(4, '|');
        let id = parts.next()?.parse().ok()?;
        let until: u64 = parts.next()?.parse().ok()?;
        let may_act = parts.next()? == "operator";
        let name = parts.next()?.to_owned();
        let is_open = until > self.began.elapsed().as_secs() && !self.ended.lock().has(id);
        is_open.then_some(Session { id, until, name, may_act })
    }

    /// Ends a session: copies of its cookie are refused from now on.
    pub(super) fn end(&self, session: &Session) {
        let now = self.began.elapsed().as_secs();
        let mut ended = self.ended.lock();
        ended.ids.retain(|_, until| *until > now);
        if ended.ids.len() >= REMEMBERED {
            ended.ids.clear();
            ended.before = self.next.load(Ordering::Relaxed);
        }
        ended.ids.insert(session.id, session.until);
    }

    /// The token that every form of this visitor's carries: no other site's page can know it.
    pub(super) fn token(&self, visit: &str) -> String {
        self.sign("form", visit)
    }

    /// Whether a form carried the token of this visitor.
    pub(super) fn is_token(&self, visit: &str, token: &str) -> bool {
        self.is_signed("form", visit, token)
    }

    fn sign(&self, label: &str, text: &str) -> String {
        self.mac(label, text)
            .map(|mac| URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
            .unwrap_or_default()
    }

    fn is_signed(&self, label: &str, text: &str, signature: &str) -> bool {
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap_or_default();
        self.mac(label, text).is_some_and(|mac| mac.verify_slice(&signature).is_ok())
    }

    /// HMAC takes a key of any length, so there always is one.
    fn mac(&self, label: &str, text: &str) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).ok()?;
        mac.update(label.as_bytes());
        mac.update(&[0]);
        mac.update(text.as_bytes());
        Some(mac)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn session_is_valid_until_expiry_and_for_its_signer_only() {
        let sessions = Sessions::new([7; 32]);
        let cookie = sessions.open("ana", true);
        let until = LASTS.as_secs();
        let ana = Some(Session { id: 0, until, name: "ana".to_owned(), may_act: true });
        assert_eq!(sessions.read(&cookie), ana);
        assert_eq!(Sessions::new([8; 32]).read(&cookie), None, "another process's");
        let raised = URL_SAFE_NO_PAD.encode("0|999999|operator|ben");
        let signature = cookie.split_once('.').map(|(_, signature)| signature).unwrap_or_default();
        assert_eq!(sessions.read(&format!("{raised}.{signature}")), None, "signed for something else");
        for wrong in ["", ".", "a.b", &cookie[..cookie.len() - 2]] {
            assert_eq!(sessions.read(wrong), None, "{wrong}");
        }
        tokio::time::advance(LASTS).await;
        assert_eq!(sessions.read(&cookie), None, "its time is over");
    }

    #[tokio::test(start_paused = true)]
    async fn session_is_refused_after_sign_out_and_others_are_not() {
        let sessions = Sessions::new([7; 32]);
        let (one, other) = (sessions.open("ana", true), sessions.open("ana", true));
        assert_ne!(one, other, "signed in twice within a second");
        let session = sessions.read(&one).unwrap();
        sessions.end(&session);
        assert_eq!(sessions.read(&one), None);
        assert!(sessions.read(&other).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn session_sign_outs_are_forgotten_at_expiry_and_never_valid_again() {
        let sessions = Sessions::new([7; 32]);
        let sign_out = || {
            let cookie = sessions.open("ana", true);
            sessions.end(&sessions.read(&cookie).unwrap());
            cookie
        };
        let first = sign_out();
        let untouched = sessions.open("ana", true);
        for _ in 1..REMEMBERED {
            sign_out();
        }
        assert!(sessions.read(&untouched).is_some());
        sign_out();
        assert_eq!(sessions.ended.lock().ids.len(), 1, "the memory is bounded");
        assert_eq!(sessions.read(&first), None);
        assert_eq!(sessions.read(&untouched), None, "rather one session too many ends than one too few");
        assert!(sessions.read(&sessions.open("ana", true)).is_some());
        tokio::time::advance(LASTS).await;
        sign_out();
        assert_eq!(sessions.ended.lock().ids.len(), 1);
    }

    #[tokio::test]
    async fn form_token_is_bound_to_its_session() {
        let sessions = Sessions::new([7; 32]);
        let token = sessions.token("one");
        assert!(sessions.is_token("one", &token));
        assert!(!sessions.is_token("two", &token));
        assert!(!sessions.is_token("one", ""));
        assert!(!sessions.is_token("one", &sessions.sign("session", "one")), "another use of the secret");
    }
}
