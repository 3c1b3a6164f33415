//! `P/search`: full text over what the user has.

use axum::Json;
use records::Timestamp;
use store::SearchQuery;

use crate::{
    Answer, AppState, Caller, Endpoint, Error, Scope,
    read::{Choice, CommaSeparated, Fields, Int, Note, Query, Text, date_range, query},
    shapes::{self, SearchResult},
    takes,
};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/v1/dev/user/search", Scope::ConversationsRead, search)
            .named("search", "Search everything")
            .says(
                "Full text over conversations (by passages, which are shown word for word), memories and action items, best \
                 first: what holds all words before what holds some. A conversation is found a moment after its processing.",
            )
            .query(takes(read_search, ASKED))
            .answers(Answer::all::<SearchResult>()),
    ]
}

const ASKED: &[Note] = &[
    ("q", "Words; \"double quotes\" keep words together, `or` and `-word` work.", ""),
    ("kinds", "Any of these kinds, separated by commas; all that the key may read when it is left out.", ""),
    ("start_date", "Not before this moment.", ""),
    ("end_date", "Not after this moment; a date means the whole UTC day.", ""),
    ("limit", "At most this many.", "20"),
];

/// The kinds of things that are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Conversation,
    Memory,
    ActionItem,
}

impl Kind {
    /// What a key must hold to see them.
    const fn scope(self) -> Scope {
        match self {
            Self::Conversation => Scope::ConversationsRead,
            Self::Memory => Scope::MemoriesRead,
            Self::ActionItem => Scope::ActionItemsRead,
        }
    }
}

fn kinds() -> Choice<&'static str, Kind> {
    Choice::of([
        ("conversation", Kind::Conversation),
        ("memory", Kind::Memory),
        ("action_item", Kind::ActionItem),
    ])
}

/// What is searched for.
pub(super) struct Asked {
    words: String,
    kinds: Vec<Kind>,
    start: Option<Timestamp>,
    end: Option<Timestamp>,
    limit: i64,
}

/// Reads the query.
pub(super) fn read_search(fields: &mut Fields<'_>) -> Option<Asked> {
    let words = fields.required("q", Text::between(1, 500).not_blank("the query must not be blank"));
    let kinds = fields.present("kinds", CommaSeparated(kinds())).unwrap_or_default();
    let limit = fields.present("limit", Int::between(1, 100)).unwrap_or(20);
    let (start, end) = date_range(fields);
    Some(Asked { words: words?, kinds, start, end, limit })
}

/// GET: the best first. Kinds that are not named are those that the key may read.
pub(super) async fn search(
    state: AppState,
    caller: Caller,
    parameters: Query,
) -> Result<Json<Vec<SearchResult>>, Error> {
    let asked = query(&parameters, read_search)?;
    for kind in &asked.kinds {
        caller.require(kind.scope())?;
    }
    let wants = |kind: Kind| match asked.kinds.is_empty() {
        true => caller.require(kind.scope()).is_ok(),
        false => asked.kinds.contains(&kind),
    };
    let _turn = state.searches.turn(&caller.user).await?;
    let user = state.ledger.store().user(&caller.user).await?;
    let found = SearchQuery {
        language: user.map(|user| user.language).unwrap_or_default(),
        start: asked.start,
        // Dates of lists are inclusive; a search ends before its end.
        end: asked.end.map(|end| end + chrono::TimeDelta::microseconds(1)),
        limit: asked.limit,
        conversations: wants(Kind::Conversation),
        memories: wants(Kind::Memory),
        action_items: wants(Kind::ActionItem),
        words: asked.words,
    };
    let found = state.ledger.store().search(&caller.user, &found).await?;
    Ok(Json(found.iter().map(shapes::search_result).collect()))
}
