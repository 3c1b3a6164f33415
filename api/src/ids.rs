//! Identity and chance enter the API here, and nowhere else.

use uuid::Uuid;

/// Where fresh ids and secrets come from.
pub trait Ids: Send + Sync {
    /// A new UUID v7: sorts by the time at which it was made.
    fn fresh(&self) -> Uuid;

    /// 32 bytes that cannot be guessed.
    fn secret(&self) -> [u8; 32];
}

/// The process's own clock and random generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemIds;

impl Ids for SystemIds {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one state through which fresh identity enters the API"
    )]
    fn fresh(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn secret(&self) -> [u8; 32] {
        rand::random()
    }
}

/// The namespace of conversation ids that are derived from a client's own key. It may never change: a repeat of
/// an old create would otherwise make a second conversation.
const CLIENT_SESSIONS: Uuid = Uuid::from_u128(0x6d1f_5c5e_0b0a_5f0e_9a57_1e2c_7c51_4f8d);

/// The conversation id of (user, client_session_id): UUID v5, so that a repeat names the same conversation
/// (DECISIONS §3, "client_session_id").
pub fn of_client_session(user: &str, client_session_id: &str) -> Uuid {
    // Length first, so that no two pairs share their bytes.
    let name = format!("{}:{user}{client_session_id}", user.len());
    Uuid::new_v5(&CLIENT_SESSIONS, name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_session_id_maps_to_one_conversation_id() {
        let id = of_client_session("ann", "s1");
        assert_eq!(id, of_client_session("ann", "s1"));
        assert_eq!(id.get_version_num(), 5);
        assert_ne!(id, of_client_session("anns", "1"));
        assert_ne!(id, of_client_session("bob", "s1"));
    }
}
