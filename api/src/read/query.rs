//! Query parameters: text that the same reader takes, laxly, as it takes a body.

use axum::{
    extract::{FromRequestParts, Query as Pairs},
    http::{Uri, request::Parts},
};
use serde_json::{Map, Value};

use super::{Fields, Report};
use crate::Error;

/// The parameters as they came; of one that is sent twice, the last counts. Unknown ones do not matter.
pub(crate) struct Query {
    /// Where they came from: the links of a page lead to its neighbours.
    pub(crate) uri: Uri,
    values: Map<String, Value>,
}

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        // The parser takes any text: what is not well formed in it, it reads as it stands.
        let pairs = Pairs::<Vec<(String, String)>>::try_from_uri(&parts.uri).map(|Pairs(pairs)| pairs);
        let values = pairs.unwrap_or_default().into_iter().map(|(name, text)| (name, Value::String(text)));
        Ok(Self { uri: parts.uri.clone(), values: values.collect() })
    }
}

/// Reads the parameters.
pub(crate) fn query<T>(query: &Query, read: impl FnOnce(&mut Fields<'_>) -> Option<T>) -> Result<T, Error> {
    let mut report = Report::of("query");
    let taken = read(&mut Fields::new(&query.values, &mut report));
    report.finish(taken).map_err(Error::Invalid)
}

#[cfg(test)]
impl Query {
    /// Parameters for the reader's own tests.
    pub(crate) fn sent(pairs: &[(&str, &str)]) -> Self {
        let values = pairs.iter().map(|(name, text)| ((*name).to_owned(), Value::from(*text)));
        Self { uri: Uri::default(), values: values.collect() }
    }
}
