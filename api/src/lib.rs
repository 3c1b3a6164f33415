//! HTTP in: parse, ask the ledger, shape the answer.
//!
//! To be read from the bottom: `state/` is what every handler is handed; `read/` takes requests apart as FastAPI does and
//! `caller` knows who calls; `middleware/` is what every request passes, and `endpoint/` what is registered; `routes/` has one
//! file per resource and `shapes/` what goes out (webhooks included); `service` makes the router. Nothing here decides about a
//! job, and nothing here can name a stage.

#![allow(missing_docs, reason = "where a name says it all")]
#![warn(clippy::indexing_slicing, clippy::string_slice)]
#![cfg_attr(test, allow(clippy::indexing_slicing, clippy::string_slice, reason = "a test may panic"))]

mod app_servers;
mod caller;
mod chat;
mod completion;
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
mod middleware;
mod ports;
mod read;
mod registry;
mod routes;
mod service;
mod settings;
pub mod shapes;
mod state;

pub use app_servers::{AppServers, NoAppServers, NoManifest, NoMcpTools, NotOffered, offered};
pub use completion::run_requests_to_completion;
pub use error::page as error_codes;
use error::{Answered, Error, Reply};
pub use keyed::{ByokPermit, ByokRuns, NoByokRuns};
pub use keys::Scope;
pub use metrics::Metrics;
pub use ports::{
    AudioTap, AudioWebhooks, Categorize, Deliveries, Invokers, NoAudioWebhooks, NoDeliveries, NotInvoker,
    Uncategorized,
};
pub use read::parsed_size;
pub use registry::{Chat, Live};
pub use service::{document, router, router_with_ids};
pub use settings::{
    AppsMode, ChatApps, ChatSettings, CheckKeys, EngineWithKey, LiveSettings, NoChatApps, Settings, UserApps,
    WebPush,
};
pub use state::CheckUrl;
pub(crate) use {
    caller::Caller,
    endpoint::{Access, Answer, Endpoint, takes},
    error::{Code, Problem},
    state::AppState,
};
