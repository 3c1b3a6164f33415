//! An endpoint's registration: method, path, access, idempotency, the time that it may take, request, answers and
//! documentation stand in one place. The router, the checks before a handler, and the OpenAPI document are derived
//! from it.

mod answer;
mod guard;
mod takes;

use std::sync::Arc;

use axum::{
    handler::Handler,
    routing::{MethodRouter, delete, get, patch, post},
};
use records::UserId;
use serde_json::Value;

pub(crate) use answer::Answer;
pub(crate) use guard::router;
pub(crate) use takes::{CURSOR, Takes, takes};

use crate::{
    Error, Scope,
    middleware::{Again, Anew, Resume},
    state::{AppState, Wait},
};

/// Who may call an endpoint. Every request with a developer key draws on the quota of its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Anyone, without a key. The handler itself asks for whatever it needs.
    Open,
    /// Any developer key.
    AnyKey,
    /// Developer keys with this scope.
    Scope(Scope),
    /// Keys of apps.
    App,
}

impl From<Scope> for Access {
    fn from(scope: Scope) -> Self {
        Self::Scope(scope)
    }
}

/// What a repeat of a request does.
#[derive(Clone)]
pub(crate) enum Repeats {
    /// It does what the first one did. There is no `Idempotency-Key`.
    Plain,
    /// With an `Idempotency-Key` it is answered as the first one was.
    Named {
        /// The answer when the first one was lost.
        again: Again,
        /// Hands on the keys that the repeat brings.
        resume: Option<Resume>,
    },
    /// The handler reads `Idempotency-Key` itself.
    ByHandler,
}

/// One method of one path.
#[derive(Clone)]
pub(crate) struct Endpoint {
    /// In small letters, as OpenAPI has it.
    pub(crate) method: &'static str,
    /// The route's pattern.
    pub(crate) path: &'static str,
    handler: MethodRouter<AppState>,
    pub(crate) access: Access,
    /// What a repeat does.
    pub(crate) repeats: Repeats,
    /// How long it may take.
    pub(crate) wait: Wait,
    /// The name that generated clients give it; empty: it is not in the document.
    pub(crate) id: &'static str,
    /// The heading under which it stands.
    pub(crate) tag: &'static str,
    /// A line.
    pub(crate) title: &'static str,
    /// A paragraph or two, in Markdown.
    pub(crate) description: &'static str,
    pub(crate) query: Option<Takes>,
    pub(crate) body: Option<RequestBody>,
    /// What it answers when all is well, and its own refusals.
    pub(crate) answers: Vec<Answer>,
    /// Whether it answers 304 to `If-None-Match`.
    pub(crate) conditional: bool,
    /// Whether it takes a user's own model key.
    pub(crate) takes_model_key: bool,
    /// Whether it can be 422 although it reads nothing.
    pub(crate) can_refuse: bool,
    /// What it says when the service is unavailable, if that is more than other endpoints say.
    pub(crate) unavailable: Option<&'static str>,
}

/// A body that is sent.
#[derive(Clone, Debug)]
pub(crate) struct RequestBody {
    /// The name of its schema.
    pub(crate) name: &'static str,
    pub(crate) fields: Takes,
    /// Whether it must be there.
    pub(crate) required: bool,
    pub(crate) example: Value,
}

macro_rules! methods {
    ($($method:ident)+) => {$(
        pub(crate) fn $method<T: 'static>(
            path: &'static str,
            access: impl Into<Access>,
            handler: impl Handler<T, AppState>,
        ) -> Self {
            Self::new(stringify!($method), path, access.into(), $method(handler))
        }
    )+};
}

impl Endpoint {
    methods!(get post patch delete);

    fn new(
        method: &'static str,
        path: &'static str,
        access: Access,
        handler: MethodRouter<AppState>,
    ) -> Self {
        Self {
            method,
            path,
            handler,
            access,
            repeats: Repeats::Plain,
            wait: Wait::Database,
            id: "",
            tag: "",
            title: "",
            description: "",
            query: None,
            body: None,
            answers: Vec::new(),
            conditional: false,
            takes_model_key: false,
            can_refuse: false,
            unavailable: None,
        }
    }

