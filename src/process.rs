//! What a process has once: its name, its source of chance, and its cryptography.

use std::sync::LazyLock;

use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};
use uuid::Uuid;

/// Chance comes in here, once per use.
pub(crate) fn chance() -> StdRng {
    #[expect(
        clippy::disallowed_methods,
        reason = "randomness is read only here and passed on as an argument"
    )]
    StdRng::from_rng(&mut rand::rng())
}

/// An id that nothing has yet.
pub(crate) fn new_id() -> Uuid {
    uuid::Builder::from_random_bytes(chance().random()).into_uuid()
}

/// What this process is called, in leases and wherever it speaks of itself: the same as long as it lives.
pub(crate) fn process_name() -> String {
    static NAME: LazyLock<String> = LazyLock::new(|| {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        named(&host, std::process::id(), &mut chance())
    });
    NAME.clone()
}

/// Host and number, for people, and a word of chance: containers that share a host's name are all number 1 of it, and so is
/// the next one after a restart.
fn named(host: &str, number: u32, chance: &mut StdRng) -> String {
    format!("{host}:{number}-{:06x}", chance.next_u32() >> 8)
}

/// One crypto library for outgoing calls and the database: ring. Installing it twice is harmless.
pub(crate) fn install_crypto() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_names_are_unique_per_host_pid_and_start() {
        let mut chance = StdRng::seed_from_u64(1);
        let (one, other) = (named("box", 1, &mut chance), named("box", 1, &mut chance));
        assert_ne!(one, other);
        assert!(one.starts_with("box:1-") && !one.contains('/'), "{one}");
        assert_eq!(process_name(), process_name());
    }
}
