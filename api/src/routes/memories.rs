//! `P/memories`. There is no GET of a single one (spec): the router answers 405 for it.

use axum::Json;
use ledger::{MemoryChange, NewPersonMemory};
use records::{Memory, MemoryCategory, MemoryId, UserId};
use serde_json::{Value, json};
use store::MemoryFilter;

use super::{answer, links, path::Ids};
use crate::{
    Answer, Answered, AppState, Caller, Endpoint, Error, Reply, Scope,
    endpoint::CURSOR,
    read::{
        Body, Choice, CommaSeparated, Fields, ListOf, Named, Note, Object, Page, Query, Text, cursor, object,
        page, query,
    },
    shapes::{self, Words, words},
    state::Refused,
    takes,
};

const KIND: &str = "Memory";
/// Of what is remembered (DECISIONS §1, "memory").
const CONTENT: Text = Text::between(1, 500);
/// In one batch (DECISIONS §3, "memories").
const BATCH: usize = 25;
/// Labels of one memory: a bound that no person meets, so that a list of a thousand stays an answer.
const TAGS: ListOf<Text> = ListOf { item: Text::between(1, 100), min: 0, max: 100 };

const ALL: &str = "/v1/dev/user/memories";
const ONE: &str = "/v1/dev/user/memories/{memory_id}";

pub(super) fn endpoints() -> Vec<Endpoint> {
    let example = json!({ "content": "Is allergic to cats", "tags": ["health"] });
    vec![
        Endpoint::get(ALL, Scope::MemoriesRead, list)
            .named("list_memories", "List memories")
            .says("Newest first.")
            .query(takes(read_filter, FILTER))
            .answers(Answer::page::<shapes::Memory>()),
        Endpoint::post(ALL, Scope::MemoriesWrite, create)
            .named("create_memory", "Create a memory")
            .creates(answer::again::<Memory>)
            .body("NewMemory", takes(read_draft, NEW), example.clone())
            .answers(
                Answer::one::<shapes::Memory>("The memory.")
                    .leads_to("update_memory", "memory_id", "/id")
                    .leads_to("delete_memory", "memory_id", "/id"),
            ),
        Endpoint::post("/v1/dev/user/memories/batch", Scope::MemoriesWrite, create_batch)
            .named("create_memories", "Create several memories")
            .says("All or none.")
            .creates(answer::batch_again::<Memory>)
            .body(
                "NewMemories",
                takes(read_batch, &[("memories", "The memories.", "")]),
                json!({ "memories": [example] }),
            )
            .answers(Answer::one::<shapes::CreatedMemories>("All of them.")),
        Endpoint::patch(ONE, Scope::MemoriesWrite, change)
            .named("update_memory", "Change a memory")
            .says("At least one field. There is no reading of a single memory: see the list.")
            .body("MemoryChange", takes(read_change, CHANGE), json!({ "visibility": "public" }))
            .answers(Answer::one::<shapes::Memory>("As it is now."))
            .not_found(KIND),
        Endpoint::delete(ONE, Scope::MemoriesWrite, delete)
            .named("delete_memory", "Delete a memory")
            .says("For good.")
            .answers(Answer::one::<shapes::Success>("Deleted."))
            .not_found(KIND),
    ]
}

impl answer::Created for Memory {
    const KIND: &str = KIND;

    async fn named(state: &AppState, user: &UserId, ids: &[String]) -> Result<Vec<Self>, Error> {
        Ok(state.ledger.store().memories_named(user, ids).await?)
    }

    fn one(&self) -> Value {
        json!(shapes::memory(self))
    }

    fn several(all: &[Self]) -> Value {
        json!(shapes::created_memories(all))
    }
}

fn categories() -> Choice<&'static str, MemoryCategory> {
    Choice::of(MemoryCategory::ALL.iter().map(|category| (category.as_str(), *category)))
}

fn category() -> Named<Choice<&'static str, MemoryCategory>> {
    words::MemoryCategory::in_request(categories())
}

/// `true` for public.
fn visibility() -> Named<Choice<&'static str, bool>> {
    words::MemoryVisibility::in_request(Choice::of([("public", true), ("private", false)]))
}

async fn list(state: AppState, caller: Caller, parameters: Query) -> Answered {
    let (page, filter) = query(&parameters, read_filter)?;
    let reserve = |bytes| caller.account.hold_for_list(bytes);
    let found = state.ledger.store().memories_within(&caller.user, &filter, reserve).await?;
    let memories = found.map_err(Refused::of_page)?;
    Ok(links::answer(&parameters.uri, page, &memories, shapes::memory))
}

