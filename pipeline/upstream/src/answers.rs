//! What a server last answered, kept for operators.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a server may take to say that it is there.
pub const CHECK: Duration = Duration::from_secs(10);

/// The last answers of one server to one key: what is kept of each is the engine's to say. Clones share them.
#[derive(Clone, Debug)]
pub struct LastAnswers<A> {
    called: Arc<Mutex<Option<(Instant, A)>>>,
    checked: Arc<Mutex<Option<(Instant, A)>>>,
}

impl<A> Default for LastAnswers<A> {
    fn default() -> Self {
        Self { called: Arc::default(), checked: Arc::default() }
    }
}

impl<A: Copy> LastAnswers<A> {
    /// Keeps what a call came to.
    pub fn called(&self, answer: A) {
        keep(&self.called, answer);
    }

    /// Keeps what a check came to.
    pub fn checked(&self, answer: A) {
        keep(&self.checked, answer);
    }

    /// The last call, and how long ago it was.
    pub fn last_call(&self) -> Option<(Duration, A)> {
        read(&self.called)
    }

    /// The last check, and how long ago it was.
    pub fn last_check(&self) -> Option<(Duration, A)> {
        read(&self.checked)
    }
}

fn keep<A>(kept: &Mutex<Option<(Instant, A)>>, answer: A) {
    *kept.lock() = Some((Instant::now(), answer));
}

fn read<A: Copy>(kept: &Mutex<Option<(Instant, A)>>) -> Option<(Duration, A)> {
    let answer = *kept.lock();
    answer.map(|(at, answer)| (at.elapsed(), answer))
}
