//! Guarded HTTP to other people's servers (DECISIONS §6): no user may use this service to reach what
//! only the service can reach, or to hold it up.
//!
//! A URL is judged twice. [`Guard::check_url`] judges what can be seen in it, when the API receives it and again
//! before each call, then also the addresses that its name turns out to have, and connects to no others: a name which changes its
//! mind between the two gains nothing.

#![warn(clippy::indexing_slicing, clippy::string_slice)]
#![cfg_attr(test, allow(clippy::indexing_slicing, clippy::string_slice, reason = "a test may panic"))]

mod caller;
mod clients;
mod guard;
mod lookup;
mod names;
mod resolver;
mod sender;
mod signature;
mod special;
mod web_push;

pub use caller::{Call, Caller, Heard};
pub use clients::{CannotSend, Failure};
pub use guard::{Guard, Refused};
pub use lookup::{Lookup, SystemLookup};
/// The types of [`Guard::check_url`] and [`Sender::post`], and of a [`Call`].
pub use reqwest::{Method, Url};
pub use sender::{Answer, Sender};
pub use signature::{BadSecret, new_secret, signed_headers};
pub use web_push::{BadKeys, BadVapid, BrowserKeys, Vapid, web_push};
