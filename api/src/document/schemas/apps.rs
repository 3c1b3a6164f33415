//! Apps of third parties and their keys.

use serde_json::{Value, json};

use super::{list_of, object, one_of, text, text_or_null, time, time_or_null, truth};

/// The schemas of `shapes/app.rs`.
pub(super) fn schemas() -> Value {
    let mut made = app("An app that was just made.");
    made["properties"]["secret"] =
        text("`whsec_…`: calls of its tools and its webhooks are signed with it. Shown this once.");
    let mut key = app_key("A key that was just made.");
    key["properties"]["secret"] = text("`lak_…`: the key itself, shown this once.");
    json!({
        "App": app("An app of a third party."),
        "NewlyMadeApp": made,
        "AppTool": tool(),
        "AppKey": app_key("A key of an app; its text is not kept."),
        "NewlyMadeAppKey": key,
        "AppIds": { "type": "array", "items": { "type": "string" }, "description": "Ids of apps." },
        "AppStatus": object("Done.", json!({ "status": one_of("Always `ok`.", ["ok"]) }), &[]),
        "NotificationStatus": object("Done.", json!({ "status": one_of("Always `Ok`.", ["Ok"]) }), &[]),
    })
}

fn app(words: &str) -> Value {
    let uses = ["tool_calls", "conversations", "summaries", "chat_messages"];
    let strings =
        |words: &str| json!({ "type": "array", "items": { "type": "string" }, "description": words });
    let properties = json!({
        "id": text("Its id."),
        "name": text("What it is called."),
        "description": text("What it is for."),
        "visibility": one_of("Who sees it and may install it.", ["private", "public"]),
        "mine": truth("Whether it is the user's own."),
        "installed": truth("Whether the user has installed it."),
        "uses": {
            "type": "array", "items": one_of("One use.", uses),
            "description": "What it gets or does once it is installed: `tool_calls` (what the assistant sends to its tools, \
                with the user's id and location), `conversations` (every processed conversation), `summaries` (nothing leaves \
                the service but to its model), `chat_messages` (it writes into the user's chat).",
        },
        "sends_to": strings("Scheme and host of every server to which the user's words go."),
        "needs_model": truth("It writes summaries, which this service can do with a model alone, and it has none."),
        "home_url": text_or_null("What paths of its manifest are resolved against."),
        "manifest_url": text_or_null("Where its manifest is; shown to its owner."),
        "webhook_url": text_or_null("Where conversations are posted; shown to its owner."),
        "setup_url": text_or_null("Where a user connects to it."),
        "setup_completed_url": text_or_null("What says whether a user has; shown to its owner."),
        "summary_prompt": text_or_null("The prompt of the summary that it writes of every conversation."),
        "tools": list_of("AppTool"),
        "chat_messages": object("Whether and how it writes to its users.", json!({
            "enabled": truth("Whether it may."),
            "target": one_of("In which chat.", ["app", "main"]),
            "notify": truth("Whether a push is sent, too."),
        }), &[]),
        "manifest_fetched_at": time_or_null("When its manifest was fetched."),
        "failing_since": time_or_null("Since when its server has not answered."),
        "switched_off_reason": text_or_null("Why an operator switched it off."),
        "created_at": time("When it was made."),
        "updated_at": time("When it last changed."),
    });
    object(words, properties, &[])
}

fn tool() -> Value {
    object(
        "A tool that the assistant may call.",
        json!({
            "name": text("Its name."),
            "description": text("When and how to use it."),
            "method": one_of("How it is called.", ["GET", "POST", "PUT", "PATCH", "DELETE"]),
            "endpoint": text("Where; shown to its owner."),
            "parameters": { "type": "object", "description": "What it takes, as a JSON Schema." },
            "auth_required": truth("Whether the app must know the user first."),
            "status_message": text("Shown while it runs."),
        }),
        &["endpoint"],
    )
}

fn app_key(words: &str) -> Value {
    let properties = json!({
        "id": text("Its id."),
        "label": text("What its owner calls it."),
        "key_prefix": text("A hint by which its owner knows it again."),
        "created_at": time("When it was made."),
        "last_used_at": time_or_null("When it was last used, to the minute."),
        "revoked_at": time_or_null("When it was revoked."),
    });
    object(words, properties, &[])
}
