//! The subcommands, a file each. `serve`, `dev` and `demo` stand beside this module: what they start (the console) shows some
//! things in the words of these commands.

pub(crate) mod apps;
pub(crate) mod audit;
pub(crate) mod config;
pub(crate) mod consent;
pub(crate) mod docs;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod folders;
pub(crate) mod healthcheck;
pub(crate) mod ids;
pub(crate) mod jobs;
pub(crate) mod keys;
pub(crate) mod live;
mod living;
pub(crate) mod migrate;
mod named;
mod outage;
mod over_shards;
pub(crate) mod paging;
mod progress;
pub(crate) mod replays;
pub(crate) mod secrets;
pub(crate) mod stderr;
pub(crate) mod stdout;
pub(crate) mod table;
pub(crate) mod times;
pub(crate) mod users;
pub(crate) mod verify;
pub(crate) mod webhooks;
