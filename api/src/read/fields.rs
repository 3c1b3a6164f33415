//! Taking typed fields out of an object, and lists and objects inside it.

use serde_json::{Map, Value, json};

use super::{Report, Take, request_schema::RequestSchema};
use crate::error::Step;

/// So much of an unknown field's name is repeated to who sent it.
const LONGEST_NAME: usize = 100;

/// The fields of an object that is being read.
pub(crate) struct Fields<'a> {
    object: &'a Map<String, Value>,
    /// What is wrong so far; rules between fields speak to it directly.
    pub(crate) report: &'a mut Report,
    /// When the object is not there to be read, but to find out which fields would be.
    request: Option<&'a mut RequestSchema>,
}

impl<'a> Fields<'a> {
    /// Reads `object` at the report's present place.
    pub(crate) fn new(object: &'a Map<String, Value>, report: &'a mut Report) -> Self {
        Self { object, report, request: None }
    }

    /// Reads nothing, and notes every field that is asked for.
    pub(crate) fn for_schema(
        object: &'a Map<String, Value>,
        report: &'a mut Report,
        request: &'a mut RequestSchema,
    ) -> Self {
        Self { object, report, request: Some(request) }
    }

    /// A field that must be there.
    pub(crate) fn required<T: Take>(&mut self, name: &'static str, take: T) -> Option<T::Out> {
        if let Some(request) = &mut self.request {
            request.required(name, take.schema());
            return None;
        }
        match self.object.get(name) {
            Some(value) => self.report.take(name, &take, value),
            None => self.report.at(name, |report| report.refuse("missing", "Field required")),
        }
    }

    /// A field that may be absent or null: both give `None` (as does a wrong one, which is reported).
    pub(crate) fn optional<T: Take>(&mut self, name: &'static str, take: T) -> Option<T::Out> {
        if let Some(request) = &mut self.request {
            request.nullable(name, take.schema());
        }
        match self.object.get(name) {
            None | Some(Value::Null) => None,
            Some(value) => self.report.take(name, &take, value),
        }
    }

    /// A field that may be absent, but not null: a PATCH's, a default's.
    pub(crate) fn present<T: Take>(&mut self, name: &'static str, take: T) -> Option<T::Out> {
        if let Some(request) = &mut self.request {
            request.present(name, take.schema());
        }
        let value = self.object.get(name)?;
        self.report.take(name, &take, value)
    }

    /// A field for which null has a meaning of its own: `None` absent, `Some(None)` null.
    pub(crate) fn nullable<T: Take>(&mut self, name: &'static str, take: T) -> Option<Option<T::Out>> {
        if let Some(request) = &mut self.request {
            request.nullable(name, take.schema());
        }
        match self.object.get(name)? {
            Value::Null => Some(None),
            value => self.report.take(name, &take, value).map(Some),
        }
    }

    /// A rule of our own does not hold for a field.
    pub(crate) fn refuse(&mut self, name: &'static str, words: &str) {
        let _: Option<()> = self.report.at(name, |report| report.rule(words));
    }

    /// A PATCH needs one of the named fields; with none, the rule is reported at the object.
    pub(crate) fn needs_any(&mut self, names: &[&'static str]) -> Option<()> {
        match self.has_any(names) {
            true => Some(()),
            false => self.report.rule("at least one field must be provided"),
        }
    }

    /// An object that has no fields besides the `known` ones: every other one is reported.
    pub(crate) fn nothing_else(&mut self, known: &[&'static str]) {
        for name in self.object.keys().filter(|name| !known.contains(&name.as_str())) {
            let name: String = name.chars().take(LONGEST_NAME).collect();
            self.report.at(Step::Name(name.into()), |report| {
                report.refuse::<()>("extra_forbidden", "Extra inputs are not permitted")
            });
        }
    }

    /// Whether any of the named fields was sent.
    pub(crate) fn has_any(&mut self, names: &[&'static str]) -> bool {
        if let Some(request) = &mut self.request {
            request.any_of(names);
        }
        names.iter().any(|name| self.object.contains_key(*name))
    }
}

impl RequestSchema {
    /// Asks `read` which fields it takes. It is handed an empty object, and whatever it makes of that is dropped.
    pub(crate) fn of<T>(read: impl FnOnce(&mut Fields<'_>) -> Option<T>) -> Self {
        let (empty, mut report, mut request) = (Map::new(), Report::of("body"), Self::default());
        let _: Option<T> = read(&mut Fields::for_schema(&empty, &mut report, &mut request));
        request
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

    fn schema(&self) -> Value {
        RequestSchema::of(&self.0).schema()
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
        let taken: Vec<_> =
            items.iter().enumerate().map(|(index, item)| report.take(index, &self.item, item)).collect();
        taken.into_iter().collect()
    }

    fn schema(&self) -> Value {
        let mut schema =
            Map::from_iter([("type".to_owned(), "array".into()), ("items".to_owned(), self.item.schema())]);
        if self.min > 0 {
            schema.insert("minItems".to_owned(), self.min.into());
        }
        if self.max < usize::MAX {
            schema.insert("maxItems".to_owned(), self.max.into());
        }
        schema.into()
    }
}

fn count_message(bound: &str, limit: usize, found: usize) -> String {
    let plural = if limit == 1 { "" } else { "s" };
    format!("List should have {bound} {limit} item{plural} after validation, not {found}")
}
