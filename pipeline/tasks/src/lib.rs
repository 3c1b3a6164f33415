//! The task queue of the dispatch mode `cloud_tasks` (DESIGN §9): Google Cloud Tasks, or any service with the same two calls.
//!
//! Out: [`hand_over`] creates a named task for every dispatch of a job that the queue does not have, and
//! the reconciler asks whether a task is still there ([`TaskQueue::holds`]). In: [`Verifier`] decides whether a delivery comes from the
//! configured identity, by keys that [`Keys`] fetches and keeps.

mod dispatcher;
mod queue;
mod settings;

mod credentials;
mod task;

mod examine;

mod keys;
mod refusal;
mod token;
mod verifier;

mod metrics;

pub use credentials::{Access, NoCredentials};
pub use dispatcher::hand_over;
pub use examine::{Finding, examine};
pub use keys::Keys;
pub use metrics::{CREATE_OUTCOMES, Metrics, REFRESH_OUTCOMES};
pub use queue::TaskQueue;
pub use refusal::Refusal;
pub use reqwest::Url;
pub use settings::{QueueName, TaskQueueSettings};
pub use task::task_id;
pub use upstream::{base_url, is_here};
pub use verifier::{Clock, Expected, Verifier};
