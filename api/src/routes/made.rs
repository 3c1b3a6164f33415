//! What a request made, as it is now: the answer to a repeat of a request whose first answer was lost with its
//! process (DECISIONS §3, "Idempotency-Key").

use records::{ConversationId, UserId};
use serde_json::Value;

use super::{create, keys, webhooks};
use crate::{Error, door::Door, shapes};

/// The answer that `route` gives for the things it made.
pub(crate) async fn made(door: &Door, user: &UserId, route: &str, ids: &[String]) -> Result<Value, Error> {
    let first = ids.first().map(String::as_str).unwrap_or_default();
    match route {
        "/v1/dev/user/webhooks" => {
            let found = door.ledger.endpoint(user, first).await?;
            Ok(shapes::endpoint(&found.ok_or(Error::NotFound(webhooks::KIND))?))
        }
        "/v1/dev/keys" => {
            let found = keys::find(door, user, first).await?;
            Ok(shapes::key(&found.ok_or(Error::NotFound(keys::KIND))?))
        }
        _ => create::present(door, user, &ConversationId::new(first)).await,
    }
}
