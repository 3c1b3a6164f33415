//! `P/action-items`. There is no GET of a single one (spec): the router answers 405 for it.

use axum::{Json, extract::State, http::Uri, response::Response};
use ledger::{ItemChange, NewActionItem};
use records::{ActionItem, ActionItemId, ConversationId, UserId};
use serde_json::{Value, json};
use store::{DatePage, ItemFilter};

use super::{answer, links, path::Ids};
use crate::{
    Error, Scope,
    door::{Creating, Door},
    keys::Caller,
    read::{
        Body, Bool, Fields, ListOf, Object, Page, Query, Text, ZonedMoment, cursor, date_range, object, page,
        query,
    },
    shapes,
};

/// What a 404 says is missing.
pub(super) const KIND: &str = "Action item";
/// Of a description (spec, "Limits").
const DESCRIPTION: Text = Text::between(1, 500);
/// In one batch (spec, "Limits").
const BATCH: usize = 50;

/// GET: a page, newest first.
pub(super) async fn list(
    State(door): State<Door>,
    caller: Caller,
    uri: Uri,
    parameters: Query,
) -> Result<Response, Error> {
    caller.require(Scope::ActionItemsRead)?;
    let (page, filter) = query(&parameters, read_filter)?;
    let items = door.ledger.store().action_items(&caller.user, &filter).await?;
    Ok(links::answer(&uri, page, &items, shapes::action_item))
}

/// Reads the query of the list.
pub(super) fn read_filter(fields: &mut Fields<'_>) -> Option<(Page, ItemFilter)> {
    let page = page(fields, 100, 1_000);
    let completed = fields.present("completed", Bool);
    let conversation_id = fields.present("conversation_id", Text::any()).map(ConversationId::new);
    let (start, end) = date_range(fields);
    let after = cursor(fields);
    let dates = DatePage { start, end, limit: links::one_more(page), offset: page.offset, after };
    Some((page, ItemFilter { page: dates, completed, conversation_id }))
}

/// What a create says of an item; its id is ours to give.
pub(super) struct Draft {
    description: String,
    completed: bool,
    due_at: Option<records::Timestamp>,
}

/// Reads an item of a create.
pub(super) fn read_draft(fields: &mut Fields<'_>) -> Option<Draft> {
    let description = fields.required("description", DESCRIPTION);
    let completed = fields.present("completed", Bool).unwrap_or(false);
    let due_at = fields.optional("due_at", ZonedMoment);
    Some(Draft { description: description?, completed, due_at })
}

/// POST: one item.
pub(super) async fn create(
    Creating(door): Creating,
    caller: Caller,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::ActionItemsWrite)?;
    let draft = object(body, read_draft)?;
    let made = store(&door, &caller.user, vec![draft]).await?;
    Ok(Json(shapes::action_item(answer::only(&made)?)))
}

/// POST batch: 1 to 50 items, all or none.
pub(super) async fn create_batch(
    Creating(door): Creating,
    caller: Caller,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::ActionItemsWrite)?;
    let drafts = object(body, read_batch)?;
    let made = store(&door, &caller.user, drafts).await?;
    Ok(Json(batch(&made)))
}

/// The answer to a batch.
pub(super) fn batch(created: &[ActionItem]) -> Value {
    json!({
        "action_items": created.iter().map(shapes::action_item).collect::<Value>(),
        "created_count": created.len(),
    })
}

/// Reads the body of a batch.
pub(super) fn read_batch(fields: &mut Fields<'_>) -> Option<Vec<Draft>> {
    fields.required("action_items", ListOf { item: Object(read_draft), min: 1, max: BATCH })
}

async fn store(door: &Door, user: &UserId, drafts: Vec<Draft>) -> Result<Vec<ActionItem>, Error> {
    let new = |draft: Draft| NewActionItem {
        id: ActionItemId::new(door.ids.fresh().to_string()),
        description: draft.description,
        completed: draft.completed,
        due_at: draft.due_at,
    };
    let new: Vec<NewActionItem> = drafts.into_iter().map(new).collect();
    Ok(door.ledger.create_action_items(user, &new).await?)
}

/// PATCH: at least one of description, completed, due_at.
pub(super) async fn change(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::ActionItemsWrite)?;
    let change = object(body, read_change)?;
    let changed = door.ledger.change_action_item(&caller.user, &ActionItemId::new(id), &change).await?;
    changed.as_ref().map(|item| Json(shapes::action_item(item))).ok_or(Error::NotFound(KIND))
}

/// Reads the body of a PATCH.
pub(super) fn read_change(fields: &mut Fields<'_>) -> Option<ItemChange> {
    let change = ItemChange {
        description: fields.present("description", DESCRIPTION),
        completed: fields.present("completed", Bool),
        due_at: fields.nullable("due_at", ZonedMoment),
    };
    fields.needs_any(&["description", "completed", "due_at"])?;
    Some(change)
}

/// DELETE: for good.
pub(super) async fn delete(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::ActionItemsWrite)?;
    let deleted = door.ledger.delete_action_item(&caller.user, &ActionItemId::new(id)).await?;
    answer::deleted(deleted, KIND)
}
