//! Jobs that this process could neither store nor defer: such a row would come first in every claim, so it is passed over
//! from memory.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// For how long a job is passed over: as long as one is deferred.
const FOR: Duration = Duration::from_secs(300);

/// How many jobs are remembered: where more cannot be stored it is not a matter of single rows.
const MOST: usize = 1_000;

/// The jobs, and until when each is passed over. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Quarantine(Arc<Mutex<HashMap<String, Instant>>>);

impl Quarantine {
    /// From `now` on `job` is passed over; of too many jobs the oldest is tried again.
    pub(crate) fn add(&self, job: String, now: Instant) {
        let mut jobs = self.0.lock();
        if jobs.len() >= MOST {
            let oldest = jobs.iter().min_by_key(|(_, until)| **until).map(|(job, _)| job.clone());
            oldest.and_then(|oldest| jobs.remove(&oldest));
        }
        jobs.insert(job, now + FOR);
    }

    /// The jobs that are passed over at `now`.
    pub(crate) fn jobs(&self, now: Instant) -> Vec<String> {
        let mut jobs = self.0.lock();
        jobs.retain(|_, until| *until > now);
        jobs.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarantine_lasts_five_minutes() {
        let (quarantine, now) = (Quarantine::default(), Instant::now());
        quarantine.add("one".to_owned(), now);
        quarantine.add("other".to_owned(), now + Duration::from_secs(1));
        assert_eq!(quarantine.jobs(now).len(), 2);
        assert_eq!(quarantine.jobs(now + FOR), ["other"]);
        assert!(quarantine.jobs(now + FOR + Duration::from_secs(1)).is_empty());
    }

    #[test]
    fn quarantine_holds_a_bounded_number_of_jobs() {
        let (quarantine, now) = (Quarantine::default(), Instant::now());
        for number in 0..=MOST {
            quarantine.add(number.to_string(), now + Duration::from_millis(number as u64));
        }
        let all = quarantine.jobs(now);
        assert_eq!((all.len(), all.contains(&"0".to_owned())), (MOST, false));
    }
}
