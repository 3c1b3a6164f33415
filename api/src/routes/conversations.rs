//! `P/conversations`: reading, changing, deleting.

use axum::{Json, http::HeaderMap, response::IntoResponse};
use records::{Category, ConversationId, FolderId, UserId};
use serde_json::json;
use store::{ConversationChange, ConversationFilter, ConversationView, DatePage, StatusFilter};

use super::{answer, links, path::Ids, tagged};
use crate::{
    Answer, Answered, AppState, Caller, Endpoint, Error, Scope,
    endpoint::CURSOR,
    read::{
        Body, Bool, Choice, CommaSeparated, Fields, Named, Note, Page, Query, Text, cursor, date_range,
        object, page, query,
    },
    shapes::{self, Words, words},
    state::Refused,
    takes,
};

pub(super) const KIND: &str = "Conversation";

const ALL: &str = "/v1/dev/user/conversations";
const ONE: &str = "/v1/dev/user/conversations/{conversation_id}";

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get(ALL, Scope::ConversationsRead, list)
            .named("list_conversations", "List conversations")
            .says(
                "Newest first; completed and not discarded ones, unless `status` asks for others. After a restart, a client finds \
                 with `status=processing` and `status=failed` what it has to wait for or finalize again.",
            )
            .query(takes(read_filter, FILTER))
            .answers(Answer::page::<shapes::Conversation<'_>>()),
        Endpoint::get(ONE, Scope::ConversationsRead, one)
            .named("get_conversation", "Read a conversation")
            .says("Conversations of every status, discarded ones too.")
            .conditional()
            .query(takes(read_depth, &[TRANSCRIPT, ("include_photos", "With `photos`.", "false")]))
            .answers(Answer::one::<shapes::Conversation<'_>>("The conversation."))
            .not_found(KIND),
        Endpoint::patch(ONE, Scope::ConversationsWrite, change)
            .named("update_conversation", "Change a conversation")
            .says("At least one field. What the user has set stays, also when the conversation is processed anew.")
            .body("ConversationChange", takes(read_change, CHANGE), json!({ "title": "Dentist", "starred": true }))
            .answers(Answer::one::<shapes::Conversation<'_>>("As it is now."))
            .not_found(KIND)
            .not_found("Folder"),
        Endpoint::delete(ONE, Scope::ConversationsWrite, delete)
            .named("delete_conversation", "Delete a conversation")
            .says(
                "For good, with its segments, photos, the action items and memories heard in it, and webhooks that are not \
                 delivered yet. A run in progress is withdrawn.",
            )
            .answers(Answer::one::<shapes::Success>("Deleted."))
            .not_found(KIND),
    ]
}

async fn list(state: AppState, caller: Caller, parameters: Query) -> Answered {
    let (page, filter) = query(&parameters, read_filter)?;
    let reserve = |bytes| match filter.with_transcript {
        // The answer is reserved when it is written.
        true => caller.account.hold_for_answer(bytes),
        false => caller.account.hold_for_list(bytes),
    };
    let found = state.ledger.store().conversations_within(&caller.user, &filter, reserve).await?;
    let views = found.map_err(Refused::of_page)?;
    let shape = |view| shapes::conversation(view, filter.with_transcript);
    match filter.with_transcript {
        true => links::answer_within(&caller.account, &parameters.uri, page, &views, shape),
        false => Ok(links::answer(&parameters.uri, page, &views, shape)),
    }
}

const TRANSCRIPT: Note = ("include_transcript", "With `transcript_segments`.", "false");

const FILTER: &[Note] = &[
    ("limit", "Maximum number of results.", "25"),
    ("offset", "Number of results to skip.", "0"),
    ("start_date", "Created at or after this moment; of a date, its whole UTC day.", ""),
    ("end_date", "Created at or before this moment; of a date, its whole UTC day.", ""),
    TRANSCRIPT,
    ("categories", "Any of these categories, separated by commas.", ""),
    ("folder_id", "Filed in this folder.", ""),
    ("starred", "Only starred, or only other ones; all by default.", ""),
    (
        "status",
        "Conversations of this status: completed ones are those that are not discarded, `any` is every conversation.",
        "\"completed\"",
    ),
    CURSOR,
];

fn read_filter(fields: &mut Fields<'_>) -> Option<(Page, ConversationFilter)> {
    let page = page(fields, 25, 100);
    let (start, end) = date_range(fields);
    let with_transcript = fields.present("include_transcript", Bool).unwrap_or(false);
    let known = Choice::of(Category::ALL.iter().map(|category| (category.as_str(), *category)));
    let categories = fields.present("categories", CommaSeparated(known)).unwrap_or_default();
    let folder_id = fields.present("folder_id", Text::between(1, usize::MAX)).map(FolderId::new);
    let starred = fields.present("starred", Bool);
    let status = fields.present("status", statuses()).unwrap_or_default();
    let after = cursor(fields);
    let dates = DatePage { start, end, limit: links::one_more(page), offset: page.offset, after };
    Some((page, ConversationFilter { page: dates, status, categories, folder_id, starred, with_transcript }))
}

fn statuses() -> Named<Choice<&'static str, StatusFilter>> {
    words::ConversationFilter::in_request(Choice::of([
        ("completed", StatusFilter::Completed),
        ("processing", StatusFilter::Processing),
        ("failed", StatusFilter::Failed),
        ("in_progress", StatusFilter::InProgress),
        ("any", StatusFilter::Any),
    ]))
}

