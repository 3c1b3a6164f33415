//! The report of a run.

use std::collections::BTreeMap;
use std::fmt;

use sqlx::PgPool;

use crate::check;
use crate::journal::Journal;
use crate::plan::{Dispatch, Plan};
use crate::program;
use crate::queue::TaskQueue;
use crate::recovery::Samples;

/// The outcome of a run: what was done, what broke, and how long recovery took.
#[derive(Debug)]
pub struct Report {
    seed: u64,
    seconds: u64,
    settings: String,
    counts: Vec<(&'static str, i64)>,
    recovery: BTreeMap<String, Samples>,
    faults: BTreeMap<&'static str, usize>,
    breaches: Vec<(&'static str, String)>,
}

impl Report {
    pub(crate) async fn new(
        plan: &Plan,
        journal: &Journal,
        breaches: Vec<(&'static str, String)>,
        recovery: BTreeMap<String, Samples>,
        pool: &PgPool,
        queue: Option<&TaskQueue>,
    ) -> Self {
        let mut faults = BTreeMap::new();
        for broken in journal.broken.all() {
            *faults.entry(broken.name).or_default() += 1;
        }
        let mut counts = Vec::new();
        for (name, query) in COUNTS {
            let count = sqlx::query_scalar(query).fetch_one(pool).await;
            counts.push((name, count.unwrap_or_else(|error| panic!("{name}: {error}"))));
        }
        if let Some(queue) = queue {
            counts.push(("tasks created", i64::try_from(queue.emulator.created()).unwrap_or_default()));
            let deliveries = queue.emulator.deliveries();
            let answered = |status: u16| deliveries.iter().filter(|one| one.status == status).count() as i64;
            counts.push(("  deliveries", deliveries.len() as i64));
            for (name, status) in [
                ("    answered 200", 200),
                ("    answered 401", 401),
                ("    answered 409", 409),
                ("    answered 503", 503),
                ("    answered 502", 502),
                ("    not answered", 0),
            ] {
                counts.push((name, answered(status)));
            }
        }
        counts.push(("writes read back", journal.acknowledged.all().len() as i64));
        counts.push(("requests hung up on", journal.hung_up.all().iter().sum::<u64>() as i64));
        let clocks = if program::fake_clock().is_some() {
            match plan.dispatch {
                Dispatch::Postgres => "0, +7 and -7 minutes off",
                Dispatch::CloudTasks => "0, +7 minutes and -40 seconds off",
            }
        } else {
            "together (faketime is not installed)"
        };
        let by = match plan.dispatch {
            Dispatch::Postgres => "",
            Dispatch::CloudTasks => "by a task queue, ",
        };
        let settings = format!(
            "{by}{} processes, lease {} s, heartbeat {} s, {} attempts, {} clients; clocks {clocks}",
            plan.processes, plan.lease.0, plan.lease.1, plan.max_attempts, plan.clients
        );
        let seconds = journal.now() as u64;
        Self { seed: plan.seed, seconds, settings, counts, recovery, faults, breaches }
    }

    /// Whether nothing was broken that had been promised.
    pub fn is_clean(&self) -> bool {
        self.breaches.is_empty()
    }

    /// The rules that were broken, with offending rows.
    pub fn breaches(&self) -> &[(&'static str, String)] {
        &self.breaches
    }
}

const COUNTS: [(&str, &str); 23] = [
    ("answers of the service", "select count(*) from chaos.answers"),
    ("of these 200", "select count(*) from chaos.answers where status = 200"),
    ("revisions admitted", "select count(*) from finalization_admissions"),
    ("revisions completed", "select count(*) from finalization_jobs where status = 'completed'"),
    (
        "leases that ran out",
        "select count(*) from (select crashes, lag(crashes) over (partition by job_id order by \
         version) before from chaos.history) h where crashes > before",
    ),
    (
        "dead letters on the way",
        "select count(*) from (select status, lag(status) over (partition by job_id order by \
         version) before from chaos.history) h where status = 'dead_letter' and before <> 'dead_letter'",
    ),
    ("parked for keys", "select count(*) from finalization_jobs where status = 'blocked_byok'"),
    ("changes in the history", "select count(*) from chaos.history"),
    ("posts received", "select count(*) from chaos.posts"),
    ("pushes received", "select count(*) from chaos.pushed"),
    ("answers under a name", "select count(*) from chaos.named"),
    (
        "  to a repeat of one",
        "select coalesce(sum(n - 1), 0)::bigint from (select count(*) n from chaos.named where status = 200 \
         group by user_id, name) t",
    ),
    ("words appended", "select count(*) from chaos.added where status = 200"),
    (
        "processed again",
        "select count(*) from finalization_jobs where origin = 'reprocess' and status = 'completed'",
    ),
    ("replayed in bulk", "select count(*) from chaos.replay_history where status = 'replayed'"),
    (
        "  paused or cancelled",
        "select count(*) from operator_actions where action in ('pause_bulk', 'cancel_bulk')",
    ),
    ("lines spoken and confirmed", "select count(*) from chaos.spoken where confirmed"),
    ("  said again", "select count(*) from chaos.spoken where sends > 1"),
    ("live conversations", "select count(*) from conversations where user_id like 'speaker%'"),
    ("  opened again", "select count(*) from conversations where user_id like 'speaker%' and live_epoch > 1"),
    ("questions to the model", "select count(*) from chaos.calls"),
    ("  with people's own keys", "select count(*) from chaos.calls where key_of like 'keyed%'"),
    ("  with refused keys", "select count(*) from chaos.calls where key_of = 'refused'"),
];

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: usize = self.faults.values().sum();
        writeln!(f, "chaos: seed {}, {} s, {faults} faults; {}", self.seed, self.seconds, self.settings)?;
        for (name, count) in &self.counts {
            writeln!(f, "  {name:<26} {count:>8}")?;
        }
        writeln!(
            f,
            "\n  seconds until …               answered again         completed again        taken over"
        )?;
        writeln!(
            f,
            "  fault                   times  p50    p99    max      p50    p99    max      p50    p99    max  (n)"
        )?;
        for (name, times) in &self.faults {
            let samples = self.recovery.get(*name).cloned().unwrap_or_default();
            writeln!(
                f,
                "  {name:<24} {times:>3}  {}   {}   {}  ({})",
                Line(samples.answered),
                Line(samples.completed),
                Line(samples.taken_over.clone()),
                samples.taken_over.len()
            )?;
        }
        writeln!(f)?;
        if self.breaches.is_empty() {
            return write!(f, "{} rules hold: nothing was lost and nothing came twice.", check::count());
        }
        writeln!(f, "BROKEN:")?;
        let mut last = "";
        for (rule, row) in &self.breaches {
            if *rule != last {
                writeln!(f, "  {rule}")?;
                last = rule;
            }
            writeln!(f, "      {row}")?;
        }
        Ok(())
    }
}

/// p50, p99 and maximum of some seconds.
struct Line(Vec<f64>);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let index = ((sorted.len() as f64) * share).ceil() as usize;
            sorted.get(index.clamp(1, sorted.len().max(1)) - 1).copied()
        };
        for value in [at(0.5), at(0.99), at(1.0)] {
            match value {
                Some(seconds) => write!(f, "{seconds:>6.2} ")?,
                None => write!(f, "     – ")?,
            }
        }
        Ok(())
    }
}
