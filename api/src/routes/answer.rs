//! What several resources answer in the same words.

use axum::Json;
use serde_json::{Value, json};

use crate::Error;

/// To a DELETE: success, or that there is nothing of that `kind` to be deleted.
///
/// # Errors
/// [`Error::NotFound`].
pub(super) fn deleted(was_there: bool, kind: &'static str) -> Result<Json<Value>, Error> {
    match was_there {
        true => Ok(Json(json!({ "success": true }))),
        false => Err(Error::NotFound(kind)),
    }
}
