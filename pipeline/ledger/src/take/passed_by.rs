//! Jobs that this process could neither store nor put off. Where there are no bells there is nothing to put off but the
//! job's own row, and that may be what the database refuses to change: each take would meet it first, for ever. So it is
//! passed by from memory.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// For how long: as long as a bell is put off.
const FOR: Duration = Duration::from_secs(300);

/// How many: where more cannot be stored it is no matter of single rows, and all are asked for again in turn.
const MOST: usize = 1_000;

/// Which, and until when.
#[derive(Clone, Default)]
pub(crate) struct PassedBy(Arc<Mutex<HashMap<String, Instant>>>);

impl PassedBy {
    /// From `now` on `job` is passed by.
    pub(super) fn add(&self, job: String, now: Instant) {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if jobs.len() >= MOST {
            let first = jobs.iter().min_by_key(|(_, until)| **until).map(|(job, _)| job.clone());
            first.and_then(|first| jobs.remove(&first));
        }
        jobs.insert(job, now + FOR);
    }

    /// Those that are passed by at `now`; the others are forgotten.
    pub(super) fn at(&self, now: Instant) -> Vec<String> {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.retain(|_, until| *until > now);
        jobs.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_passed_by_for_five_minutes() {
        let (passed, now) = (PassedBy::default(), Instant::now());
        passed.add("one".to_owned(), now);
        passed.add("other".to_owned(), now + Duration::from_secs(1));
        assert_eq!(passed.at(now).len(), 2);
        assert_eq!(passed.at(now + FOR), ["other"]);
        assert!(passed.at(now + FOR + Duration::from_secs(1)).is_empty());
    }

    #[test]
    fn of_very_many_the_first_is_asked_for_again() {
        let (passed, now) = (PassedBy::default(), Instant::now());
        for number in 0..=MOST {
            passed.add(number.to_string(), now + Duration::from_millis(number as u64));
        }
        let all = passed.at(now);
        assert_eq!((all.len(), all.contains(&"0".to_owned())), (MOST, false));
    }
}
