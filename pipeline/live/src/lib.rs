//! One live session, without its socket: what its frames look like, and what it does about them.
//!
//! [`Session`] is a pure machine: events go in, actions come out, and time is an argument. The task that owns the socket
//! carries the actions out and answers each with an event. Nothing here reads a clock, waits, or talks to anybody.

mod clock;
mod frames;
mod merge;
mod pace;
mod session;
mod shown;

pub use clock::StreamClock;
pub use frames::{
    ClientFrame, CloseCode, Interim, Malformed, ServerFrame, ServiceStatus, Shown, StatusFrame,
};
pub use merge::{Utterance, merge};
pub use pace::Pace;
pub use session::{Action, Conversation, Event, Lost, Session, Timing};
