//! The assistant's chat, search, and the MCP server.

use serde_json::json;

use crate::{
    Scope,
    document::{Answer, Described, Operation},
    read::Drawing,
    routes::{messages, search},
};

const TAG: &str = "Assistant";
const MESSAGES: &str = "/v2/messages";

/// Asking, and what was asked.
pub(super) fn operations() -> Vec<Operation> {
    vec![post(), list(), clear(), find()]
}

fn example() -> serde_json::Value {
    json!({
        "id": "0199c0de-7d31-7a55-8f0e-1f2d3c4b5a69", "created_at": "2026-11-20T10:00:00.000001Z", "sender": "ai",
        "text": "This is what I found:\n- Budget review (yesterday): \"The budget rises to 55,000.\"\n", "type": "text",
        "app_id": null, "app_name": null, "status": "completed",
        "sources": [{
            "id": "0199bf00-1111-7a55-8f0e-1f2d3c4b5a69", "kind": "conversation", "title": "Budget review",
            "created_at": "2026-11-19T08:30:00Z",
        }],
        "tools": [{"name": "search", "app_id": null, "ok": true, "millis": 12}],
        "engine": "embedded/7", "error": null,
    })
}

fn post() -> Operation {
    let query = Described::new(
        Drawing::of(messages::read_thread),
        &[("app_id", "The chat of this installed app; the main chat when it is left out.", "")],
    );
    let body = Described::new(
        Drawing::of(messages::read_message),
        &[
            ("text", "What is asked.", ""),
            (
                "id",
                "A name of the client's own: a repeat asks nothing again and answers with what came of it.",
                "",
            ),
        ],
    )
    .not_blank(&["text"]);
    Operation::new("post", MESSAGES, "post_message", TAG, "Ask the assistant")
        .says(
            "Answers with the reply in one body when the request has `Accept: application/json`, and else with a stream of \
             events (`text/event-stream`): `status` {text}, `tool` {name, app_id, state}, `text` {delta}, `error` {code, \
             detail}, and at the end `done` {message}. The turn goes on when the client hangs up; its reply is in the list \
             of messages. The assistant does what the key may do: each of its tools needs its own scope.",
        )
        .needs(Scope::ChatWrite)
        .query(query)
        .takes_keys()
        .body("NewMessage", body, json!({"text": "What did I talk about yesterday?"}))
        .answers(Answer::one("Message", "The reply.", example()).also_streamed())
        .not_found(messages::KIND)
        .answers(
            Answer::refusal(409, "Right, but not now.", "A turn is already running in this chat")
                .with_header("Retry-After"),
        )
}

fn list() -> Operation {
    let query = Described::new(
        Drawing::of(messages::read_list),
        &[
            ("app_id", "The chat of this app; the main chat when it is left out.", ""),
            ("limit", "At most this many.", "100"),
            ("before", "Only messages before this one.", ""),
        ],
    );
    Operation::new("get", MESSAGES, "list_messages", TAG, "List messages")
        .says("The newest messages of a chat, oldest first. `Link` with `next` leads to those before them.")
        .needs(Scope::ChatRead)
        .query(query)
        .answers(Answer::page("Message", example()))
}

fn clear() -> Operation {
    let query = Described::new(
        Drawing::of(messages::read_thread),
        &[("app_id", "The chat of this app; the main chat when it is left out.", "")],
    );
    Operation::new("delete", MESSAGES, "clear_messages", TAG, "Clear a chat")
        .says(
            "Removes all its messages for good. What the assistant wrote elsewhere (tasks, memories) stays.",
        )
        .needs(Scope::ChatWrite)
        .query(query)
        .answers(Answer::gone())
        .answers(
            Answer::refusal(409, "Right, but not now.", "A turn is already running in this chat")
                .with_header("Retry-After"),
        )
}

fn find() -> Operation {
    let query = Described::new(
        Drawing::of(search::read_search),
        &[
            ("q", "Words; \"double quotes\" keep words together, `or` and `-word` work.", ""),
            (
                "kinds",
                "Any of these kinds, separated by commas; all that the key may read when it is left out.",
                "",
            ),
            ("start_date", "Not before this moment.", ""),
            ("end_date", "Not after this moment; a date means the whole UTC day.", ""),
            ("limit", "At most this many.", "20"),
        ],
    )
    .not_blank(&["q"]);
    Operation::new("get", "/v1/dev/user/search", "search", TAG, "Search")
        .says(
            "Full text over conversations (by passages, which are shown word for word), memories and action items, best \
             first: what holds all words before what holds some. A conversation is found a moment after its processing.",
        )
        .needs(Scope::ConversationsRead)
        .query(query)
        .answers(Answer::all(
            "SearchResult",
            json!({
                "id": "0199bf00-1111-7a55-8f0e-1f2d3c4b5a69", "kind": "conversation", "title": "Budget review",
                "text": "Priya: The budget rises to 55,000.", "created_at": "2026-11-19T08:30:00Z", "complete": true,
            }),
        ))
}
