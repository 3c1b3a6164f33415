//! How the servers that the operator chose are called (a language model, a speech recognizer): one HTTP
//! client, a few retries, a circuit breaker, `Retry-After`. Their addresses come from settings, so the rules
//! for URLs that users set (`outside`) do not apply.

mod answers;
mod circuit;
mod http;
mod line;
mod reader;
mod retry_after;

pub use answers::{CHECK, LastAnswers};
pub use http::{Broken, base_url, bearer, client, complaint, host, is_here, is_of_tls, read_at_most};
pub use line::{Fault, Line, Meter, Patience, Unanswered};
pub use reader::Reader;
pub use retry_after::asked_for;
