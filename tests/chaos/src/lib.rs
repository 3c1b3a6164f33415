//! Chaos: the real binary on a real, durable PostgreSQL, under load, while things break; then a checker that
//! trusts no part of the service.
//!
//! Nothing of the service is linked in. The history of every job comes from triggers that only this kit installs; what
//! clients, receivers and the model got is recorded by the kit itself. The rules in `check` read these records and the
//! tables, and a run with one offending row has failed.
#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "for tests only: where the kit itself cannot work, a run says nothing and must stop"
)]

mod attack;
mod balance;
#[path = "../../it/tests/system/built.rs"]
mod built;
mod check;
mod client;
mod fault;
mod fleet;
mod journal;
mod load;
mod model;
mod neighbours;
mod operator;
mod people;
mod plan;
mod postgres;
mod program;
mod queue;
mod receiver;
mod recovery;
mod report;
mod run;
#[path = "../../it/tests/system/server_programs.rs"]
mod server_programs;
mod settle;
mod world;

pub use attack::{Attacked, attack};
pub use neighbours::{Neighbours, neighbours};
pub use plan::{Dispatch, Plan};
pub use report::Report;
pub use run::run;

/// The program under test, brought up to date; `LISTEN_BINARY` names another one.
pub fn program() -> &'static std::path::Path {
    program::path()
}
