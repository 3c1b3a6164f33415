//! Reading requests as FastAPI with pydantic 2 reads them: lax where it is lax, all failing fields of a
//! request in one answer, the same types, places and messages. What was sent is never echoed: it would put
//! a person's words into client logs.
//!
//! A field is described by a [`Take`] (a bounded string, a lax integer, a list of something …) and taken out of
//! [`Fields`]; what is wrong collects in a [`Report`]. The same functions that read a request also describe it: run over
//! a [`RequestSchema`], they note which fields they would take, and the OpenAPI document is made of that.

mod body;
mod choice;
mod fields;
mod moment;
#[allow(clippy::indexing_slicing, reason = "builds the document from literals of this crate")]
mod named;
mod number;
mod page;
mod python_json;
mod query;
mod report;
mod request_schema;
mod text;
mod truth;

pub use body::parsed_size;
pub(crate) use body::{Arrived, Body, hold, object, optional_object, size_to_parse, whole};
pub(crate) use choice::{Choice, CommaSeparated};
pub(crate) use fields::{Fields, ListOf, Object};
pub(crate) use moment::{Instant, Moment, ZonedMoment, in_calendar};
pub(crate) use named::{Named, Note, annotate, named};
pub(crate) use number::{Float, Int, StrictInt};
pub(crate) use page::{Page, cursor, cursor_of, date_range, page};
pub(crate) use query::{Query, query};
pub(crate) use report::{Report, Take};
pub(crate) use request_schema::{COMPONENT, FieldSchema, RequestSchema, SCHEMA};
pub(crate) use text::Text;
pub(crate) use truth::Bool;

#[cfg(test)]
mod body_tests;
#[cfg(test)]
mod fuzz_tests;
#[cfg(test)]
mod take_tests;
