//! `/v4/listen` and `/v4/web/listen`: the live sockets (`docs/live.md`).

use std::time::Duration;

use axum::{
    extract::{
        State,
        ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    },
    http::HeaderMap,
    response::Response,
};
use live::{ClientFrame, CloseCode, ServerFrame};
use secrecy::SecretString;
use tokio::time::timeout;

use super::byok::{key_from, key_of};
use crate::{
    Error, Scope,
    door::Door,
    keys::{Caller, hash_of},
    live::{Actor, Asks, LARGEST_FRAME, Seat, Start, asks},
    read::{Query, query},
};

/// How long a browser's session may take for its first message.
const FIRST_MESSAGE: Duration = Duration::from_secs(5);
/// A frame up to this size is read to be refused; a longer one is not read.
const LARGEST_READ: usize = 4 * LARGEST_FRAME;
/// How many names of the user's people a recognizer gets.
const VOCABULARY: i64 = 100;

/// GET `/v4/listen`: the key is in the header. Everything that is wrong is said before the upgrade.
pub(super) async fn listen(
    State(door): State<Door>,
    caller: Caller,
    headers: HeaderMap,
    parameters: Query,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Error> {
    caller.require(Scope::ConversationsWrite)?;
    let asks = query(&parameters, |fields| asks(fields, &door.settings))?;
    let own_key = key_of(&headers)?;
    if asks.uid != caller.user {
        return Err(Error::OtherUser);
    }
    let upgrade = upgrade.map_err(|_| Error::NoUpgrade)?;
    let key = hash_of(&headers).ok_or(Error::NotAuthenticated)?;
    let live = &door.settings.live;
    let mut seat = live.live.enter(live.sessions).ok_or(Error::NoSocketFree)?;
    if !seat.sit(&caller.user, live.sessions_per_user) {
        return Err(Error::TooManySockets);
    }
    let start = start(door, caller, key, asks, own_key, seat).await?;
    Ok(bounded(upgrade).on_upgrade(async move |socket| {
        let (actor, events, actions) = Actor::begin(start);
        actor.serve(socket, events, actions).await;
    }))
}

/// GET `/v4/web/listen`: the key comes in the first message, because a browser cannot set headers.
pub(super) async fn web_listen(
    State(door): State<Door>,
    parameters: Query,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Error> {
    let asks = query(&parameters, |fields| asks(fields, &door.settings))?;
    let upgrade = upgrade.map_err(|_| Error::NoUpgrade)?;
    let live = &door.settings.live;
    let seat = live.live.enter(live.sessions).ok_or(Error::NoSocketFree)?;
    Ok(bounded(upgrade).on_upgrade(async move |mut socket| {
        match admit(door, asks, seat, &mut socket).await {
            Ok(start) => {
                let let_in = Message::Text(ServerFrame::Authenticated.text().into());
                if socket.send(let_in).await.is_ok() {
                    let (actor, events, actions) = Actor::begin(start);
                    actor.serve(socket, events, actions).await;
                }
            }
            Err(code) => {
                let frame = CloseFrame { code: code.number(), reason: code.reason().into() };
                let _ = timeout(FIRST_MESSAGE, socket.send(Message::Close(Some(frame)))).await;
            }
        }
    }))
}

fn bounded(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade.max_message_size(LARGEST_READ).max_frame_size(LARGEST_READ)
}

/// Reads the first message of a browser's session and lets it in, or says why not.
async fn admit(door: Door, asks: Asks, mut permit: Seat, socket: &mut WebSocket) -> Result<Start, CloseCode> {
    let first = timeout(FIRST_MESSAGE, socket.recv()).await;
    let Ok(Some(Ok(Message::Text(text)))) = first else { return Err(CloseCode::Refused) };
    let Ok(ClientFrame::Auth { token, openai }) = ClientFrame::parse(&text) else {
        return Err(CloseCode::Refused);
    };
    let own_key = match openai.as_deref().map(key_from) {
        Some(None) => return Err(CloseCode::OwnKey),
        key => key.flatten(),
    };
    let (caller, key) = Caller::of_token(&token, &door).await.map_err(refused)?;
    if caller.require(Scope::ConversationsWrite).is_err() || asks.uid != caller.user {
        return Err(CloseCode::Refused);
    }
    if !permit.sit(&caller.user, door.settings.live.sessions_per_user) {
        return Err(CloseCode::Busy);
    }
    start(door, caller, key, asks, own_key, permit).await.map_err(refused)
}

/// What a browser's session is closed with, where a request would have got an answer.
fn refused(error: Error) -> CloseCode {
    match error {
        Error::Ledger(error) if error.is_passing() => CloseCode::Busy,
        Error::TooManyRequests { .. } => CloseCode::Busy,
        Error::Ledger(_) => CloseCode::Failed,
        _ => CloseCode::Refused,
    }
}

/// Reads what a session must know of its user.
async fn start(
    door: Door,
    caller: Caller,
    key: [u8; 32],
    asks: Asks,
    own_key: Option<SecretString>,
    seat: Seat,
) -> Result<Start, Error> {
    let user = door.ledger.store().user(&caller.user).await?.ok_or(Error::NotAuthenticated)?;
    let people = door.ledger.store().known_people(&caller.user, VOCABULARY, 0).await?;
    let vocabulary = user.name.into_iter().chain(people.into_iter().map(|person| person.name)).collect();
    let requires_own_key = user.requires_byok;
    Ok(Start { door, caller, key, asks, own_key, requires_own_key, vocabulary, seat })
}
