//! Schedules.

use super::*;

#[test]
fn schedule_interval_is_computed() {
    let of = |words: &str| cron::Schedule::from_str(words).ok().map(|schedule| between(&schedule));
    assert_eq!(of("0 */5 * * * *"), Some(Duration::from_secs(300)));
    assert_eq!(of("* * * * * *"), Some(Duration::from_secs(1)));
    assert_eq!(of("0 0 0 1 1 * 2020"), Some(Duration::MAX), "there is none any more");
}
