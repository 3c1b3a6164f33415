//! A cell of the tables: a figure, or why it is missing. A run with losses is not a number.

use serde_json::Value;

use crate::figures::percentiles;

/// What a round of work took per job.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cost {
    /// Milliseconds of processor: the adapter's and the server's.
    pub(crate) cpu: (f64, f64),
    /// Transactions that wrote.
    pub(crate) writes: f64,
    /// Bytes of write-ahead log.
    pub(crate) wal: f64,
}

impl Cost {
    /// The same, for `share` times as much work.
    pub(crate) fn times(self, share: f64) -> Self {
        Self {
            cpu: (self.cpu.0 * share, self.cpu.1 * share),
            writes: self.writes * share,
            wal: self.wal * share,
        }
    }
}

/// Jobs per second.
#[derive(Clone)]
pub(crate) enum Rate {
    /// All were done, each once.
    Full(f64, Cost),
    /// The time was over before all were done: (a second, done, of, what they took).
    Bounded(f64, usize, usize, Cost),
    /// Why there is no figure.
    None(String),
}

impl Rate {
    /// Judges a piece of work that was to do `jobs`: a job that was lost, or ran twice, makes it no number. With
    /// `over`, jobs that are still `left` only ran out of time.
    pub(crate) fn judge(
        jobs: usize,
        done: usize,
        double: usize,
        left: i64,
        seconds: f64,
        over: bool,
    ) -> Self {
        let left = usize::try_from(left).unwrap_or(0);
        let lost = if over { jobs.saturating_sub(done + left) } else { jobs.saturating_sub(done) };
        match (lost, double) {
            (1.., _) => Self::None(format!("not a number: {lost} lost")),
            (_, 1..) => Self::None(format!("not a number: {double} ran twice")),
            _ if over => Self::Bounded(done as f64 / seconds, done, jobs, Cost::default()),
            _ if left > 0 => Self::None(format!("not a number: {left} done but not marked so")),
            _ => Self::Full(jobs as f64 / seconds, Cost::default()),
        }
    }

    pub(crate) fn at(self, cost: Cost) -> Self {
        match self {
            Self::Full(rate, _) => Self::Full(rate, cost),
            Self::Bounded(rate, done, of, _) => Self::Bounded(rate, done, of, cost),
            none => none,
        }
    }

    /// The figure, where there is one.
    pub(crate) fn figure(&self) -> Option<f64> {
        match self {
            Self::Full(rate, _) | Self::Bounded(rate, ..) => Some(*rate),
            Self::None(_) => None,
        }
    }

    /// The figure in words.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Full(rate, _) => format!("{rate:.0}"),
            Self::Bounded(rate, done, of, _) => format!("{rate:.0} ({done} of {of} when time was over)"),
            Self::None(why) => why.clone(),
        }
    }

    /// Bytes of its write-ahead log for each job.
    pub(crate) fn wal_words(&self) -> String {
        match self {
            Self::Full(_, cost) | Self::Bounded(_, _, _, cost) => format!("{:.0}", cost.wal),
            Self::None(_) => "–".to_owned(),
        }
    }

    /// What it took: commits, WAL, processor.
    pub(crate) fn cost_words(&self) -> String {
        match self {
            Self::Full(_, cost) | Self::Bounded(_, _, _, cost) => {
                let (own, server) = cost.cpu;
                format!("{:.2} | {:.0} | {own:.2} + {server:.2}", cost.writes, cost.wal)
            }
            Self::None(_) => "– | – | –".to_owned(),
        }
    }
}

/// Milliseconds from a commit to the start.
#[derive(Clone)]
pub(crate) enum Waits {
    /// (p50, p99), all were started once; and the p99 of those before, if any, which met what was not warm yet.
    Full(f64, f64, Option<f64>),
    /// (p50, p99) of those that were started, how many these are, of how many.
    Short(f64, f64, usize, usize),
    /// Why there is no figure.
    None(String),
}

