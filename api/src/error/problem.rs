//! One failing field, as FastAPI names it.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

/// One step of a place inside a request: a field's name, or an index or offset.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// A part of the request, or a field.
    Name(Cow<'static, str>),
    /// A list's index, or the offset of a syntax error in characters.
    Index(usize),
}

impl From<&'static str> for Step {
    fn from(name: &'static str) -> Self {
        Self::Name(Cow::Borrowed(name))
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// One failing field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    /// pydantic's error type, for example `string_too_long`.
    pub(crate) kind: &'static str,
    /// Where, beginning with `body`, `query` or `path`.
    pub(crate) loc: Vec<Step>,
    /// pydantic's message.
    pub(crate) msg: String,
    /// pydantic's context, when the type has one.
    pub(crate) ctx: Option<Value>,
}

impl Problem {
    /// A rule of our own that does not hold: pydantic's `value_error`, whose context carries no text.
    pub(crate) fn rule(loc: Vec<Step>, text: &str) -> Self {
        let ctx = Some(json!({ "error": {} }));
        Self { kind: "value_error", loc, msg: format!("Value error, {text}"), ctx }
    }

    /// The entry of the `detail` array.
    pub(crate) fn shape(&self) -> Value {
        let loc = self.loc.iter().map(|step| match step {
            Step::Name(name) => Value::from(name.as_ref()),
            Step::Index(index) => Value::from(*index),
        });
        let mut entry = Map::new();
        entry.insert("type".to_owned(), self.kind.into());
        entry.insert("loc".to_owned(), loc.collect());
        entry.insert("msg".to_owned(), self.msg.as_str().into());
        if let Some(ctx) = &self.ctx {
            entry.insert("ctx".to_owned(), ctx.clone());
        }
        Value::Object(entry)
    }
}
