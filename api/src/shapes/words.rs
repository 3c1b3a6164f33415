//! Closed lists of words that answers hold, and some requests take. Each is a schema with a name of its own.

use std::borrow::Cow;

use job::ErrorClass as Classes;
use records::EventKind;
use records::{APPS, Category as Kind, GoalType as Goals, MemoryCategory as Memories, Source};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use store::AppVisibility as Visible;

use crate::{
    Code, Scope as Scopes, Settings,
    read::{Choice, Named, Take, named},
};

/// A closed list of words.
pub(crate) trait Words {
    /// Its name in the document.
    const NAME: &'static str;
    /// What its words are about.
    const ABOUT: &'static str;

    /// The same list in a request, read as `take` reads it.
    fn in_request<T: Take>(take: T) -> Named<T> {
        named(Self::NAME, Self::ABOUT, take)
    }
}

macro_rules! words {
    ($($name:ident, $about:literal, $list:expr;)*) => {$(
        #[doc = $about]
        #[derive(Debug)]
        pub(crate) enum $name {}

        impl Words for $name {
            const NAME: &'static str = stringify!($name);
            const ABOUT: &'static str = $about;
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                Self::NAME.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let words: Vec<&str> = $list.into_iter().collect();
                json_schema!({ "type": "string", "enum": words, "description": Self::ABOUT })
            }
        }
    )*};
}

words! {
    ConversationStatus, "The status of a conversation.", ["in_progress", "processing", "completed", "failed"];
    CreatedStatus, "The status of a conversation after a create: `processing` when it takes longer than the request waits; \
        `deleted` for a repeat of one that its owner deleted.",
        ["in_progress", "processing", "completed", "failed", "deleted"];
    Category, "The category of a conversation.", Kind::ALL.iter().map(|kind| kind.as_str());
    Visibility, "Who may see it.", ["private", "shared", "public"];
    MemoryCategory, "The kind of a memory.", Memories::ALL.iter().map(|kind| kind.as_str());
    MemoryVisibility, "Who may see a memory.", ["public", "private"];
    GoalType, "The kind of a goal; `boolean` uses 0 and 1.", Goals::ALL.iter().map(|kind| kind.as_str());
    JobStatus, "The status of a job: `blocked_byok` waits for a finalize that brings the user's own model key.",
        ["queued", "leased", "completed", "dead_letter", "blocked_byok"];
    JobOutcome, "How a completed job ended.", ["kept", "discarded", "withdrawn"];
    Scope, "What a key may do.", Scopes::ALL.iter().map(|scope| scope.as_str());
    WebhookEvent, "An event that an endpoint can subscribe to.", EventKind::ALL.iter().map(|event| event.as_str());
    WebhookFormat, "The whole conversation, ids and status, or (of an installed app's) the conversation without an envelope.",
        ["full", "thin", "bare"];
    DisabledReason, "Why an endpoint is disabled: by its owner, it answered 410, or five days of nothing but failures.",
        ["by_owner", "gone", "failing"];
    AudioDisabledReason, "Why audio is not posted: by its owner, it answered 410, or 100 failures in a row.",
        ["by_owner", "gone", "failing"];
    DeliveryStatus, "The status of a delivery.", ["pending", "sending", "delivered", "exhausted", "cancelled"];
    SubscriptionKind, "A browser or a webhook.", ["webpush", "webhook"];
    SummaryApp, "A summarization app.", APPS;
    AppVisibility, "Who sees an app and may install it: its owner alone, or every user of this instance.",
        Visible::ALL.iter().map(|one| one.as_str());
    AppUse, "One use of an app.", ["tool_calls", "conversations", "summaries", "chat_messages"];
    ToolMethod, "How a tool is called.", ["GET", "POST", "PUT", "PATCH", "DELETE"];
    ChatTarget, "In which chat an app writes.", ["app", "main"];
    MessageSender, "Who wrote a message.", ["human", "ai", "app"];
    MessageType, "What kind of message it is.", ["text"];
    MessageStatus, "How the turn of a message stands: of messages of people and apps always completed. `stopped`: the \
        process ended.", ["running", "completed", "failed", "stopped"];
    SourceKind, "What a reply rests on.", ["conversation", "action_item", "memory", "goal"];
    ErrorCode, "What went wrong, for programs.", Code::ALL.iter().map(|code| code.as_str());
    JobProgress, "The status of a job in short: `blocked_byok` is waiting, too.", ["waiting", "running", "done", "failed"];
    ErrorClass, "The answer of a model server, or its silence.", Classes::ALL.iter().map(|class| class.as_str());
    ConversationFilter, "A status of conversations: completed ones are those that are not discarded, `any` is every \
        conversation.", ["completed", "processing", "failed", "in_progress", "any"];
    SearchKind, "What was found.", ["conversation", "memory", "action_item"];
}

/// The sources that a request may name here: the generic ones and those of the vendors that the operator named.
pub(crate) fn sources(settings: &Settings) -> Named<Choice<&str, &str>> {
    let vendors = settings.vendor_sources.iter().map(String::as_str);
    let known = Source::GENERIC.into_iter().chain(vendors).map(|name| (name, name));
    named("Source", "Where a conversation comes from.", Choice::of(known))
}
