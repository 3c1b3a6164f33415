//! What the model server last answered, kept for operators.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use job::ErrorClass;
use stages::ServerAnswer;
use tokio::time::Instant;

/// When, what was wrong, and the status.
type Answer = (Instant, Option<ErrorClass>, Option<u16>);

/// The last answers of one server to one key. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Answers {
    called: Arc<Mutex<Option<Answer>>>,
    checked: Arc<Mutex<Option<Answer>>>,
}

impl Answers {
    pub(super) fn called(&self, class: Option<ErrorClass>, http_status: Option<u16>) {
        keep(&self.called, class, http_status);
    }

    pub(super) fn checked(&self, class: Option<ErrorClass>, http_status: Option<u16>) {
        keep(&self.checked, class, http_status);
    }

    /// The last call and the last check.
    pub(super) fn last(&self) -> (Option<ServerAnswer>, Option<ServerAnswer>) {
        (read(&self.called), read(&self.checked))
    }
}

fn keep(place: &Mutex<Option<Answer>>, class: Option<ErrorClass>, http_status: Option<u16>) {
    let http_status = http_status.filter(|_| class.is_some());
    *place.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), class, http_status));
}

fn read(place: &Mutex<Option<Answer>>) -> Option<ServerAnswer> {
    let answer = *place.lock().unwrap_or_else(PoisonError::into_inner);
    answer.map(|(at, class, http_status)| ServerAnswer { age: at.elapsed(), class, http_status })
}

/// How long a server may take to say that it is there.
pub(super) const CHECK: Duration = Duration::from_secs(10);
