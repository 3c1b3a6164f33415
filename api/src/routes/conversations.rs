//! `P/conversations`: reading, changing, deleting.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, Uri},
    response::{IntoResponse, Response},
};
use records::{Category, ConversationId, FolderId, UserId};
use serde_json::Value;
use store::{ConversationChange, ConversationFilter, ConversationView, DatePage, StatusFilter};

use super::{answer, links, path::Ids, tagged};
use crate::{
    Error, Scope,
    door::{Door, Refused},
    keys::Caller,
    read::{
        Body, Bool, Choice, CommaSeparated, Fields, Page, Query, Text, cursor, date_range, object, page,
        query,
    },
    shapes,
};

/// What a 404 says is missing.
pub(super) const KIND: &str = "Conversation";

/// GET: a page of conversations, newest first; without a `status` of completed, not discarded ones.
pub(super) async fn list(
    State(door): State<Door>,
    caller: Caller,
    uri: Uri,
    parameters: Query,
) -> Result<Response, Error> {
    caller.require(Scope::ConversationsRead)?;
    let (page, filter) = filter(&parameters)?;
    let reserve = |bytes| caller.account.hold_for_answer(bytes);
    let views =
        door.ledger.store().conversations_within(&caller.user, &filter, reserve).await?.map_err(too_long)?;
    let shape = |view| shapes::conversation(view, filter.with_transcript);
    match filter.with_transcript {
        true => links::answer_within(&caller.account, &uri, page, &views, shape),
        false => Ok(links::answer(&uri, page, &views, shape)),
    }
}

/// A page that one user may never hold is one to ask less of.
fn too_long(refused: Refused) -> Error {
    match refused {
        Refused::TooLarge => db::Error::TooMuch { doing: "listing conversations" }.into(),
        Refused::Busy => Error::Overloaded,
    }
}

fn filter(parameters: &Query) -> Result<(Page, ConversationFilter), Error> {
    query(parameters, read_filter)
}

/// Reads the query of the list.
pub(super) fn read_filter(fields: &mut Fields<'_>) -> Option<(Page, ConversationFilter)> {
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

fn statuses() -> Choice<&'static str, StatusFilter> {
    Choice::of([
        ("completed", StatusFilter::Completed),
        ("processing", StatusFilter::Processing),
        ("failed", StatusFilter::Failed),
        ("in_progress", StatusFilter::InProgress),
        ("any", StatusFilter::Any),
    ])
}

/// Reads the query of one conversation: whether its transcript is wanted, and whether its pictures are.
pub(super) fn read_depth(fields: &mut Fields<'_>) -> Option<(bool, bool)> {
    let with_transcript = fields.present("include_transcript", Bool).unwrap_or(false);
    Some((with_transcript, fields.present("include_photos", Bool).unwrap_or(false)))
}

/// GET one, whatever its status.
pub(super) async fn one(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
    parameters: Query,
    asked: HeaderMap,
) -> Result<Response, Error> {
    caller.require(Scope::ConversationsRead)?;
    let (with_transcript, with_photos) = query(&parameters, read_depth)?;
    let id = ConversationId::new(id);
    if with_photos {
        caller.account.has_room()?;
        let view = find(&door, &caller.user, &id, with_transcript).await?;
        let photos = door.ledger.store().photos(&caller.user, &id).await?;
        let shape = shapes::conversation_with_photos(&view, with_transcript, &photos);
        return Ok(tagged::answer_json(&asked, caller.account.json(&shape)?));
    }
    if !with_transcript {
        let view = find(&door, &caller.user, &id, false).await?;
        return Ok(tagged::answer(&asked, shapes::conversation(&view, false)));
    }
    caller.account.has_room()?;
    let view = find(&door, &caller.user, &id, true).await?;
    Ok(tagged::answer_json(&asked, caller.account.json(&shapes::conversation(&view, true))?))
}

/// PATCH: at least one of title, discarded, starred, folder_id.
pub(super) async fn change(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
    body: Body,
) -> Result<Response, Error> {
    caller.require(Scope::ConversationsWrite)?;
    let change = object(body, read_change)?;
    let id = ConversationId::new(id);
    if let Some(Some(folder)) = &change.folder_id
        && !door.ledger.store().has_folder(&caller.user, folder).await?
    {
        return Err(Error::NotFound("Folder"));
    }
    if !door.ledger.store().change_conversation(&caller.user, &id, &change).await? {
        return Err(Error::NotFound(KIND));
    }
    let view = find(&door, &caller.user, &id, false).await?;
    Ok(Json(shapes::conversation(&view, false)).into_response())
}

/// Reads the body of a PATCH.
pub(super) fn read_change(fields: &mut Fields<'_>) -> Option<ConversationChange> {
    let change = ConversationChange {
        title: fields.present("title", Text::between(1, 500)),
        discarded: fields.present("discarded", Bool),
        starred: fields.present("starred", Bool),
        folder_id: fields.nullable("folder_id", Text::between(1, usize::MAX)).map(|id| id.map(FolderId::new)),
    };
    fields.needs_any(&["title", "discarded", "starred", "folder_id"])?;
    Some(change)
}

/// DELETE: for good, with everything that hangs on it.
pub(super) async fn delete(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::ConversationsWrite)?;
    let deleted = door.ledger.delete_conversation(&caller.user, &ConversationId::new(id)).await?;
    answer::deleted(deleted, KIND)
}

async fn find(
    door: &Door,
    user: &UserId,
    id: &ConversationId,
    with_transcript: bool,
) -> Result<ConversationView, Error> {
    door.ledger.store().conversation(user, id, with_transcript).await?.ok_or(Error::NotFound(KIND))
}
