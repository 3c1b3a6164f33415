//! What several resources answer in the same words.

use axum::Json;

use crate::{
    Error,
    shapes::{SUCCESS, Success},
};

/// To a DELETE: success, or that there is nothing of that `kind` to be deleted.
///
/// # Errors
/// [`Error::NotFound`].
pub(super) fn deleted(was_there: bool, kind: &'static str) -> Result<Json<Success>, Error> {
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
