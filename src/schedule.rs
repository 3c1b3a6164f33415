//! The reconciler's schedule, as far as others must know it.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// How far ahead a schedule is read: a week and a day, so that weekends count.
const DAYS: i64 = 8;

/// The longest time between two ticks of `schedule` in the days to come, to five minutes.
pub(crate) fn longest_gap(schedule: &cron::Schedule) -> Duration {
    schedule.upcoming(Utc).next().map_or(Duration::ZERO, |first| longest_from(schedule, first))
}

fn longest_from(schedule: &cron::Schedule, first: DateTime<Utc>) -> Duration {
    let moments = (0..DAYS * 24 * 12).map(|step| first + chrono::Duration::minutes(5 * step));
    let gaps = moments.filter_map(|moment| (schedule.after(&moment).next()? - moment).to_std().ok());
    gaps.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use std::str::FromStr;

    use super::*;

    #[test]
    fn schedule_longest_gap_includes_nights_and_weekends() {
        let gap = |cron: &str| {
            let now = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
            let schedule = cron::Schedule::from_str(cron).unwrap();
            let first = schedule.after(&now).next().unwrap();
            longest_from(&schedule, first).as_secs()
        };
        assert_eq!(gap("0 */5 * * * *"), 300);
        assert_eq!(gap("0 0 * * * *"), 3_600);
        assert_eq!(gap("0 0 9-17 * * *"), 16 * 3_600);
        assert_eq!(gap("0 0 12 * * Mon-Fri"), 3 * 86_400);
        assert_eq!(gap("* * * * * *"), 1);
    }
}
