//! What is measured of a piece of work, and how it is summed up.

use std::time::Instant;

use crate::setup::Setup;

/// What one round of work took, per job.
pub(crate) struct Round {
    /// Jobs per second.
    pub(crate) rate: f64,
    /// Commits, reads that were transactions of their own included.
    pub(crate) commits: f64,
    /// Bytes of write-ahead log.
    pub(crate) wal: f64,
    /// Milliseconds of processor: this process's, and the server's.
    pub(crate) cpu: (f64, f64),
}

/// Does `work`, which is `jobs` jobs, and says what it took.
pub(crate) async fn measured(setup: &Setup, jobs: usize, work: impl Future<Output = ()>) -> Round {
    let before = setup.spent().await;
    let began = Instant::now();
    work.await;
    let seconds = began.elapsed().as_secs_f64();
    let after = setup.spent().await;
    let per_job = |before: f64, after: f64| (after - before) / jobs as f64;
    Round {
        rate: jobs as f64 / seconds,
        commits: per_job(before.commits, after.commits),
        wal: per_job(before.wal, after.wal),
        cpu: (per_job(before.own_cpu, after.own_cpu), per_job(before.server_cpu, after.server_cpu)),
    }
}

/// The middle of several figures.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The middle of one figure of several rounds.
pub(crate) fn of(rounds: &[Round], figure: impl Fn(&Round) -> f64) -> f64 {
    median(rounds.iter().map(figure).collect())
}

/// The middles of what several rounds took per job: commits, write-ahead log, processor.
pub(crate) fn costs(rounds: &[Round]) -> String {
    let (commits, wal) = (of(rounds, |round| round.commits), of(rounds, |round| round.wal));
    let (own, server) = (of(rounds, |round| round.cpu.0), of(rounds, |round| round.cpu.1));
    format!("{commits:.2} | {wal:.0} | {own:.2} + {server:.2}")
}

/// (p50, p99) of milliseconds; `None` where nothing was seen.
pub(crate) fn percentiles(mut waits: Vec<f64>) -> Option<(f64, f64)> {
    waits.sort_by(f64::total_cmp);
    let at = |share: f64| waits.get((waits.len().checked_sub(1)? as f64 * share) as usize).copied();
    Some((at(0.5)?, at(0.99)?))
}
