//! Reading one value, and what is wrong with a request, in the shape of FastAPI's 422 answers.

use serde_json::Value;

use super::python_json::Unrepresentable;
use crate::{Problem, error::Step};

/// How one kind of value is read. `None` means that the report says why.
pub(crate) trait Take {
    /// What comes out.
    type Out;

    /// Reads `value`, or reports what is wrong at the report's present place.
    fn take(&self, value: &Value, report: &mut Report) -> Option<Self::Out>;

    /// What is taken, as a JSON Schema: what a client should send. What is taken laxly besides is not in it.
    fn schema(&self) -> Value;
}

/// Collects problems while a request is read; knows the place that is being read.
#[derive(Debug)]
pub(crate) struct Report {
    place: Vec<Step>,
    problems: Vec<Problem>,
    unrepresentable: Option<Unrepresentable>,
}

impl Report {
    /// Begins at a part of the request: `body`, `query` or `path`.
    pub(crate) fn of(part: &'static str) -> Self {
        Self::of_unrepresentable(part, None)
    }

    /// The same, of a part in which some values are not what they seem.
    pub(crate) fn of_unrepresentable(part: &'static str, unrepresentable: Option<Unrepresentable>) -> Self {
        Self { place: vec![part.into()], problems: Vec::new(), unrepresentable }
    }

    /// Takes the value one step further in: also of one that would do, if it is not what was sent.
    pub(crate) fn take<T: Take>(&mut self, step: impl Into<Step>, take: &T, value: &Value) -> Option<T::Out> {
        self.at(step, |report| {
            let taken = take.take(value, report)?;
            let inner = report.place.get(1..).unwrap_or_default();
            match report.unrepresentable.as_ref().and_then(|unrepresentable| unrepresentable.at(inner)) {
                Some(Unrepresentable::Number) => {
                    report.refuse("finite_number", "Input should be a finite number")
                }
                Some(Unrepresentable::Text) => report.refuse(
                    "string_unicode",
                    "Input should be a valid string, unable to parse raw data as a unicode string",
                ),
                Some(Unrepresentable::Inside(_)) | None => Some(taken),
            }
        })
    }

    /// Reads something one step further in.
    pub(crate) fn at<T>(&mut self, step: impl Into<Step>, read: impl FnOnce(&mut Self) -> T) -> T {
        self.place.push(step.into());
        let taken = read(self);
        self.place.pop();
        taken
    }

    /// Something is wrong here. Answers `None`, so that a take can end with it.
    pub(crate) fn refuse<T>(&mut self, kind: &'static str, msg: impl Into<String>) -> Option<T> {
        self.push(kind, msg.into(), None)
    }

    /// Something is wrong here, with the numbers or names that say what.
    pub(crate) fn refuse_with<T>(
        &mut self,
        kind: &'static str,
        msg: impl Into<String>,
        ctx: Value,
    ) -> Option<T> {
        self.push(kind, msg.into(), Some(ctx))
    }

    /// A rule of our own does not hold here.
    pub(crate) fn rule<T>(&mut self, text: &str) -> Option<T> {
        self.problems.push(Problem::rule(self.place.clone(), text));
        None
    }

    /// Whether nothing was wrong so far: rules between fields are only asked of fields that are right.
    pub(crate) fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    /// How many problems there are so far.
    pub(crate) fn len(&self) -> usize {
        self.problems.len()
    }

    /// What was read, or everything that is wrong with it.
    pub(crate) fn finish<T>(self, taken: Option<T>) -> Result<T, Vec<Problem>> {
        match taken {
            Some(taken) if self.problems.is_empty() => Ok(taken),
            _ => Err(self.problems),
        }
    }

    fn push<T>(&mut self, kind: &'static str, msg: String, ctx: Option<Value>) -> Option<T> {
        self.problems.push(Problem { kind, loc: self.place.clone(), msg, ctx });
        None
    }
}
