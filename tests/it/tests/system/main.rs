//! The whole system from outside: the real binary, HTTP, SQL and signals. Nothing of ours is linked in, so that
//! what these tests see is what an operator sees.
#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "these are tests: whatever is not as expected must fail them"
)]

mod binary;
mod client;
mod collector;
mod installation;
mod private_server;
mod process;
mod queue;
mod receiver;
mod server_programs;
mod socket;
mod tunnel;
mod world;

mod abuse;
mod apps;
mod assistant;
mod byok;
mod command_errors;
mod command_ids;
mod console;
mod database;
mod failures;
mod folders;
mod full_disk;
mod language_support;
mod listings;
mod live;
mod live_floods;
mod live_outage;
mod migrate_beside_a_dump;
mod migrate_interrupted;
mod model_calls;
mod operations;
mod outbox;
mod people;
mod pooler;
mod privacy;
mod proxy;
mod replay;
mod search_path;
mod settings_file;
mod shards;
mod shards_console;
mod shards_operated;
mod shards_orders;
mod shards_worked;
mod tasks;
mod tasks_credentials;
mod tasks_outage;
mod tasks_refused;
mod traces;
mod traces_of_background_work;
