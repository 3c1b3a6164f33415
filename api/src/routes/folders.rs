//! `P/folders`.

use axum::{Json, extract::State};
use serde_json::Value;

use crate::{Error, Scope, door::Door, keys::Caller, shapes};

/// GET: all of them, in their order.
pub(super) async fn list(State(door): State<Door>, caller: Caller) -> Result<Json<Value>, Error> {
    caller.require(Scope::FoldersRead)?;
    let folders = door.ledger.store().folders(&caller.user).await?;
    Ok(Json(folders.iter().map(shapes::folder).collect()))
}
