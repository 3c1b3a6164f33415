//! This machine's clock compared with the database's.

use chrono::Duration;

use super::{Level, Remark, remark};

/// A warning beyond this many seconds.
const FAR: f64 = 2.0;

/// How far this machine's clock is ahead of the database's. No decision goes by a process's clock; logs and
/// certificates do. `writes`: whether the server accepts writes, as a standby does not.
pub(super) fn clock(skew: Duration, writes: bool) -> Remark {
    let level = if skew.as_seconds_f64().abs() > FAR { Level::Warning } else { Level::Fine };
    let whose = match writes {
        true => "the database's, which all decisions use",
        false => {
            "the one of this server, which accepts no writes: a primary's, which all decisions use, is not \
             compared"
        }
    };
    remark("clock", level, format!("this machine's clock {} {whose}", beside(skew)))
}

/// Of a database whose clock was set back, when that is too far to be over soon. A standby's says nothing of the primary's, which wrote
/// what is compared with it.
pub(super) fn set_back(ahead: f64, writes: bool) -> Option<Remark> {
    let words = || {
        format!(
            "the database's clock was set back: the newest job was admitted {ahead:.0} s from now, and what was queued before \
             that step waits as long; `listen jobs run-now --all` ends the waits"
        )
    };
    (writes && ahead > FAR).then(|| remark("set back", Level::Failure, words()))
}

/// To a hundredth of a second, counted in whole hundredths: a distance that rounds to nothing has no direction.
fn beside(skew: Duration) -> String {
    let hundredths = (skew.as_seconds_f64() * 100.0).round() as i64;
    let seconds = hundredths.unsigned_abs() as f64 / 100.0;
    match hundredths {
        0 => "agrees with".to_owned(),
        1.. => format!("is {seconds:.2} s ahead of"),
        _ => format!("is {seconds:.2} s behind"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doctor_clock_is_ahead_or_behind_or_unmentioned() {
        let said = |millis| beside(Duration::milliseconds(millis));
        assert_eq!([said(0), said(-4), said(4)], ["agrees with", "agrees with", "agrees with"]);
        assert_eq!([said(-5), said(5)], ["is 0.01 s behind", "is 0.01 s ahead of"]);
        assert_eq!([said(-2_340), said(61_000)], ["is 2.34 s behind", "is 61.00 s ahead of"]);
    }

    #[test]
    fn doctor_finds_a_database_clock_that_was_set_back() {
        assert_eq!([set_back(0.0, true), set_back(1.9, true)], [None, None]);
        let found =
            set_back(3_600.0, true).map(|found| (found.level, found.words.contains("3600 s from now")));
        assert_eq!(found, Some((Level::Failure, true)));
    }

    #[test]
    fn doctor_warns_of_a_clock_off_by_two_seconds() {
        assert_eq!(clock(Duration::milliseconds(-2_000), true).level, Level::Fine);
        assert_eq!(clock(Duration::milliseconds(-2_010), true).level, Level::Warning);
    }

    /// A standby whose clock is behind looked like a primary whose clock was set back, with jobs that wait.
    #[test]
    fn doctor_does_not_take_the_clock_of_a_standby_for_the_one_that_decides() {
        assert_eq!(set_back(3_600.0, false), None);
        let words = clock(Duration::seconds(60), false).words;
        assert!(
            words.contains("60.00 s ahead of the one of this server") && words.contains("not compared"),
            "{words}"
        );
    }
}
