//! `/v4/listen` and `/v4/web/listen`: the live sockets (`docs/live.md`).

use std::time::Duration;

use axum::{
    extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    http::HeaderMap,
};
use live::{ClientFrame, CloseCode, ServerFrame};
use secrecy::SecretString;
use tokio::time::timeout;

use super::byok::{key_from, key_of};
use crate::{
    Access, Answer, Answered, AppState, Caller, Code, Endpoint, Error, Scope, Settings,
    keys::hash_of,
    live::{Actor, Asks, LARGEST_FRAME, Start, asks},
    read::{Note, Query, query},
    registry::Seat,
    takes,
};

/// How long a browser's session may take for its first message.
const FIRST_MESSAGE: Duration = Duration::from_secs(5);
/// A frame up to this size is read to be refused; a longer one is not read.
const LARGEST_READ: usize = 4 * LARGEST_FRAME;
/// What a client has not taken yet: a frame with all that a session stores at once, and answers to pings. Those of a client that
/// sends pings and reads nothing would grow without it until its socket is given up.
const MOST_UNSENT: usize = 8 * 1024 * 1024;
/// What a socket reads at once, and holds while it is idle: a quarter of a second of audio. A longer frame takes more while it lasts.
const READ_BUFFER: usize = 8 * 1024;
/// How many names of the user's people a recognizer gets.
const VOCABULARY: i64 = 100;

pub(super) fn endpoints(settings: &Settings) -> Vec<Endpoint> {
    let parameters = || takes(|fields| asks(fields, settings), PARAMETERS);
    let no_upgrade =
        || Answer::refusal(426, "Not a WebSocket request.", "This address takes WebSocket connections only");
    vec![
        Endpoint::get("/v4/listen", Scope::ConversationsWrite, listen)
            .named("listen", "Open a live session")
            .says(
                "A WebSocket: audio or transcripts in, segments out. The conversation is in progress from the first connection \
                 on, is resumed after a reconnect, and is processed after `conversation_timeout` seconds of silence, or by \
                 `POST /v1/conversations`. Whatever is wrong is answered before the upgrade. The frames are described in \
                 `/asyncapi.json`, and in `docs/live.md`.",
            )
            .takes_model_key()
            .query(parameters())
            .answers(Answer::bare(101, "The socket is open."))
            .answers(Answer::refusal(403, "The key lacks the scope, or is another user's.", Code::OtherUser.detail()))
            .answers(no_upgrade()),
        Endpoint::get("/v4/web/listen", Access::Open, web_listen)
            .named("listen_in_browser", "Open a live session from a browser")
            .says(
                "The same for browsers, which cannot set headers: the key comes in the first message, \
                 `{\"type\": \"auth\", \"token\": \"lsk_…\"}`, within 5 seconds.",
            )
            .query(parameters())
            .answers(Answer::bare(101, "The socket is open, and waits for the key."))
            .answers(no_upgrade())
            .answers(
                Answer::refusal(503, "The process has as many sockets as it may.", "No live session is free")
                    .with_header("Retry-After"),
            ),
    ]
}

const PARAMETERS: &[Note] = &[
    ("uid", "The user of the key.", ""),
    ("language", "What is spoken: a language tag; `multi` lets the engine decide.", "\"en\""),
    (
        "conversation_timeout",
        "Seconds of silence that end a conversation: 2 to 14400; -1 is four hours.",
        "120",
    ),
    (
        "codec",
        "How audio is encoded: 8-bit unsigned, 16-bit little-endian, G.711 µ-law, or one Opus packet in each frame.",
        "\"pcm8\"",
    ),
    ("sample_rate", "Samples per second.", "8000"),
    ("channels", "Two channels are two speakers.", "1"),
    ("source", "Where it comes from.", "\"phone\""),
    (
        "client_device_id",
        "The capture device: its conversation is resumed, unless another one is asked for by its id.",
        "",
    ),
    ("client_platform", "The client's platform.", ""),
    (
        "client_conversation_id",
        "A UUID: that conversation is resumed if it is in progress; else a new one gets this id if it is free. \
         An id that was used before resumes what came after it on the `client_device_id`, if that is given.",
        "",
    ),
    ("custom_stt", "`enabled`: the client recognizes speech itself and sends transcripts.", "\"disabled\""),
];

