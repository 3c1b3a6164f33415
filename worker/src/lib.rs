//! Claim, run, complete, and deliver (DESIGN §1).
//!
//! [`Worker::run`] is the whole of it: per queue a fetcher that claims jobs for its free slots, behind an apalis
//! worker that starts each claimed job; per process a heartbeat that renews every lease in one statement,
//! and loops that send deliveries and pushes. No decision is made here: the ledger is asked, and its answer is
//! what counts.

#![allow(missing_docs, reason = "where a name says it all")]

mod worker;

mod backend;
mod fetcher;
mod material;
mod run;
mod run_slots;
mod shared;
mod spending;

mod byok;
mod delivered;

mod breaker;
mod chance;
mod heartbeat;
mod leases;
mod retry;

mod audio;
mod dispatcher;
mod fan_out;
mod indexing;
mod outcome;
mod push;

mod mcp;
mod metrics;
mod observer;
mod reporter;
mod sender_slots;
mod settings;
mod tools;
mod traces;

pub use audio::{AudioTap, AudioWebhooks};
pub use byok::{ByokRuns, EnginesWithKey, Reservation};
pub use delivered::DeliveredRuns;
pub use fan_out::Render;
pub use indexing::index;
pub use mcp::{McpFailure, McpServer};
pub use metrics::{ANSWERS, CALL_OUTCOMES, Metrics, OUTCOMES, STAGES, TOKEN_KINDS};
pub use observer::{Ended, RunEvent, RunObserver};
pub use run_slots::RunSlots;
pub use settings::Settings;
pub use tools::Tools;
pub use worker::{Health, Worker};