const FILTER: &[Note] = &[
    ("limit", "Maximum number of results.", "25"),
    ("offset", "Number of results to skip.", "0"),
    ("categories", "Any of these categories, separated by commas.", ""),
    CURSOR,
];

fn read_filter(fields: &mut Fields<'_>) -> Option<(Page, MemoryFilter)> {
    let page = page(fields, 25, 1_000);
    let categories = fields.present("categories", CommaSeparated(categories())).unwrap_or_default();
    let after = cursor(fields);
    Some((page, MemoryFilter { limit: links::one_more(page), offset: page.offset, after, categories }))
}

/// What a create says of a memory; its id is ours to give, and its category, where none is named, ours to find.
struct Draft {
    content: String,
    category: Option<MemoryCategory>,
    public: bool,
    tags: Vec<String>,
}

const NEW: &[Note] = &[
    ("content", "The fact.", ""),
    ("category", "Its kind; found by itself when it is left out.", ""),
    ("visibility", "Who may see it.", "\"private\""),
    ("tags", "Tags of the user's choice.", "[]"),
];

/// Reads a memory of a create.
fn read_draft(fields: &mut Fields<'_>) -> Option<Draft> {
    let content = fields.required("content", CONTENT);
    let category = fields.optional("category", category());
    let public = fields.optional("visibility", visibility()).unwrap_or(false);
    let tags = fields.optional("tags", TAGS).unwrap_or_default();
    Some(Draft { content: content?, category, public, tags })
}

async fn create(state: AppState, caller: Caller, body: Body) -> Reply<shapes::Memory> {
    let draft = object(body, read_draft)?;
    let made = store(&state, &caller.user, vec![draft]).await?;
    Ok(Json(shapes::memory(answer::only(&made)?)))
}

async fn create_batch(state: AppState, caller: Caller, body: Body) -> Reply<shapes::CreatedMemories> {
    let drafts = object(body, read_batch)?;
    let made = store(&state, &caller.user, drafts).await?;
    Ok(Json(shapes::created_memories(&made)))
}

fn read_batch(fields: &mut Fields<'_>) -> Option<Vec<Draft>> {
    fields.required(
        "memories",
        ListOf {
            item: Named {
                name: "NewMemory",
                words: "A memory that is to be created.",
                notes: NEW,
                take: Object(read_draft),
            },
            min: 1,
            max: BATCH,
        },
    )
}

async fn store(state: &AppState, user: &UserId, drafts: Vec<Draft>) -> Result<Vec<Memory>, Error> {
    let found = |draft: &Draft| state.settings.categorize.memory(&draft.content);
    let new = |draft: Draft| NewPersonMemory {
        id: MemoryId::new(state.ids.fresh().to_string()),
        category: draft.category.unwrap_or_else(|| found(&draft)),
        content: draft.content,
        public: draft.public,
        tags: draft.tags,
    };
    let new: Vec<NewPersonMemory> = drafts.into_iter().map(new).collect();
    Ok(state.ledger.create_memories(user, &new).await?)
}

async fn change(state: AppState, caller: Caller, Ids(id): Ids<String>, body: Body) -> Reply<shapes::Memory> {
    let change = object(body, read_change)?;
    let changed = state.ledger.change_memory(&caller.user, &MemoryId::new(id), &change).await?;
    changed.as_ref().map(|memory| Json(shapes::memory(memory))).ok_or(Error::NotFound(KIND))
}

const CHANGE: &[Note] = &[
    ("content", "The fact.", ""),
    ("category", "Its kind.", ""),
    ("visibility", "Who may see it.", ""),
    ("tags", "Tags of the user's choice.", ""),
];

fn read_change(fields: &mut Fields<'_>) -> Option<MemoryChange> {
    let change = MemoryChange {
        content: fields.present("content", CONTENT),
        category: fields.present("category", category()),
        public: fields.present("visibility", visibility()),
        tags: fields.present("tags", TAGS),
    };
    fields.needs_any(&["content", "category", "visibility", "tags"])?;
    Some(change)
}

async fn delete(state: AppState, caller: Caller, Ids(id): Ids<String>) -> answer::Deleted {
    let deleted = state.ledger.delete_memory(&caller.user, &MemoryId::new(id)).await?;
    answer::deleted(deleted, KIND)
}
