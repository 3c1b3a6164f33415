//! What an operator looks at first.

use db::{Error, query_as};
use job::Timestamp;

use crate::{Cause, Gauges, LastRound, Operations, Pause, processes::RUN_MILLIS, round::last_round};

#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    /// The database's clock.
    pub at: Timestamp,
    pub gauges: Gauges,
    /// Dead letters by code, most first; codes without any are left out.
    pub dead_letters: Vec<Cause>,
    /// The reconciler's last round, in any process.
    pub last_round: Option<LastRound>,
    pub pauses: Vec<Pause>,
    /// Processes that live.
    pub living: i64,
    /// Slots of those: (finalization, creation).
    pub slots: (i64, i64),
}

impl Overview {
    /// Adds another shard's. Every process works for all shards: processes and slots are not added up.
    pub fn add(&mut self, other: &Self) {
        self.gauges.add(&other.gauges);
        Cause::add(&mut self.dead_letters, &other.dead_letters);
        // The oldest is said: what is silent in one shard is not hidden by the others.
        self.last_round = match (self.last_round, other.last_round) {
            (Some(one), Some(two)) => Some(if two.at < one.at { two } else { one }),
            _ => None,
        };
        for pause in &other.pauses {
            if !self.pauses.iter().any(|known| known.queue == pause.queue) {
                self.pauses.push(pause.clone());
            }
        }
        self.living = self.living.max(other.living);
        self.slots = (self.slots.0.max(other.slots.0), self.slots.1.max(other.slots.1));
    }
}

/// What ended in one step of time, in all processes.
#[derive(Clone, Debug, PartialEq, sqlx::FromRow)]
pub struct MinuteView {
    pub minute: Timestamp,
    pub completed: i64,
    pub failed: i64,
    /// Half of the runs were shorter: milliseconds, interpolated within the bounds of `RUN_MILLIS`; `None`: no runs.
    #[sqlx(skip)]
    pub p50_ms: Option<f64>,
    /// 95 in 100 were shorter.
    #[sqlx(skip)]
    pub p95_ms: Option<f64>,
    /// How many runs were how long, by the bounds of `RUN_MILLIS`.
    pub lengths: Vec<i64>,
}

impl MinuteView {
    /// Adds the same step of another shard.
    pub fn add(&mut self, other: &Self) {
        self.completed += other.completed;
        self.failed += other.failed;
        if self.lengths.len() < other.lengths.len() {
            self.lengths.resize(other.lengths.len(), 0);
        }
        self.lengths.iter_mut().zip(&other.lengths).for_each(|(count, more)| *count += more);
        self.measure();
    }

    fn measure(&mut self) {
        (self.p50_ms, self.p95_ms) = (quantile(&self.lengths, 0.5), quantile(&self.lengths, 0.95));
    }
}

/// The processes that live, and their slots.
#[derive(sqlx::FromRow)]
struct Living {
    processes: i64,
    finalization_slots: i64,
    creation_slots: i64,
}

impl Operations {
    /// The overview. Its cost depends on neither the history nor the dead letters that lie there.
    pub async fn overview(&self) -> Result<Overview, Error> {
        let gauges = self.gauges().await?;
        let pauses = self.pauses().await?;
        let (mut transaction, at) = self.db.begin().await?;
        let dead_letters = query_as!("operators/dead_letters.sql").fetch_all(&mut *transaction).await?;
        let Living { processes: living, finalization_slots, creation_slots } =
            query_as!("operators/living.sql", at, super::processes::LIVING)
                .fetch_one(&mut *transaction)
                .await?;
        let last_round = last_round(&mut transaction).await?;
        let slots = (finalization_slots, creation_slots);
        Ok(Overview { at, gauges, dead_letters, last_round, pauses, living, slots })
    }

    /// What ended in the last `hours`, in 60 steps, oldest first, the present one last.
    pub async fn activity(&self, hours: u32) -> Result<Vec<MinuteView>, Error> {
        let (mut transaction, at) = self.db.begin().await?;
        let step = chrono::Duration::minutes(i64::from(hours.max(1)));
        let mut steps: Vec<MinuteView> =
            query_as!("operators/activity.sql", at, step).fetch_all(&mut *transaction).await?;
        steps.iter_mut().for_each(MinuteView::measure);
        Ok(steps)
    }
}

/// The length below which `share` (above 0) of the runs were, by straight lines between the bounds, as Prometheus does.
fn quantile(counts: &[i64], share: f64) -> Option<f64> {
    let total: i64 = counts.iter().sum();
    if total == 0 {
        return None;
    }
    let rank = share * total as f64;
    let mut below = 0;
    for (place, count) in counts.iter().enumerate() {
        let reached = below + count;
        // What is reached here was not before: it counts some.
        if reached as f64 >= rank {
            let from = if place == 0 { 0 } else { RUN_MILLIS.get(place - 1).copied()? };
            let to = RUN_MILLIS.get(place).copied().unwrap_or(from);
            let part = (rank - below as f64) / *count as f64;
            return Some(f64::from(from) + part * f64::from(to - from));
        }
        below = reached;
    }
    RUN_MILLIS.last().map(|last| f64::from(*last))
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn overview_quantile_lies_within_its_runs() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[0, 0], 0.5), None);
        assert_eq!(quantile(&[10], 0.5), Some(2.5), "half way to the first bound");
        assert_eq!(quantile(&[0, 4, 0, 4], 0.95), Some(47.5), "between 25 and 50 milliseconds");
        let mut longer = [0; 15];
        longer[14] = 1;
        assert_eq!(quantile(&longer, 0.5), Some(300_000.0), "what is beyond all bounds is at the last");
    }
}
