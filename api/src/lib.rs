//! HTTP in: parse, ask the ledger, shape the answer.
//!
//! One file per resource under `routes/`; `read/` takes requests apart as FastAPI does, `shapes/` is what goes out
//! (webhooks included), `keys/` knows who calls, and `state/` is what every request passes. Nothing here decides
//! about a job, and nothing here can name a stage.

#![warn(clippy::indexing_slicing, clippy::string_slice)]
#![cfg_attr(test, allow(clippy::indexing_slicing, clippy::string_slice, reason = "a test may panic"))]

mod app;
mod app_servers;
mod audio_webhooks;
mod categorize;
mod chat;
mod deliveries;
#[allow(clippy::indexing_slicing, reason = "builds the document from literals of this crate")]
mod document;
#[allow(clippy::indexing_slicing, reason = "builds the document from literals of this crate")]
mod endpoint;
mod error;
mod front;
pub mod ids;
mod keyed;
pub mod keys;
mod live;
mod metrics;
mod read;
mod routes;
mod service;
mod settings;
pub mod shapes;

pub use app::{CheckUrl, run_requests_to_completion};
pub use app_servers::{AppServers, NoAppServers, NoManifest, NoMcpTools, NotOffered, offered};
pub use audio_webhooks::{AudioTap, AudioWebhooks, NoAudioWebhooks};
pub use categorize::{Categorize, Uncategorized};
pub use chat::{Chat, ChatApps, ChatSettings, EngineWithKey, NoChatApps, UserApps};
pub use deliveries::{Delivered, Deliveries, Invokers, NoDeliveries, NotInvoker};
use error::Error;
pub use error::page as error_codes;
pub use keyed::{ByokPermit, ByokRuns, NoByokRuns};
pub use keys::Scope;
pub use live::{Live, LiveSettings};
pub use metrics::Metrics;
pub use service::{document, router, router_with_ids};
pub use settings::{AppsMode, CheckKeys, Settings, WebPush};
