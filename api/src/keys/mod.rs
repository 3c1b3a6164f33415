//! Keys: their text, how requests present them, and what they may do.

mod base62;
mod header;
mod scope;
mod text;

pub use scope::Scope;
pub use text::{NewKeyText, generate, generate_app_key};

pub(crate) use header::{bearer, hash_of};
pub(crate) use text::{hash_of_presented, hash_of_presented_app_key, shard_in};
