//! How other people's servers are called: the HTTP client of all such calls, and, for those that the operator chose (a language
//! model, a speech recognizer), a few retries, a circuit breaker, `Retry-After`. The addresses of the latter come from settings, so
//! the rules for URLs that users set (`outside`) do not apply.

mod answers;
mod circuit;
mod client;
mod http;
mod learnt;
mod line;
mod retry_after;
mod turns;

pub use answers::{CHECK, LastAnswers};
pub use client::{BoxError, Client, Connections, is_timeout, json};
pub use http::{Broken, base_url, bearer, client, complaint, host, is_here, is_of_tls, read_at_most};
pub use learnt::Learnt;
pub use line::{Fault, Line, Meter, Patience, Unanswered};
pub use retry_after::asked_for;
