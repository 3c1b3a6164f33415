//! Pages that could not be made, and what to do about it.

use axum::{
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use db::Trouble;

use ledger::Ledger;

use super::page::{Frame, Message, render_as};
use crate::over_shards::Absence;

/// Why there is no page.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// The ledger could not be read, and nothing was to be written.
    Database,
    /// A migration has changed the schema since the session planned its statements.
    Migrated,
    /// The ledger did not answer while something was to be written: it may be written all the same, or a part of it.
    Halfway,
    /// An order for many rows ended before the last of them.
    TimeIsOver,
    /// There is nothing of that name.
    Missing(String),
    /// The ledger says no.
    Refused(String),
    /// What was typed cannot be read.
    Unreadable(String),
    /// No key is configured, and this is not the machine itself.
    Closed,
    /// The proxy did not say who it is.
    Unnamed,
    /// The header of the proxy came more than once.
    NamedTwice,
    /// Their session ended while a page of theirs was open.
    SignedOut,
    /// They may read.
    MayNotAct,
    /// The form was not made for this visitor.
    ForeignForm,
    /// A change without a reason.
    NoReason,
    /// A form of more than any of ours holds.
    TooLong,
    /// The schema is not this program's.
    Schema,
    /// The database answers, and what a page of ours asked of it cannot be done.
    Defect,
    /// A template cannot be written: a defect of ours, whatever the database does.
    Unwritten,
}

/// A page, or the error that is shown instead.
pub(super) type Shown = Result<Response, Fault>;

/// Where an action leads, or why it is not reported as done.
pub(super) type Acted = Result<Redirect, Undone>;

impl From<db::Error> for Fault {
    fn from(error: db::Error) -> Self {
        let fault = Self::of(&error);
        match fault {
            Self::Defect => {
                tracing::error!(%error, "what a page of the console asked of the database cannot be done");
            }
            _ => tracing::warn!(%error, "a page of the console could not be made"),
        }
        fault
    }
}

/// Why nothing is reported as done: a fault of an action. A commit whose answer was lost, or the batches before the one
/// that failed, may have changed something.
#[derive(Debug)]
pub(super) struct Undone(Fault);

impl From<Fault> for Undone {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Database | Fault::Migrated => Self(Fault::Halfway),
            certain => Self(certain),
        }
    }
}

impl From<db::Error> for Undone {
    fn from(error: db::Error) -> Self {
        Fault::from(error).into()
    }
}

impl From<Absence> for Fault {
    fn from(absence: Absence) -> Self {
        match absence {
            Absence::Silent => Self::Database,
            Absence::Schema => Self::Schema,
            Absence::Fault => Self::Defect,
        }
    }
}

impl Undone {
    /// Of errors of several shards the one that leaves most open: that something may have been done is not hidden behind what
    /// certainly was not.
    pub(super) fn worst(errors: impl IntoIterator<Item = Self>) -> Option<Self> {
        errors.into_iter().min_by_key(|error| !matches!(error.0, Fault::Halfway))
    }

    /// What an address calls it where the database gave no answer.
    pub(super) const HALFWAY: &'static str = "halfway";

    /// What an address calls it, of what an error of the database is.
    pub(super) fn name(&self) -> &'static str {
        match self.0 {
            Fault::Schema => "schema",
            Fault::Defect => "defect",
            Fault::TimeIsOver => "time-is-over",
            _ => Self::HALFWAY,
        }
    }

    /// From its name.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        let all = [Fault::Schema, Fault::Defect, Fault::TimeIsOver, Fault::Halfway].map(Self);
        all.into_iter().find(|undone| undone.name() == name)
    }

    /// Its heading and its text, for a page that says more.
    pub(super) fn words(self) -> (&'static str, String) {
        let is_schema = matches!(self.0, Fault::Schema);
        let (_, heading, text) = self.0.words();
        // To load such a page again orders nothing.
        let again = "The database answers. Run `listen migrate`, then give the order again.";
        (heading, if is_schema { again.to_owned() } else { text })
    }
}

impl IntoResponse for Undone {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}

impl Fault {
    /// What an error of the database is to a page, without a word in the log.
    pub(super) fn of(error: &db::Error) -> Self {
        match error.trouble() {
            Some(Trouble::Schema) => Self::Schema,
            Some(Trouble::Rights) => Self::Defect,
            None if error.is_of_an_old_plan() => Self::Migrated,
            Some(_) => Self::Database,
            None if error.is_passing() => Self::Database,
            None => Self::Defect,
        }
    }

    /// The status of a form that is too long.
    pub(super) const TOO_LONG: StatusCode = StatusCode::PAYLOAD_TOO_LARGE;