/// GET `/v4/listen`: the key is in the header. Every error is answered before the upgrade.
async fn listen(
    state: AppState,
    caller: Caller,
    headers: HeaderMap,
    parameters: Query,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Answered {
    let asks = query(&parameters, |fields| asks(fields, &state.settings))?;
    let own_key = key_of(&headers)?;
    if asks.uid != caller.user {
        return Err(Error::Refused(Code::OtherUser));
    }
    let upgrade = upgrade.map_err(|_| Error::Refused(Code::NoUpgrade))?;
    let key = hash_of(&headers).ok_or(Error::Refused(Code::NotAuthenticated))?;
    let live = &state.settings.live;
    let mut seat = live.live.enter(live.sessions).ok_or(Error::Refused(Code::NoSocketFree))?;
    if !seat.sit(&caller.user, live.sessions_per_user) {
        return Err(Error::Refused(Code::TooManySockets));
    }
    let start = start(state, caller, key, asks, own_key, seat).await?;
    Ok(bounded(upgrade).on_upgrade(async move |socket| {
        let (actor, events, actions) = Actor::begin(start);
        actor.serve(socket, events, actions).await;
    }))
}

/// GET `/v4/web/listen`: the key comes in the first message, because a browser cannot set headers.
async fn web_listen(
    state: AppState,
    parameters: Query,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Answered {
    let asks = query(&parameters, |fields| asks(fields, &state.settings))?;
    let upgrade = upgrade.map_err(|_| Error::Refused(Code::NoUpgrade))?;
    let live = &state.settings.live;
    let seat = live.live.enter_unknown(live.sessions).ok_or(Error::Refused(Code::NoSocketFree))?;
    Ok(bounded(upgrade).on_upgrade(async move |mut socket| {
        match admit(state, asks, seat, &mut socket).await {
            Ok(start) => {
                let let_in = Message::Text(ServerFrame::AuthResponse { success: true }.text().into());
                if socket.send(let_in).await.is_ok() {
                    let (actor, events, actions) = Actor::begin(start);
                    actor.serve(socket, events, actions).await;
                }
            }
            Err(code) => {
                let frame = CloseFrame { code: code.number(), reason: code.as_str().into() };
                let _ = timeout(FIRST_MESSAGE, socket.send(Message::Close(Some(frame)))).await;
            }
        }
    }))
}

fn bounded(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    let upgrade = upgrade.max_message_size(LARGEST_READ).max_frame_size(LARGEST_READ);
    upgrade.read_buffer_size(READ_BUFFER).max_write_buffer_size(MOST_UNSENT)
}

/// Reads the first message of a browser's session and lets it in, or says why not.
async fn admit(
    state: AppState,
    asks: Asks,
    mut permit: Seat,
    socket: &mut WebSocket,
) -> Result<Start, CloseCode> {
    let first = timeout(FIRST_MESSAGE, socket.recv()).await;
    let Ok(Some(Ok(Message::Text(text)))) = first else { return Err(CloseCode::Refused) };
    let Ok(ClientFrame::Auth { token, openai }) = ClientFrame::parse(&text) else {
        return Err(CloseCode::Refused);
    };
    let own_key = match openai.as_deref().map(key_from) {
        Some(None) => return Err(CloseCode::OwnKey),
        key => key.flatten(),
    };
    let state = state.of(state.directory.of_token(token.trim()).await);
    let (caller, key) = Caller::of_token(&token, &state).await.map_err(refused)?;
    if caller.require(Scope::ConversationsWrite).is_err() || asks.uid != caller.user {
        return Err(CloseCode::Refused);
    }
    if !permit.sit(&caller.user, state.settings.live.sessions_per_user) {
        return Err(CloseCode::Busy);
    }
    start(state, caller, key, asks, own_key, permit).await.map_err(refused)
}

/// What a browser's session is closed with, where a request would have got an answer.
fn refused(error: Error) -> CloseCode {
    match error {
        Error::Ledger(error) if error.is_passing() => CloseCode::Busy,
        Error::Refused(Code::Unavailable) | Error::Later(Code::TooManyRequests, _) => CloseCode::Busy,
        Error::Ledger(_) => CloseCode::Failed,
        _ => CloseCode::Refused,
    }
}

/// Reads what a session must know of its user. In time: no request waits for it where the key came in a message.
async fn start(
    state: AppState,
    caller: Caller,
    key: [u8; 32],
    asks: Asks,
    own_key: Option<SecretString>,
    seat: Seat,
) -> Result<Start, Error> {
    let read = async {
        let user = state.ledger.store().user(&caller.user).await?;
        let people = state.ledger.store().known_people(&caller.user, VOCABULARY, 0).await?;
        Ok::<_, db::Error>((user, people))
    };
    let (user, people) = state.ledger.db().in_time(read).await?;
    let user = user.ok_or(Error::Refused(Code::NotAuthenticated))?;
    let vocabulary = user.name.into_iter().chain(people.into_iter().map(|person| person.name)).collect();
    let requires_own_key = user.requires_byok;
    Ok(Start { state, caller, key, asks, own_key, requires_own_key, vocabulary, seat })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browser_session_is_asked_to_come_again_while_its_shard_is_away() {
        let away = [Error::Refused(Code::Unavailable), db::Error::Contended { doing: "looking" }.into()];
        assert!(away.into_iter().all(|error| refused(error) == CloseCode::Busy));
        assert_eq!(refused(Error::Refused(Code::NotAuthenticated)), CloseCode::Refused);
    }
}
