//! `P/action-items`.

use axum::{extract::State, http::Uri, response::Response};
use ledger::{DatePage, ItemFilter};
use records::ConversationId;

use super::links;
use crate::{
    Error, Scope,
    door::Door,
    keys::Caller,
    read::{Bool, Page, Query, Text, date_range, page, query},
    shapes,
};

/// GET: a page, newest first.
pub(super) async fn list(
    State(door): State<Door>,
    caller: Caller,
    uri: Uri,
    parameters: Query,
) -> Result<Response, Error> {
    caller.require(Scope::ActionItemsRead)?;
    let (page, filter) = filter(&parameters)?;
    let items = door.ledger.action_items(&caller.user, &filter).await?;
    Ok(links::answer(&uri, page, &items, shapes::action_item))
}

fn filter(parameters: &Query) -> Result<(Page, ItemFilter), Error> {
    query(parameters, |fields| {
        let page = page(fields, 100, 1_000);
        let completed = fields.present("completed", Bool);
        let conversation_id = fields.present("conversation_id", Text::any()).map(ConversationId::new);
        let (start, end) = date_range(fields);
        let dates = DatePage { start, end, limit: links::one_more(page), offset: page.offset };
        Some((page, ItemFilter { page: dates, completed, conversation_id }))
    })
}