/// Reads the query of one conversation: whether its transcript is wanted, and whether its pictures are.
fn read_depth(fields: &mut Fields<'_>) -> Option<(bool, bool)> {
    let with_transcript = fields.present("include_transcript", Bool).unwrap_or(false);
    Some((with_transcript, fields.present("include_photos", Bool).unwrap_or(false)))
}

async fn one(
    state: AppState,
    caller: Caller,
    Ids(id): Ids<String>,
    parameters: Query,
    asked: HeaderMap,
) -> Answered {
    let (with_transcript, with_photos) = query(&parameters, read_depth)?;
    let id = ConversationId::new(id);
    if with_photos {
        let view = match with_transcript {
            true => find_whole(&state, &caller, &id).await?,
            false => find(&state, &caller.user, &id).await?,
        };
        let reserve = |bytes| caller.account.hold_for_answer(bytes);
        let photos = state.ledger.store().photos_within(&caller.user, &id, reserve).await??;
        let shape = shapes::conversation_with_photos(&view, with_transcript, &photos);
        return Ok(tagged::answer_json(&asked, caller.account.json(&shape)?));
    }
    if !with_transcript {
        let view = find(&state, &caller.user, &id).await?;
        return Ok(tagged::answer(&asked, shapes::conversation(&view, false)));
    }
    let view = find_whole(&state, &caller, &id).await?;
    Ok(tagged::answer_json(&asked, caller.account.json(&shapes::conversation(&view, true))?))
}

async fn change(state: AppState, caller: Caller, Ids(id): Ids<String>, body: Body) -> Answered {
    let change = object(body, read_change)?;
    let id = ConversationId::new(id);
    if !state.ledger.store().change_conversation(&caller.user, &id, &change).await? {
        return Err(match &change.folder_id {
            Some(Some(folder)) if !state.ledger.store().has_folder(&caller.user, folder).await? => {
                Error::NotFound("Folder")
            }
            _ => Error::NotFound(KIND),
        });
    }
    let view = find(&state, &caller.user, &id).await?;
    Ok(Json(shapes::conversation(&view, false)).into_response())
}

const CHANGE: &[Note] = &[
    ("title", "A title set by the user; processing keeps it.", ""),
    ("discarded", "`true` hides it from the list.", ""),
    ("starred", "Marks it.", ""),
    ("folder_id", "Files it; null takes it out of its folder.", ""),
];

fn read_change(fields: &mut Fields<'_>) -> Option<ConversationChange> {
    let change = ConversationChange {
        title: fields.present("title", Text::between(1, 500)),
        discarded: fields.present("discarded", Bool),
        starred: fields.present("starred", Bool),
        folder_id: fields.nullable("folder_id", Text::between(1, usize::MAX)).map(|id| id.map(FolderId::new)),
    };
    fields.needs_any(&["title", "discarded", "starred", "folder_id"])?;
    Some(change)
}

async fn delete(state: AppState, caller: Caller, Ids(id): Ids<String>) -> answer::Deleted {
    let deleted = state.ledger.delete_conversation(&caller.user, &ConversationId::new(id)).await?;
    answer::deleted(deleted, KIND)
}

async fn find(state: &AppState, user: &UserId, id: &ConversationId) -> Result<ConversationView, Error> {
    state.ledger.store().conversation(user, id, false).await?.ok_or(Error::NotFound(KIND))
}

/// With its transcript, for which memory is reserved while it is loaded.
pub(super) async fn find_whole(
    state: &AppState,
    caller: &Caller,
    id: &ConversationId,
) -> Result<ConversationView, Error> {
    let reserve = |bytes: usize| caller.account.hold_to_load(bytes);
    let found = state.ledger.store().conversation_within(&caller.user, id, reserve).await??;
    found.ok_or(Error::NotFound(KIND))
}
