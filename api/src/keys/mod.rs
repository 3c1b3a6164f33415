//! Developer keys: their text, what they may do, and who calls with them.

mod app_caller;
mod base62;
mod breaker;
mod caller;
mod directory;
mod scope;
mod text;

pub use scope::Scope;
pub use text::{NewKeyText, generate, generate_app_key};

pub(crate) use app_caller::AppCaller;
pub(crate) use caller::{Caller, bearer, hash_of};
pub(crate) use directory::Directory;
