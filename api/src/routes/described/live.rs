//! The live sockets: their addresses. Their frames are in `docs/live.md`.

use crate::{
    Scope, Settings,
    document::{Answer, Described, Operation},
    live::asks,
    read::Drawing,
};

const TAG: &str = "Live audio";

/// The sockets.
pub(super) fn operations(settings: &Settings) -> Vec<Operation> {
    vec![listen(settings), web_listen(settings)]
}

fn listen(settings: &Settings) -> Operation {
    Operation::new("get", "/v4/listen", "listen", TAG, "Speak")
        .says(
            "A WebSocket: audio or transcripts in, segments out. The conversation is in progress from the first connection on, is \
             resumed after a reconnect, and is processed after `conversation_timeout` seconds of silence, or by \
             `POST /v1/conversations`. Whatever is wrong is answered before the upgrade. The frames are described in `/asyncapi.json`, and in `docs/live.md`.",
        )
        .needs(Scope::ConversationsWrite)
        .takes_keys()
        .query(parameters(settings))
        .answers(Answer::bare(101, "The socket is open."))
        .answers(no_upgrade())
}

fn web_listen(settings: &Settings) -> Operation {
    Operation::new("get", "/v4/web/listen", "listen_in_browser", TAG, "Speak from a browser")
        .says(
            "The same for browsers, which cannot set headers: the key comes in the first message, \
             `{\"type\": \"auth\", \"token\": \"lsk_…\"}`, within 5 seconds.",
        )
        .public()
        .query(parameters(settings))
        .answers(Answer::bare(101, "The socket is open, and waits for the key."))
        .answers(no_upgrade())
        .answers(
            Answer::refusal(503, "The process has as many sockets as it may.", "No live session is free")
                .with_header("Retry-After"),
        )
}

fn no_upgrade() -> Answer {
    Answer::refusal(426, "Not a WebSocket request.", "This address takes WebSocket connections only")
}

fn parameters(settings: &Settings) -> Described {
    Described::new(
        Drawing::of(|fields| asks(fields, settings)),
        &[
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
            ("client_device_id", "The capture device: its conversation is resumed.", ""),
            ("client_platform", "The client's platform.", ""),
            (
                "client_conversation_id",
                "A UUID: that conversation is resumed if it is in progress; else a new one gets this id if it is free.",
                "",
            ),
            (
                "custom_stt",
                "`enabled`: the client recognizes speech itself and sends transcripts.",
                "\"disabled\"",
            ),
        ],
    )
}
