//! Ids in paths: opaque text.

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};
use serde::de::DeserializeOwned;

use crate::{Code, Error};

/// No id of ours, nor of a client, has more bytes.
const LONGEST: usize = 512;

/// The ids of a path. What is not UTF-8, holds U+0000 or is longer than every id names nothing that can exist.
pub(super) struct Ids<T>(pub(super) T);

/// What can be asked of ids.
pub(super) trait Nameable {
    /// Whether a stored thing could have these ids.
    fn can_exist(&self) -> bool;
}

impl Nameable for String {
    fn can_exist(&self) -> bool {
        self.len() <= LONGEST && !self.contains('\0')
    }
}

impl Nameable for (String, String) {
    fn can_exist(&self) -> bool {
        self.0.can_exist() && self.1.can_exist()
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Nameable + Send> FromRequestParts<S> for Ids<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(ids)) if ids.can_exist() => Ok(Self(ids)),
            _ => Err(Error::Refused(Code::UnknownPath)),
        }
    }
}
