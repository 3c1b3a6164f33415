//! The numbers a decision goes by.

use chrono::Duration;

/// Durations and limits (DECISIONS §4 and §7). Defaults are the documented ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How long a lease lasts without renewal: 30 s.
    pub lease: Duration,
    /// How long one run may take, from its claim: 1,500 s.
    pub run_limit: Duration,
    /// Recorded failures that end in a dead letter: 5.
    pub max_attempts: u32,
    /// Expired leases that end in a dead letter: 5.
    pub max_crashes: u32,
    /// Up to that many runs, a crash is taken back when its holder proves that it lives: 20.
    pub max_late_runs: u32,
    /// A queued job that was not claimed for this long is checked: 300 s.
    pub staleness: Duration,
    /// Back-off after the 1st, 2nd, 3rd and every later failure: 30 s, 2 min, 8 min, 30 min; ±20 % is the caller's argument.
    pub back_off: [Duration; 4],
    /// Releases with a delay are free until this long after the last admission or replay: 24 h.
    pub release_window: Duration,
    /// A parked job is given up this long after it was first parked: 14 days.
    pub byok_deadline: Duration,
}

impl Policy {
    /// How long to wait after the `attempts`-th recorded failure (from 1), with `jitter_permille` thousandths
    /// added or taken away; jitter is cut to ±200.
    pub fn back_off_after(&self, attempts: u32, jitter_permille: i32) -> Duration {
        let [first, second, third, later] = self.back_off;
        let wait = match attempts {
            0 | 1 => first,
            2 => second,
            3 => third,
            _ => later,
        };
        let jitter =
            wait.checked_mul(jitter_permille.clamp(-200, 200)).map_or(Duration::zero(), |all| all / 1_000);
        wait.checked_add(&jitter).unwrap_or(wait)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            lease: Duration::seconds(30),
            run_limit: Duration::seconds(1_500),
            max_attempts: 5,
            max_crashes: 5,
            max_late_runs: 20,
            staleness: Duration::seconds(300),
            back_off: [
                Duration::seconds(30),
                Duration::minutes(2),
                Duration::minutes(8),
                Duration::minutes(30),
            ],
            release_window: Duration::hours(24),
            byok_deadline: Duration::days(14),
        }
    }
}
