//! `P/folders`.

use axum::Json;

use crate::{Answer, AppState, Caller, Endpoint, Reply, Scope, shapes};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/v1/dev/user/folders", Scope::FoldersRead, list)
            .named("list_folders", "List folders")
            .says("In their order.")
            .answers(Answer::all::<shapes::Folder>()),
    ]
}

async fn list(state: AppState, caller: Caller) -> Reply<Vec<shapes::Folder>> {
    let folders = state.ledger.store().folders(&caller.user).await?;
    Ok(Json(folders.iter().map(shapes::folder).collect()))
}