impl Waits {
    /// Judges what an adapter answers, in the order of the jobs; the first `cold` of them are kept apart.
    pub(crate) fn judge(answer: &Value, cold: usize) -> Self {
        let waits: Vec<f64> =
            answer["waits"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        let started = waits.len();
        let (cold, warm) = waits.split_at(cold.min(started));
        let of = answer["of"].as_u64().unwrap_or(0) as usize;
        let double = answer["double"].as_u64().unwrap_or(0);
        match (percentiles(warm.to_vec()), percentiles(waits.clone())) {
            _ if double > 0 => Self::None(format!("not a number: {double} ran twice")),
            (Some((p50, p99)), _) if started == of => {
                Self::Full(p50, p99, percentiles(cold.to_vec()).map(|cold| cold.1))
            }
            (_, Some((p50, p99))) => Self::Short(p50, p99, started, of),
            (_, None) => Self::None(format!("0 of {of} started in time")),
        }
    }

    /// (p50, p99), where all were started.
    pub(crate) fn figure(&self) -> Option<(f64, f64)> {
        match self {
            Self::Full(p50, p99, _) => Some((*p50, *p99)),
            Self::Short(..) | Self::None(_) => None,
        }
    }

    pub(crate) fn words(&self) -> String {
        match self {
            Self::Full(p50, p99, None) => format!("{p50:.1} / {p99:.1}"),
            Self::Full(p50, p99, Some(cold)) => format!("{p50:.1} / {p99:.1} ({cold:.1})"),
            Self::Short(p50, p99, started, of) => {
                format!("{p50:.0} / {p99:.0}, only {started} of {of} in time")
            }
            Self::None(why) => why.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Rate, Waits};

    #[test]
    fn drain_with_losses_is_no_figure() {
        assert_eq!(Rate::judge(100, 98, 0, 0, 2.0, false).words(), "not a number: 2 lost");
        assert_eq!(Rate::judge(100, 100, 3, 0, 2.0, false).words(), "not a number: 3 ran twice");
        assert_eq!(Rate::judge(100, 100, 0, 1, 2.0, false).words(), "not a number: 1 done but not marked so");
    }

    #[test]
    fn drain_over_its_time_reports_its_progress() {
        assert_eq!(Rate::judge(100, 60, 0, 40, 2.0, true).words(), "30 (60 of 100 when time was over)");
        assert_eq!(Rate::judge(100, 60, 0, 39, 2.0, true).words(), "not a number: 1 lost");
    }

    #[test]
    fn drain_of_everything_is_a_rate() {
        assert_eq!(Rate::judge(100, 100, 0, 0, 2.0, false).figure(), Some(50.0));
    }

    #[test]
    fn loop_with_jobs_not_started_is_no_figure() {
        let short = Waits::judge(&json!({ "waits": [1.0, 2.0], "of": 3, "double": 0 }), 1);
        assert_eq!((short.figure(), short.words()), (None, "1 / 1, only 2 of 3 in time".to_owned()));
        let none = Waits::judge(&json!({ "waits": [], "of": 3, "double": 0 }), 1);
        assert_eq!(none.words(), "0 of 3 started in time");
        let double = Waits::judge(&json!({ "waits": [1.0, 2.0, 3.0], "of": 3, "double": 1 }), 1);
        assert_eq!((double.figure(), double.words()), (None, "not a number: 1 ran twice".to_owned()));
    }

    #[test]
    fn waits_of_cold_sessions_are_reported_separately() {
        let waits = Waits::judge(&json!({ "waits": [9.0, 2.0, 2.0], "of": 3, "double": 0 }), 1);
        assert_eq!(
            (waits.figure().map(|both| both.1), waits.words()),
            (Some(2.0), "2.0 / 2.0 (9.0)".to_owned())
        );
        let quiet = Waits::judge(&json!({ "waits": [9.0], "of": 1, "double": 0 }), 0);
        assert_eq!(quiet.words(), "9.0 / 9.0");
    }
}
