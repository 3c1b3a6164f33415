//! Sessions that lie in the visitor's cookie alone, signed with a secret that lives as long as this process.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tokio::time::Instant;

/// The cookie's name.
pub(super) const COOKIE: &str = "console-session";
/// How long a session lasts.
pub(super) const LASTS: Duration = Duration::from_secs(12 * 60 * 60);

/// Makes and reads sessions. A restart ends all of them, and so does a change of keys, which needs one.
pub(super) struct Sessions {
    secret: [u8; 32],
    began: Instant,
}

/// What a session says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) name: String,
    pub(super) may_act: bool,
}

impl Sessions {
    /// Begins with `secret`, which nobody else may know.
    pub(super) fn new(secret: [u8; 32]) -> Self {
        Self { secret, began: Instant::now() }
    }

    /// The value of a cookie for this visitor.
    pub(super) fn open(&self, name: &str, may_act: bool) -> String {
        let role = if may_act { "operator" } else { "reader" };
        let until = (self.began.elapsed() + LASTS).as_secs();
        let said = format!("{until}|{role}|{name}");
        format!("{}.{}", URL_SAFE_NO_PAD.encode(&said), self.sign("session", &said))
    }

    /// Whose session it is; `None`: nobody's, or an old one.
    pub(super) fn read(&self, cookie: &str) -> Option<Session> {
        let (said, signature) = cookie.split_once('.')?;
        let said = String::from_utf8(URL_SAFE_NO_PAD.decode(said).ok()?).ok()?;
        if !self.is_signed("session", &said, signature) {
            return None;
        }
        let mut parts = said.splitn(3, '|');
        let until: u64 = parts.next()?.parse().ok()?;
        let may_act = parts.next()? == "operator";
        let name = parts.next()?.to_owned();
        (until > self.began.elapsed().as_secs()).then_some(Session { name, may_act })
    }

    /// The token that every form of this visitor's carries: nobody else's page can know it.
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
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_session_is_read_until_it_ends_and_by_its_maker_alone() {
        let sessions = Sessions::new([7; 32]);
        let cookie = sessions.open("ana", true);
        let ana = Some(Session { name: "ana".to_owned(), may_act: true });
        assert_eq!(sessions.read(&cookie), ana);
        assert_eq!(Sessions::new([8; 32]).read(&cookie), None, "another process's");
        let raised = URL_SAFE_NO_PAD.encode("999999|operator|ben");
        let signature = cookie.split_once('.').map(|(_, signature)| signature).unwrap_or_default();
        assert_eq!(sessions.read(&format!("{raised}.{signature}")), None, "signed for something else");
        for wrong in ["", ".", "a.b", &cookie[..cookie.len() - 2]] {
            assert_eq!(sessions.read(wrong), None, "{wrong}");
        }
        tokio::time::advance(LASTS).await;
        assert_eq!(sessions.read(&cookie), None, "its time is over");
    }

    #[tokio::test]
    async fn a_token_is_of_one_visit() {
        let sessions = Sessions::new([7; 32]);
        let token = sessions.token("one");
        assert!(sessions.is_token("one", &token));
        assert!(!sessions.is_token("two", &token));
        assert!(!sessions.is_token("one", ""));
        assert!(!sessions.is_token("one", &sessions.sign("session", "one")), "another use of the secret");
    }
}
