//! Schedules, and the names of processes.

use super::*;

#[test]
fn a_schedule_says_how_long_it_is_between_two_ticks() {
    let of = |words: &str| cron::Schedule::from_str(words).ok().map(|schedule| between(&schedule));
    assert_eq!(of("0 */5 * * * *"), Some(Duration::from_secs(300)));
    assert_eq!(of("* * * * * *"), Some(Duration::from_secs(1)));
    assert_eq!(of("0 0 0 1 1 * 2020"), Some(Duration::MAX), "there is none any more");
}

#[test]
fn processes_of_one_number_and_host_have_names_of_their_own_and_keep_them() {
    let mut chance = StdRng::seed_from_u64(1);
    let (one, other) = (named("box", 1, &mut chance), named("box", 1, &mut chance));
    assert_ne!(one, other);
    assert!(one.starts_with("box:1-") && !one.contains('/'), "{one}");
    assert_eq!(process_name(), process_name());
}
