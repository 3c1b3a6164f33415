//! `P/memories`. There is no GET of a single one (spec): the router answers 405 for it.

use axum::{Json, extract::State, http::Uri, response::Response};
use ledger::{MemoryChange, NewPersonMemory};
use records::{Memory, MemoryCategory, MemoryId, UserId};
use serde_json::{Value, json};
use store::MemoryFilter;

use super::{answer, links, path::Ids};
use crate::{
    Error, Scope,
    door::{Creating, Door},
    keys::Caller,
    read::{
        Body, Choice, CommaSeparated, Fields, ListOf, Object, Page, Query, Text, cursor, object, page, query,
    },
    shapes,
};

/// What a 404 says is missing.
pub(super) const KIND: &str = "Memory";
/// Of what is remembered (DECISIONS §1, "memory").
const CONTENT: Text = Text::between(1, 500);
/// In one batch (DECISIONS §3, "memories").
const BATCH: usize = 25;
/// Labels of one memory: a bound that no person meets, so that a list of a thousand stays an answer.
const TAGS: ListOf<Text> = ListOf { item: Text::between(1, 100), min: 0, max: 100 };

fn categories() -> Choice<&'static str, MemoryCategory> {
    Choice::of(MemoryCategory::ALL.iter().map(|category| (category.as_str(), *category)))
}

/// `true` for public.
fn visibilities() -> Choice<&'static str, bool> {
    Choice::of([("public", true), ("private", false)])
}

/// GET: a page, newest first.
pub(super) async fn list(
    State(door): State<Door>,
    caller: Caller,
    uri: Uri,
    parameters: Query,
) -> Result<Response, Error> {
    caller.require(Scope::MemoriesRead)?;
    let (page, filter) = query(&parameters, read_filter)?;
    let memories = door.ledger.store().memories(&caller.user, &filter).await?;
    Ok(links::answer(&uri, page, &memories, shapes::memory))
}

/// Reads the query of the list.
pub(super) fn read_filter(fields: &mut Fields<'_>) -> Option<(Page, MemoryFilter)> {
    let page = page(fields, 25, 1_000);
    let categories = fields.present("categories", CommaSeparated(categories())).unwrap_or_default();
    let after = cursor(fields);
    Some((page, MemoryFilter { limit: links::one_more(page), offset: page.offset, after, categories }))
}

/// What a create says of a memory; its id is ours to give, and its category, where none is named, ours to find.
pub(super) struct Draft {
    content: String,
    category: Option<MemoryCategory>,
    public: bool,
    tags: Vec<String>,
}

/// Reads a memory of a create.
pub(super) fn read_draft(fields: &mut Fields<'_>) -> Option<Draft> {
    let content = fields.required("content", CONTENT);
    let category = fields.optional("category", categories());
    let public = fields.optional("visibility", visibilities()).unwrap_or(false);
    let tags = fields.optional("tags", TAGS).unwrap_or_default();
    Some(Draft { content: content?, category, public, tags })
}

/// POST: one memory.
pub(super) async fn create(
    Creating(door): Creating,
    caller: Caller,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::MemoriesWrite)?;
    let draft = object(body, read_draft)?;
    let made = store(&door, &caller.user, vec![draft]).await?;
    Ok(Json(shapes::memory(answer::only(&made)?)))
}

/// POST batch: 1 to 25 memories, all or none.
pub(super) async fn create_batch(
    Creating(door): Creating,
    caller: Caller,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::MemoriesWrite)?;
    let drafts = object(body, read_batch)?;
    let made = store(&door, &caller.user, drafts).await?;
    Ok(Json(batch(&made)))
}

/// The answer to a batch.
pub(super) fn batch(created: &[Memory]) -> Value {
    json!({
        "memories": created.iter().map(shapes::memory).collect::<Value>(),
        "created_count": created.len(),
    })
}

/// Reads the body of a batch.
pub(super) fn read_batch(fields: &mut Fields<'_>) -> Option<Vec<Draft>> {
    fields.required("memories", ListOf { item: Object(read_draft), min: 1, max: BATCH })
}

async fn store(door: &Door, user: &UserId, drafts: Vec<Draft>) -> Result<Vec<Memory>, Error> {
    let found = |draft: &Draft| door.settings.categorize.memory(&draft.content);
    let new = |draft: Draft| NewPersonMemory {
        id: MemoryId::new(door.ids.fresh().to_string()),
        category: draft.category.unwrap_or_else(|| found(&draft)),
        content: draft.content,
        public: draft.public,
        tags: draft.tags,
    };
    let new: Vec<NewPersonMemory> = drafts.into_iter().map(new).collect();
    Ok(door.ledger.create_memories(user, &new).await?)
}

/// PATCH: at least one of content, category, visibility, tags.
pub(super) async fn change(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::MemoriesWrite)?;
    let change = object(body, read_change)?;
    let changed = door.ledger.change_memory(&caller.user, &MemoryId::new(id), &change).await?;
    changed.as_ref().map(|memory| Json(shapes::memory(memory))).ok_or(Error::NotFound(KIND))
}

/// Reads the body of a PATCH.
pub(super) fn read_change(fields: &mut Fields<'_>) -> Option<MemoryChange> {
    let change = MemoryChange {
        content: fields.present("content", CONTENT),
        category: fields.present("category", categories()),
        public: fields.present("visibility", visibilities()),
        tags: fields.present("tags", TAGS),
    };
    fields.needs_any(&["content", "category", "visibility", "tags"])?;
    Some(change)
}

/// DELETE: for good.
pub(super) async fn delete(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::MemoriesWrite)?;
    let deleted = door.ledger.delete_memory(&caller.user, &MemoryId::new(id)).await?;
    answer::deleted(deleted, KIND)
}
