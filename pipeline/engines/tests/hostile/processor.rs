//! The processor time of this thread: what is measured beside other work on the same machine stays comparable.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// How long this thread has run; where Linux does not tell, how much time has passed.
pub(crate) fn time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ran = told.and_then(|told| told.split(' ').next()?.parse().ok());
    ran.map_or_else(|| BEGAN.elapsed(), Duration::from_nanos)
}