    /// Puts it into the document: the name that generated clients give it, and its title.
    pub(crate) fn named(self, id: &'static str, title: &'static str) -> Self {
        Self { id, title, ..self }
    }

    /// More words.
    pub(crate) fn says(self, description: &'static str) -> Self {
        Self { description, ..self }
    }

    /// Its query parameters.
    pub(crate) fn query(self, query: Takes) -> Self {
        Self { query: Some(query), ..self }
    }

    /// Its body, which must be there, and a right one.
    pub(crate) fn body(self, name: &'static str, fields: Takes, example: Value) -> Self {
        Self { body: Some(RequestBody { name, fields, required: true, example }), ..self }
    }

    /// Its body, which may be left out.
    pub(crate) fn optional_body(self, name: &'static str, fields: Takes, example: Value) -> Self {
        Self { body: Some(RequestBody { name, fields, required: false, example }), ..self }
    }

    /// What it answers.
    pub(crate) fn answers(mut self, answer: Answer) -> Self {
        self.answers.push(answer);
        self
    }

    /// 404, with the kind of thing that is missing.
    pub(crate) fn not_found(self, kind: &str) -> Self {
        self.answers(Answer::refusal(404, "The user has no such object.", &format!("{kind} not found")))
    }

    /// 409, with the words that say why.
    pub(crate) fn conflict(self, detail: &str) -> Self {
        self.answers(Answer::refusal(409, "The state does not allow it.", detail))
    }

    /// It creates something, once for each `Idempotency-Key`; `again` answers a repeat whose first answer was lost.
    pub(crate) fn creates<F>(self, again: fn(AppState, UserId, Vec<String>) -> F) -> Self
    where
        F: Future<Output = Result<Value, Error>> + Send + 'static,
    {
        let again = Arc::new(move |state, user, ids| Box::pin(again(state, user, ids)) as _);
        Self { repeats: Repeats::Named { again: Again::Kept(again), resume: None }, ..self }
    }

    /// It is done once for each `Idempotency-Key`; every repeat is answered by `again`, with the conversation as it is.
    pub(crate) fn shown_anew(self, again: Anew) -> Self {
        Self { repeats: Repeats::Named { again: Again::Anew(again), resume: None }, ..self }
    }

    /// `resume` gets the conversation and the model key of every repeat.
    pub(crate) fn resumes(self, wanted: Resume) -> Self {
        match self.repeats {
            Repeats::Named { again, .. } => {
                Self { repeats: Repeats::Named { again, resume: Some(wanted) }, ..self }
            }
            Repeats::Plain | Repeats::ByHandler => self,
        }
    }

    /// It takes an `Idempotency-Key`, and its handler reads it.
    pub(crate) fn creates_by_itself(self) -> Self {
        Self { repeats: Repeats::ByHandler, ..self }
    }

    /// It waits for more than the database.
    pub(crate) fn waits(self, wait: Wait) -> Self {
        Self { wait, ..self }
    }

    /// It knows `ETag` and `If-None-Match`.
    pub(crate) fn conditional(self) -> Self {
        Self { conditional: true, ..self }
    }

    /// It takes a user's own model key in a header.
    pub(crate) fn takes_model_key(self) -> Self {
        Self { takes_model_key: true, can_refuse: true, ..self }
    }

    /// It can be 422 although it reads nothing.
    pub(crate) fn can_refuse(self) -> Self {
        Self { can_refuse: true, ..self }
    }

    /// What it says when the service is unavailable.
    pub(crate) fn says_unavailable(self, words: &'static str) -> Self {
        Self { unavailable: Some(words), ..self }
    }

    /// Puts it under a heading.
    pub(crate) fn under(self, tag: &'static str) -> Self {
        Self { tag, ..self }
    }

    /// Whether it is in the document: pages and other protocols are not.
    pub(crate) fn is_documented(&self) -> bool {
        !self.id.is_empty()
    }
}
