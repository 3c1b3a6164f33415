//! Live sessions over real sockets.

mod abuse;
mod asyncapi;
mod audio;
mod client;
mod closing;
mod engine;
mod faults;
mod handshake;
mod lifecycle;
mod webhook;
