//! `P/memories`.

use axum::{extract::State, http::Uri, response::Response};
use ledger::MemoryFilter;
use records::MemoryCategory;

use super::links;
use crate::{
    Error, Scope,
    door::Door,
    keys::Caller,
    read::{Choice, CommaSeparated, Query, page, query},
    shapes,
};

/// GET: a page, newest first.
pub(super) async fn list(
    State(door): State<Door>,
    caller: Caller,
    uri: Uri,
    parameters: Query,
) -> Result<Response, Error> {
    caller.require(Scope::MemoriesRead)?;
    let (page, filter) = query(&parameters, |fields| {
        let page = page(fields, 25, 1_000);
        let known = Choice::of(MemoryCategory::ALL.iter().map(|category| (category.as_str(), *category)));
        let categories = fields.present("categories", CommaSeparated(known)).unwrap_or_default();
        Some((page, MemoryFilter { limit: links::one_more(page), offset: page.offset, categories }))
    })?;
    let memories = door.ledger.memories(&caller.user, &filter).await?;
    Ok(links::answer(&uri, page, &memories, shapes::memory))
}
