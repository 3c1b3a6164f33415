//! What an endpoint answers.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use crate::{
    error::{Code, example, example_of},
    shapes::{Problem, Shape},
};

/// Writes the schema of one type.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Value;

/// One status of one endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) words: &'static str,
    pub(crate) schema: Option<SchemaOf>,
    pub(crate) examples: Vec<Value>,
    pub(crate) headers: Vec<&'static str>,
    /// Where to go on: the operation, the name of its id, and where the id stands in this answer's body.
    pub(crate) links: Vec<(&'static str, &'static str, &'static str)>,
    /// Whether the same comes as a stream of events to clients that ask for no JSON.
    pub(crate) streamed: bool,
}

fn one<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

impl Answer {
    /// 200 with a `T`.
    pub(crate) fn one<T: Shape>(words: &'static str) -> Self {
        Self { schema: Some(one::<T>), examples: vec![T::example()], ..Self::bare(200, words) }
    }

    /// 200 with a page of `T`, and a `Link` header.
    pub(crate) fn page<T: Shape>() -> Self {
        Self { words: "A page. `Link` names the next and the previous one.", ..Self::all::<T>() }
            .with_header("Link")
    }

    /// 200 with every `T` there is.
    pub(crate) fn all<T: Shape>() -> Self {
        Self {
            schema: Some(one::<Vec<T>>),
            examples: vec![json!([T::example()])],
            ..Self::bare(200, "All of them.")
        }
    }

    /// A status without a body.
    pub(crate) fn bare(status: u16, words: &'static str) -> Self {
        Self {
            status,
            words,
            schema: None,
            examples: Vec::new(),
            headers: Vec::new(),
            links: Vec::new(),
            streamed: false,
        }
    }

    /// A refusal in one sentence.
    pub(crate) fn refusal(status: u16, words: &'static str, detail: &str) -> Self {
        let examples = vec![example(status, detail)];
        Self { schema: Some(one::<Problem>), examples, ..Self::bare(status, words) }
    }

    /// The same with a code that has several words.
    pub(crate) fn refusal_of(code: Code, words: &'static str, detail: &str) -> Self {
        let examples = vec![example_of(code, detail)];
        Self { schema: Some(one::<Problem>), examples, ..Self::bare(code.status().as_u16(), words) }
    }

    /// A header of `components.headers` that comes with it.
    pub(crate) fn with_header(mut self, name: &'static str) -> Self {
        self.headers.push(name);
        self
    }

    /// The same comes as a stream of events to clients that ask for no JSON.
    pub(crate) fn also_streamed(self) -> Self {
        Self { streamed: true, ..self }
    }

    /// Where to go on: the operation, the name of its id, and where the id stands in this answer's body.
    pub(crate) fn leads_to(
        mut self,
        operation: &'static str,
        parameter: &'static str,
        pointer: &'static str,
    ) -> Self {
        self.links.push((operation, parameter, pointer));
        self
    }
}
