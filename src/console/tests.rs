//! The console from outside, on a database of a test's own: who gets in, who may act, and what is never shown.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]

mod acts;
mod apps;
mod doors;
mod helps;
mod hooks;
mod live;
mod orders;
mod reads;
mod sessions;
mod strange;
mod world;
