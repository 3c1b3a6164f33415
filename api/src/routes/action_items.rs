//! `P/action-items`. There is no GET of a single one (spec): the router answers 405 for it.

use axum::Json;
use ledger::{ItemChange, NewActionItem};
use records::{ActionItem, ActionItemId, ConversationId, UserId};
use serde_json::{Value, json};
use store::{DatePage, ItemFilter};

use super::{answer, links, path::Ids};
use crate::{
    Answer, Answered, AppState, Caller, Endpoint, Error, Reply, Scope,
    endpoint::CURSOR,
    read::{
        Body, Bool, Fields, ListOf, Named, Note, Object, Page, Query, Text, ZonedMoment, cursor, date_range,
        object, page, query,
    },
    shapes, takes,
};

const KIND: &str = "Action item";
/// Of a description (spec, "Limits").
const DESCRIPTION: Text = Text::between(1, 500);
/// In one batch (spec, "Limits").
const BATCH: usize = 50;

const ALL: &str = "/v1/dev/user/action-items";
const ONE: &str = "/v1/dev/user/action-items/{action_item_id}";

pub(super) fn endpoints() -> Vec<Endpoint> {
    let example = json!({ "description": "Call the dentist", "due_at": "2026-11-27T17:00:00+01:00" });
    vec![
        Endpoint::get(ALL, Scope::ActionItemsRead, list)
            .named("list_action_items", "List action items")
            .says("Newest first.")
            .query(takes(read_filter, FILTER))
            .answers(Answer::page::<shapes::ActionItem>()),
        Endpoint::post(ALL, Scope::ActionItemsWrite, create)
            .named("create_action_item", "Create an action item")
            .creates(answer::again::<ActionItem>)
            .body("NewActionItem", takes(read_draft, NEW), example.clone())
            .answers(
                Answer::one::<shapes::ActionItem>("The item.")
                    .leads_to("update_action_item", "action_item_id", "/id")
                    .leads_to("delete_action_item", "action_item_id", "/id"),
            ),
        Endpoint::post("/v1/dev/user/action-items/batch", Scope::ActionItemsWrite, create_batch)
            .named("create_action_items", "Create several action items")
            .says("All or none.")
            .creates(answer::batch_again::<ActionItem>)
            .body("NewActionItems", takes(read_batch, SEVERAL), json!({ "action_items": [example] }))
            .answers(Answer::one::<shapes::CreatedActionItems>("All of them.")),
        Endpoint::patch(ONE, Scope::ActionItemsWrite, change)
            .named("update_action_item", "Change an action item")
            .says("At least one field. There is no reading of a single item: see the list.")
            .body("ActionItemChange", takes(read_change, CHANGE), json!({ "completed": true }))
            .answers(Answer::one::<shapes::ActionItem>("As it is now."))
            .not_found(KIND),
        Endpoint::delete(ONE, Scope::ActionItemsWrite, delete)
            .named("delete_action_item", "Delete an action item")
            .says("For good, with its reminder.")
            .answers(Answer::one::<shapes::Success>("Deleted."))
            .not_found(KIND),
    ]
}

impl answer::Created for ActionItem {
    const KIND: &str = KIND;

    async fn named(state: &AppState, user: &UserId, ids: &[String]) -> Result<Vec<Self>, Error> {
        Ok(state.ledger.store().action_items_named(user, ids).await?)
    }

    fn one(&self) -> Value {
        json!(shapes::action_item(self))
    }

    fn several(all: &[Self]) -> Value {
        json!(shapes::created_action_items(all))
    }
}

async fn list(state: AppState, caller: Caller, parameters: Query) -> Answered {
    let (page, filter) = query(&parameters, read_filter)?;
    let items = state.ledger.store().action_items(&caller.user, &filter).await?;
    Ok(links::answer(&parameters.uri, page, &items, shapes::action_item))
}

const FILTER: &[Note] = &[
    ("limit", "Maximum number of results.", "100"),
    ("offset", "Number of results to skip.", "0"),
    ("completed", "Only completed, or only open ones; all by default.", ""),
    ("conversation_id", "Extracted from this conversation.", ""),
    ("start_date", "Created at or after this moment; of a date, its whole UTC day.", ""),
    ("end_date", "Created at or before this moment; of a date, its whole UTC day.", ""),
    CURSOR,
];

