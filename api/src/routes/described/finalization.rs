//! Finalizing, and polling.

use serde_json::json;

use super::examples;
use crate::{
    Scope,
    document::{Answer, Described, Operation},
    error::Code,
    read::Drawing,
    routes::finalize,
};

const TAG: &str = "Finalization";

/// What happens to conversations that were stored first.
pub(super) fn operations() -> Vec<Operation> {
    vec![admit(), poll(), in_progress(), reprocess()]
}

fn admit() -> Operation {
    let answer = json!({ "conversation": examples::conversation(), "messages": [] });
    Operation::new(
        "post",
        "/v1/conversations/{conversation_id}/finalize",
        "finalize_conversation",
        TAG,
        "Finalize",
    )
    .says(
        "Admits a stored conversation into the outbox and answers as soon as that is committed. It is processed durably, \
         without being judged worth keeping first. A repeat changes nothing; one that failed is admitted anew.",
    )
    .needs(Scope::ConversationsWrite)
    .creates()
    .takes_keys()
    .optional_body("Finalize", context(), json!({ "calendar_meeting_context": { "title": "Stand-up" } }))
    .answers(
        Answer::one("Finalizing", "It is admitted, or was before.", answer)
            .with_header("Location")
            .leads_to("get_finalization", "conversation_id", "/conversation/id"),
    )
    .not_found("Conversation")
    .answers(
        Answer::refusal(
            503,
            "Durable dispatch is not configured (without `Retry-After`: repeating does not help), or the service is unavailable for \
             the moment. Nothing was changed.",
            Code::FinalizationUnavailable.detail(),
        )
        .with_header("Retry-After"),
    )
}

fn context() -> Described {
    Described::new(
        Drawing::of(finalize::read_context),
        &[
            (
                "calendar_meeting_context",
                "The meeting it was, as a calendar knows it: a title, names and an agenda help to understand what was said.",
                "",
            ),
            ("calendar_meeting_context.title", "Its title.", ""),
            ("calendar_meeting_context.start_time", "Planned start.", ""),
            ("calendar_meeting_context.duration_minutes", "Planned length, in minutes.", ""),
            ("calendar_meeting_context.platform", "Where it was held.", ""),
            ("calendar_meeting_context.participants", "Participants.", ""),
            ("calendar_meeting_context.participants.name", "A name.", ""),
            ("calendar_meeting_context.participants.email", "An address.", ""),
            ("calendar_meeting_context.notes", "Its agenda.", ""),
            ("calendar_meeting_context.meeting_link", "How to join.", ""),
        ],
    )
}

fn poll() -> Operation {
    Operation::new("get", "/v1/conversations/{conversation_id}/finalization", "get_finalization", TAG, "Poll")
        .says("The job of the newest revision. `Retry-After` says when to ask again, until it is terminal.")
        .needs(Scope::ConversationsRead)
        .conditional()
        .answers(
            Answer::one("FinalizationJob", "The state of the job.", examples::job())
                .with_header("Retry-After"),
        )
        .not_found("Conversation finalization job")
}

fn in_progress() -> Operation {
    let answer = json!({ "conversation": examples::conversation(), "messages": [] });
    Operation::new(
        "post",
        "/v1/conversations",
        "process_conversation_in_progress",
        TAG,
        "Process what is in progress",
    )
    .says(
        "Ends the conversation that is in progress, the one that was active last if there are several. Of a live one, what was \
         said is stored first.",
    )
    .needs(Scope::ConversationsWrite)
    .creates()
    .takes_keys()
    .optional_body("Finalize", context(), json!({}))
    .answers(Answer::one("Finalizing", "Admitted.", answer).with_header("Location"))
    .not_found("Conversation in progress")
}

fn reprocess() -> Operation {
    Operation::new(
        "post",
        "/v1/conversations/{conversation_id}/reprocess",
        "reprocess_conversation",
        TAG,
        "Process again",
    )
    .says(
        "Processes a completed or failed conversation anew, and waits for that like a create. Until it is done, a completed \
         one is shown with its old results; what a person has touched stays.",
    )
    .needs(Scope::ConversationsWrite)
    .creates()
    .takes_keys()
    .answers(Answer::one("Conversation", "As it is now.", examples::conversation()).with_header("Location"))
    .not_found("Conversation")
    .conflict("Conversation is still in progress: finalize it first")
    .conflict("This user's conversations are processed with the user's own keys only")
}
