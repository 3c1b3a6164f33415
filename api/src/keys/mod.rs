//! Developer keys: their text, what they may do, and who calls with them.

mod base62;
mod caller;
mod scope;
mod text;

pub use scope::Scope;
pub use text::{NewKeyText, generate};

pub(crate) use caller::{Caller, bearer, hash_of};
