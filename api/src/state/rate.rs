//! A token bucket per user and process: a cheap guard against a client that has lost its temper. All keys of a user draw on
//! one bucket: a user may make as many keys as they like. Every answer to a key
//! says how its bucket stands (draft-ietf-httpapi-ratelimit-headers-10).

use std::{
    num::NonZeroU32,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock, QuantaInstant},
    middleware::StateInformationMiddleware,
};

use records::UserId;

use crate::{Error, error::Code};

/// Buckets are dropped when they are full again, once there are more than this many.
const BUCKETS_KEPT: usize = 10_000;
/// How many requests pass between two looks for buckets that are full again.
const SWEEP_EVERY: u32 = 1_024;
/// Buckets fill up in a minute.
const WINDOW_SECONDS: u32 = 60;

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LEFT: HeaderName = HeaderName::from_static("ratelimit");

type Buckets = RateLimiter<
    UserId,
    governor::state::keyed::DefaultKeyedStateStore<UserId>,
    DefaultClock,
    StateInformationMiddleware,
>;

/// One bucket per user; none at all when switched off.
pub(crate) struct Limiter {
    buckets: Option<(NonZeroU32, Buckets)>,
    clock: DefaultClock,
    /// How many requests have asked.
    asked: AtomicU32,
}

/// How a user's bucket stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    size: u32,
    /// Requests that it still lets in at once.
    requests: u32,
    /// Whole seconds until it lets one more in than that.
    more_in: u64,
}

/// What came of asking a bucket.
#[derive(Debug)]
pub(crate) struct Counted {
    /// How the bucket stands now; `None` when there are no buckets.
    pub(crate) left: Option<Left>,
    /// Whether the request is let in.
    pub(crate) admitted: Result<(), Error>,
}

impl Limiter {
    /// Buckets of `requests` that fill up in a minute; 0 switches the limit off.
    pub(super) fn per_minute(requests: u32) -> Self {
        let buckets = NonZeroU32::new(requests).map(|size| {
            let plain: DefaultKeyedRateLimiter<UserId> = RateLimiter::keyed(Quota::per_minute(size));
            (size, plain.with_middleware::<StateInformationMiddleware>())
        });
        Self { buckets, clock: DefaultClock::default(), asked: AtomicU32::default() }
    }

    /// Takes a token from the user's bucket, or returns [`Code::TooManyRequests`] when it is empty.
    pub(crate) fn admit(&self, user: &UserId) -> Counted {
        let Some((size, buckets)) = &self.buckets else { return Counted { left: None, admitted: Ok(()) } };
        // To look at every bucket at every request would be what many keys cost.
        if self.asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(SWEEP_EVERY)
            && buckets.len() > BUCKETS_KEPT
        {
            buckets.retain_recent();
        }
        let size = size.get();
        match buckets.check_key(user) {
            Ok(state) => {
                let (requests, more_in) =
                    (state.remaining_burst_capacity(), WINDOW_SECONDS.div_ceil(size).into());
                Counted { left: Some(Left { size, requests, more_in }), admitted: Ok(()) }
            }
            Err(early) => {
                let retry_after = whole_seconds(&early, self.clock.now());
                Counted {
                    left: Some(Left { size, requests: 0, more_in: retry_after }),
                    admitted: Err(Error::Later(Code::TooManyRequests, retry_after)),
                }
            }
        }
    }
}

/// Rounded up, so that the client does not come back a moment too early.
fn whole_seconds(early: &governor::NotUntil<QuantaInstant>, now: QuantaInstant) -> u64 {
    early.wait_time_from(now).as_secs() + 1
}

/// The state of the caller's bucket: passed along with a request, written into its answer as `RateLimit` and `RateLimit-Policy`.
/// A request without a live key gets no header.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateLimitHeaders(Arc<OnceLock<Left>>);

impl RateLimitHeaders {
    /// Records the state of the bucket.
    pub(crate) fn note(&self, left: Left) {
        // A request asks its bucket once: its caller is remembered.
        let _ = self.0.set(left);
    }

    /// Writes `RateLimit` and `RateLimit-Policy`.
    pub(crate) fn put(&self, headers: &mut HeaderMap) {
        let Some(Left { size, requests, more_in }) = self.0.get() else { return };
        let fields = [
            (POLICY, format!("\"user\";q={size};w={WINDOW_SECONDS}")),
            (LEFT, format!("\"user\";r={requests};t={more_in}")),
        ];
        for (name, text) in fields {
            if let Ok(value) = HeaderValue::try_from(text) {
                headers.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "tests")]

    use super::*;

    #[test]
    fn empty_rate_bucket_refuses_only_its_user_with_retry_after() {
        let limiter = Limiter::per_minute(2);
        let left = |requests| Some(Left { size: 2, requests, more_in: 30 });
        for requests in [1, 0] {
            let counted = limiter.admit(&UserId::new("a"));
            assert!(counted.admitted.is_ok());
            assert_eq!(counted.left, left(requests));
        }
        let refused = limiter.admit(&UserId::new("a"));
        let Err(Error::Later(Code::TooManyRequests, retry_after @ 1..=31)) = refused.admitted else {
            panic!("{refused:?}")
        };
        // A client that obeys `Retry-After` is not earlier than `t`.
        assert_eq!(refused.left, Some(Left { size: 2, requests: 0, more_in: retry_after }));
        assert_eq!(limiter.admit(&UserId::new("b")).left, left(1));
    }

    #[test]
    fn zero_switches_the_rate_limit_off() {
        let limiter = Limiter::per_minute(0);
        let all_let_in = (0..10_000).map(|_| limiter.admit(&UserId::new("a")));
        assert!(all_let_in.into_iter().all(|counted| counted.admitted.is_ok() && counted.left.is_none()));
    }

    #[test]
    fn full_rate_buckets_are_dropped() {
        // A token comes back every six microseconds, so that next to all buckets are full again at every look.
        let limiter = Limiter::per_minute(10_000_000);
        let most = BUCKETS_KEPT + 2 * SWEEP_EVERY as usize;
        for id in 0..2 * most {
            assert!(limiter.admit(&UserId::new(id.to_string())).admitted.is_ok());
        }
        let kept = limiter.buckets.as_ref().map(|(_, buckets)| buckets.len());
        assert!(kept.is_some_and(|kept| kept <= most), "{kept:?}");
    }
}
