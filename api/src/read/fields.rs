//! Taking typed fields out of an object, and lists and objects inside it.

use serde_json::{Map, Value, json};

use super::Report;

/// How one kind of value is read. `None` means that the report says why.
pub(crate) trait Take {
    /// What comes out.
    type Out;

    /// Reads `value`, or reports what is wrong at the report's present place.
    fn take(&self, value: &Value, report: &mut Report) -> Option<Self::Out>;
}

/// The fields of an object that is being read.
pub(crate) struct Fields<'a> {
    object: &'a Map<String, Value>,
    /// What is wrong so far; rules between fields speak to it directly.
    pub(crate) report: &'a mut Report,
}

impl<'a> Fields<'a> {
    /// Reads `object` at the report's present place.
    pub(crate) fn new(object: &'a Map<String, Value>, report: &'a mut Report) -> Self {
        Self { object, report }
    }

    /// A field that must be there.
    pub(crate) fn required<T: Take>(&mut self, name: &'static str, take: T) -> Option<T::Out> {
        self.report.at(name, |report| match self.object.get(name) {
            Some(value) => take.take(value, report),
            None => report.refuse("missing", "Field required"),
        })
    }

    /// A field that may be absent or null: both give `None` (as does a wrong one, which is reported).
    pub(crate) fn optional<T: Take>(&mut self, name: &'static str, take: T) -> Option<T::Out> {
        match self.object.get(name) {
            None | Some(Value::Null) => None,
            Some(value) => self.report.at(name, |report| take.take(value, report)),
        }
    }

    /// A field that may be absent, but not null: a PATCH's, a default's.
    pub(crate) fn present<T: Take>(&mut self, name: &'static str, take: T) -> Option<T::Out> {
        let value = self.object.get(name)?;
        self.report.at(name, |report| take.take(value, report))
    }

    /// A field for which null has a meaning of its own: `None` absent, `Some(None)` null.
    pub(crate) fn nullable<T: Take>(&mut self, name: &'static str, take: T) -> Option<Option<T::Out>> {
        match self.object.get(name)? {
            Value::Null => Some(None),
            value => self.report.at(name, |report| take.take(value, report)).map(Some),
        }
    }

    /// A PATCH needs one of the named fields; with none, the rule is reported at the object.
    pub(crate) fn needs_any(&mut self, names: &[&str]) -> Option<()> {
        match self.has_any(names) {
            true => Some(()),
            false => self.report.rule("at least one field must be provided"),
        }
    }

    /// Whether any of the named fields was sent.
    pub(crate) fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.object.contains_key(*name))
    }
}

/// An object, read by a function over its fields.
pub(crate) struct Object<F>(pub(crate) F);

impl<T, F: Fn(&mut Fields<'_>) -> Option<T>> Take for Object<F> {
    type Out = T;

    fn take(&self, value: &Value, report: &mut Report) -> Option<T> {
        match value {
            Value::Object(object) => (self.0)(&mut Fields::new(object, report)),
            _ => report.refuse(
                "model_attributes_type",
                "Input should be a valid dictionary or object to extract fields from",
            ),
        }
    }
}

/// A list of `min` to `max` items. A list that is too long reports only that, not its items' problems.
pub(crate) struct ListOf<T> {
    /// How an item is read.
    pub(crate) item: T,
    /// At least this many.
    pub(crate) min: usize,
    /// At most this many.
    pub(crate) max: usize,
}

impl<T: Take> Take for ListOf<T> {
    type Out = Vec<T::Out>;

    fn take(&self, value: &Value, report: &mut Report) -> Option<Self::Out> {
        let Value::Array(items) = value else {
            return report.refuse("list_type", "Input should be a valid list");
        };
        let found = items.len();
        if found > self.max {
            return report.refuse_with(
                "too_long",
                count_message("at most", self.max, found),
                json!({
                    "field_type": "List", "max_length": self.max, "actual_length": found,
                }),
            );
        }
        if found < self.min {
            return report.refuse_with(
                "too_short",
                count_message("at least", self.min, found),
                json!({
                    "field_type": "List", "min_length": self.min, "actual_length": found,
                }),
            );
        }
        // Every item is read, so that one answer names all that are wrong.
        let taken: Vec<_> = items
            .iter()
            .enumerate()
            .map(|(index, item)| report.at(index, |report| self.item.take(item, report)))
            .collect();
        taken.into_iter().collect()
    }
}

fn count_message(bound: &str, limit: usize, found: usize) -> String {
    let plural = if limit == 1 { "" } else { "s" };
    format!("List should have {bound} {limit} item{plural} after validation, not {found}")
}
