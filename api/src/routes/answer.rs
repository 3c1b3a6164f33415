//! What several resources answer in the same words.

use axum::Json;
use records::UserId;
use serde_json::Value;

use crate::{
    AppState, Error, Reply,
    shapes::{SUCCESS, Success},
};

/// What is created alone and several at once: a repeated create answers with its present state.
pub(super) trait Created: Sized + Send {
    /// What a 404 says is missing.
    const KIND: &str;

    /// Those of the user with these ids.
    fn named(
        state: &AppState,
        user: &UserId,
        ids: &[String],
    ) -> impl Future<Output = Result<Vec<Self>, Error>> + Send;

    /// The answer to the create of one.
    fn one(&self) -> Value;

    /// The answer to the create of several.
    fn several(all: &[Self]) -> Value;
}

/// Answers a repeated create of one.
pub(super) async fn again<R: Created>(
    state: AppState,
    user: UserId,
    ids: Vec<String>,
) -> Result<Value, Error> {
    R::named(&state, &user, &ids).await?.first().map(R::one).ok_or(Error::NotFound(R::KIND))
}

/// Answers a repeated create of several: those that are left of them.
pub(super) async fn batch_again<R: Created>(
    state: AppState,
    user: UserId,
    ids: Vec<String>,
) -> Result<Value, Error> {
    Ok(R::several(&R::named(&state, &user, &ids).await?))
}

/// What a DELETE answers.
pub(super) type Deleted = Reply<Success>;

/// To a DELETE: success, or that there is nothing of that `kind` to be deleted.
pub(super) fn deleted(was_there: bool, kind: &'static str) -> Deleted {
    match was_there {
        true => Ok(Json(SUCCESS)),
        false => Err(Error::NotFound(kind)),
    }
}

/// The one object that a create of one has stored.
///
/// # Errors
/// [`Error::Unwritable`]: the ledger returned none, which is a defect. `null` would pass for success.
pub(super) fn only<T>(created: &[T]) -> Result<&T, Error> {
    created.first().ok_or(Error::Unwritable)
}

#[cfg(test)]
mod tests {
    use axum::{http::StatusCode, response::IntoResponse};

    use super::*;

    #[test]
    fn a_create_without_a_result_is_an_error_and_not_null() {
        let status = |created: &[u8]| only(created).map_err(|error| error.into_response().status()).copied();
        assert_eq!(status(&[7]), Ok(7));
        assert_eq!(status(&[]), Err(StatusCode::INTERNAL_SERVER_ERROR));
    }
}
