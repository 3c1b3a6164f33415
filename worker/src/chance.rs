//! Chance is an argument: every jitter of this room comes out of one seeded generator.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// A generator that all loops of a process share. The same seed draws the same numbers.
#[derive(Clone)]
pub(crate) struct Chance(Arc<Mutex<StdRng>>);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(StdRng::seed_from_u64(seed))))
    }

    /// Thousandths of jitter, in −`reach`..=`reach`.
    pub(crate) fn permille(&self, reach: i32) -> i32 {
        let mut generator = self.0.lock();
        generator.random_range(-reach..=reach)
    }

    /// 32 hex digits, for the id of a call.
    pub(crate) fn id(&self) -> String {
        let mut generator = self.0.lock();
        format!("{:032x}", generator.random::<u128>())
    }

    /// `duration` with up to a fifth added or taken away, so that processes that failed together do not
    /// come back together.
    pub(crate) fn around(&self, duration: Duration) -> Duration {
        let thousandths = 1_000 + self.permille(200);
        duration * thousandths.unsigned_abs() / 1_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_stays_within_a_fifth_and_varies() {
        let chance = Chance::new(7);
        let second = Duration::from_secs(1);
        let drawn: Vec<Duration> = (0..100).map(|_| chance.around(second)).collect();
        assert!(drawn.iter().all(|wait| (800..=1_200).contains(&wait.as_millis())));
        assert!(drawn.iter().any(|wait| *wait != drawn[0]));
    }
}
