//! A token bucket per key and process: a cheap guard against a client that has lost its temper.

use std::num::NonZeroU32;

use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};

use crate::Error;

/// Buckets are dropped when they are full again, once there are more than this many.
const BUCKETS_KEPT: usize = 10_000;

/// One bucket per key; none at all when switched off.
pub(crate) struct Limiter {
    buckets: Option<(NonZeroU32, DefaultKeyedRateLimiter<String>)>,
    clock: DefaultClock,
}

impl Limiter {
    /// Buckets of `requests` that fill up in a minute; 0 switches the limit off.
    pub(super) fn per_minute(requests: u32) -> Self {
        let buckets =
            NonZeroU32::new(requests).map(|size| (size, RateLimiter::keyed(Quota::per_minute(size))));
        Self { buckets, clock: DefaultClock::default() }
    }

    /// Takes a token from the key's bucket.
    ///
    /// # Errors
    /// [`Error::TooManyRequests`] when there is none.
    pub(crate) fn admit(&self, key_id: &str) -> Result<(), Error> {
        let Some((size, buckets)) = &self.buckets else { return Ok(()) };
        if buckets.len() > BUCKETS_KEPT {
            buckets.retain_recent();
        }
        buckets.check_key(&key_id.to_owned()).map_err(|early| Error::TooManyRequests {
            per_minute: size.get(),
            // Rounded up, so that the client does not come back a moment too early.
            retry_after: early.wait_time_from(self.clock.now()).as_secs() + 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_bucket_refuses_its_key_alone_and_says_for_how_long() {
        let limiter = Limiter::per_minute(2);
        assert!(limiter.admit("a").is_ok());
        assert!(limiter.admit("a").is_ok());
        assert!(matches!(
            limiter.admit("a"),
            Err(Error::TooManyRequests { per_minute: 2, retry_after: 1..=31 })
        ));
        assert!(limiter.admit("b").is_ok());
    }

    #[test]
    fn zero_switches_the_limit_off() {
        let limiter = Limiter::per_minute(0);
        assert!((0..10_000).all(|_| limiter.admit("a").is_ok()));
    }
}