fn read_filter(fields: &mut Fields<'_>) -> Option<(Page, ItemFilter)> {
    let page = page(fields, 100, 1_000);
    let completed = fields.present("completed", Bool);
    let conversation_id = fields.present("conversation_id", Text::any()).map(ConversationId::new);
    let (start, end) = date_range(fields);
    let after = cursor(fields);
    let dates = DatePage { start, end, limit: links::one_more(page), offset: page.offset, after };
    Some((page, ItemFilter { page: dates, completed, conversation_id }))
}

/// What a create says of an item; its id is ours to give.
struct Draft {
    description: String,
    completed: bool,
    due_at: Option<records::Timestamp>,
}

const NEW: &[Note] = &[
    ("description", "The task.", ""),
    ("completed", "Whether it is done.", "false"),
    (
        "due_at",
        "When it is due, with a zone. A push notification goes out now, and again when the time has come.",
        "",
    ),
];

fn read_draft(fields: &mut Fields<'_>) -> Option<Draft> {
    let description = fields.required("description", DESCRIPTION);
    let completed = fields.present("completed", Bool).unwrap_or(false);
    let due_at = fields.optional("due_at", ZonedMoment);
    Some(Draft { description: description?, completed, due_at })
}

async fn create(state: AppState, caller: Caller, body: Body) -> Reply<shapes::ActionItem> {
    let draft = object(body, read_draft)?;
    let made = store(&state, &caller.user, vec![draft]).await?;
    Ok(Json(shapes::action_item(answer::only(&made)?)))
}

async fn create_batch(state: AppState, caller: Caller, body: Body) -> Reply<shapes::CreatedActionItems> {
    let drafts = object(body, read_batch)?;
    let made = store(&state, &caller.user, drafts).await?;
    Ok(Json(shapes::created_action_items(&made)))
}

const SEVERAL: &[Note] = &[("action_items", "The items.", "")];

fn read_batch(fields: &mut Fields<'_>) -> Option<Vec<Draft>> {
    fields.required(
        "action_items",
        ListOf {
            item: Named {
                name: "NewActionItem",
                words: "An action item that is to be created.",
                notes: NEW,
                take: Object(read_draft),
            },
            min: 1,
            max: BATCH,
        },
    )
}

async fn store(state: &AppState, user: &UserId, drafts: Vec<Draft>) -> Result<Vec<ActionItem>, Error> {
    let new = |draft: Draft| NewActionItem {
        id: ActionItemId::new(state.ids.fresh().to_string()),
        description: draft.description,
        completed: draft.completed,
        due_at: draft.due_at,
    };
    let new: Vec<NewActionItem> = drafts.into_iter().map(new).collect();
    Ok(state.ledger.create_action_items(user, &new).await?)
}

async fn change(
    state: AppState,
    caller: Caller,
    Ids(id): Ids<String>,
    body: Body,
) -> Reply<shapes::ActionItem> {
    let change = object(body, read_change)?;
    let changed = state.ledger.change_action_item(&caller.user, &ActionItemId::new(id), &change).await?;
    changed.as_ref().map(|item| Json(shapes::action_item(item))).ok_or(Error::NotFound(KIND))
}

const CHANGE: &[Note] = &[
    ("description", "The task.", ""),
    ("completed", "`true` sets `completed_at`, `false` clears it.", ""),
    ("due_at", "When it is due, with a zone; null clears it. A change is pushed.", ""),
];

fn read_change(fields: &mut Fields<'_>) -> Option<ItemChange> {
    let change = ItemChange {
        description: fields.present("description", DESCRIPTION),
        completed: fields.present("completed", Bool),
        due_at: fields.nullable("due_at", ZonedMoment),
    };
    fields.needs_any(&["description", "completed", "due_at"])?;
    Some(change)
}

async fn delete(state: AppState, caller: Caller, Ids(id): Ids<String>) -> answer::Deleted {
    let deleted = state.ledger.delete_action_item(&caller.user, &ActionItemId::new(id)).await?;
    answer::deleted(deleted, KIND)
}