    fn words(self) -> (StatusCode, &'static str, String) {
        match self {
            Self::Migrated => (
                StatusCode::SERVICE_UNAVAILABLE,
                "The schema has just changed",
                "Nothing was changed by this page. Load it again.".to_owned(),
            ),
            Self::Database => (
                StatusCode::SERVICE_UNAVAILABLE,
                "The database does not answer",
                "The log says what went wrong. Nothing was changed by this page.".to_owned(),
            ),
            Self::Halfway => (
                StatusCode::SERVICE_UNAVAILABLE,
                "The database does not answer",
                "The log says what went wrong. What you asked for may have been done, or a part of it: look before \
                 you ask again."
                    .to_owned(),
            ),
            Self::TimeIsOver => (
                StatusCode::SERVICE_UNAVAILABLE,
                "The time of one form is over",
                "The others are as they were: give the order again, and it goes on with them.".to_owned(),
            ),
            Self::Missing(what) => (StatusCode::NOT_FOUND, "Not found", what),
            Self::Refused(why) => (StatusCode::CONFLICT, "That is not possible", why),
            Self::Unreadable(what) => (StatusCode::UNPROCESSABLE_ENTITY, "That cannot be read", what),
            Self::Closed => (
                StatusCode::FORBIDDEN,
                "The console is closed",
                "It answers this machine alone until it knows who asks: set LISTEN_CONSOLE_KEYS, or put an \
                 authenticating proxy in front and set LISTEN_CONSOLE_USER_HEADER."
                    .to_owned(),
            ),
            Self::Unnamed => (
                StatusCode::UNAUTHORIZED,
                "Sign in first",
                "The proxy in front of the console did not send the header of LISTEN_CONSOLE_USER_HEADER."
                    .to_owned(),
            ),
            Self::NamedTwice => (
                StatusCode::BAD_REQUEST,
                "The request names two visitors",
                "The header of LISTEN_CONSOLE_USER_HEADER came more than once. The proxy in front of the console must \
                 drop what visitors send under that name, and set it once."
                    .to_owned(),
            ),
            Self::SignedOut => (
                StatusCode::UNAUTHORIZED,
                "You are signed out",
                "Load the page again to sign in.".to_owned(),
            ),
            Self::MayNotAct => (
                StatusCode::FORBIDDEN,
                "You may read, not act",
                "To act, sign in with the key of an operator; LISTEN_CONSOLE_KEYS says who is one.".to_owned(),
            ),
            Self::ForeignForm => (
                StatusCode::FORBIDDEN,
                "This form is too old",
                "It was not made for your session, so nothing was changed. Go back, load the page again, and repeat it."
                    .to_owned(),
            ),
            Self::NoReason => (
                StatusCode::UNPROCESSABLE_ENTITY,
                "A reason is missing",
                "Nothing was changed. Go back and write 3 to 500 characters that tell the next operator why.".to_owned(),
            ),
            Self::TooLong => (
                Self::TOO_LONG,
                "That is too long",
                "Nothing was changed. No form of the console holds more than 64 KiB.".to_owned(),
            ),
            Self::Schema => (
                StatusCode::SERVICE_UNAVAILABLE,
                "The schema is not this program's",
                "The database answers. Run `listen migrate`, then load the page again.".to_owned(),
            ),
            Self::Defect => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "That did not work",
                "The database answers. What this page asked of it failed, and would fail again; the log says why.".to_owned(),
            ),
            Self::Unwritten => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "This page cannot be written",
                "That is a defect of listen, and not of the database. Nothing was changed; the log says more.".to_owned(),
            ),
        }
    }
}

impl From<askama::Error> for Fault {
    fn from(error: askama::Error) -> Self {
        tracing::error!(%error, "a page of the console could not be written");
        Self::Unwritten
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let mut response = self.clone().page(Frame::bare);
        // For those who know the visitor: the page keeps its menu.
        response.extensions_mut().insert(self);
        response
    }
}

impl Fault {
    /// Whether it is known who asks: their page keeps its menu.
    pub(super) fn has_visitor(&self) -> bool {
        !matches!(self, Self::Closed | Self::Unnamed | Self::NamedTwice | Self::SignedOut)
    }

    /// Its page, in the frame that is made for its heading.
    pub(super) fn page(self, frame: impl FnOnce(&'static str) -> Frame) -> Response {
        let (status, heading, text) = self.words();
        render_as(status, &Message { frame: frame(heading), text: vec![text], parts: Vec::new() })
    }
}

/// Waits for what a page shows no longer than for any answer of the database.
///
/// # Errors
/// Those of `page`; [`Fault::Database`] when it did not end in time.
pub(super) async fn in_time<T>(
    ledger: &Ledger,
    page: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    let made = ledger.db().in_time(async { Ok(page.await) }).await?;
    if let Err(Fault::Migrated) = made {
        ledger.db().replan();
    }
    made
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use ledger::{Ledger, Settings};
    use sqlx::postgres::PgConnectOptions;

    use super::*;

    #[test]
    fn page_that_fails_to_render_does_not_blame_the_database() {
        let (status, heading, _) = Fault::from(askama::Error::Fmt).words();
        assert_eq!((status, heading), (StatusCode::INTERNAL_SERVER_ERROR, "This page cannot be written"));
    }

    #[tokio::test(start_paused = true)]
    async fn page_without_an_answer_in_time_is_a_database_outage() {
        // Nothing is asked of any database.
        let ledger = Ledger::new(PgConnectOptions::new_without_pgpass(), Settings::default());
        let silent: Result<(), Fault> = in_time(&ledger, pending()).await;
        assert!(matches!(silent, Err(Fault::Database)), "{silent:?}");
        let quick = in_time(&ledger, async { Ok(7) }).await;
        assert!(matches!(quick, Ok(7)), "{quick:?}");
    }
}
