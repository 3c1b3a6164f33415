//! Noisy neighbours: latencies of a quiet user while another user overloads the service, compared with those without. The real binary with its
//! default settings on a durable PostgreSQL of its own; everything stays on loopback, and takes a bounded time.

mod quiet;
mod worst;

use std::{fmt, time::Duration};

use sqlx::PgPool;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{
    attack::settings,
    client::Client,
    people,
    postgres::Postgres,
    program::{self, Process},
};

use self::{quiet::Waits, worst::Worst};

/// The quiet user is so many users in turn, each below the request rate.
const QUIET: usize = 20;
/// How much slower the slowest hundredth of the quiet user's requests may get.
const MOST_TIMES: f64 = 3.0;
/// Below this no user notices a difference: the load generator shares the machine's cores.
const UNNOTICED: Duration = Duration::from_millis(50);
/// No request of the quiet user may take longer.
const LONGEST: Duration = Duration::from_secs(1);
/// How long what one phase left behind may be worked off before the next begins.
const SETTLING: Duration = Duration::from_secs(60);

/// What the quiet user waited for in one phase, and what became of leases meanwhile.
#[derive(Debug)]
struct Phase {
    name: &'static str,
    /// Jobs of earlier phases that were not worked off when it began: its figures are theirs, too.
    left: i64,
    waits: Waits,
    /// Requests of the other user that were answered, and those that were refused (4xx, 503).
    answered: usize,
    refused: usize,
    /// Leases that expired, by the service's own count.
    expired: f64,
    /// The mean lateness of heartbeats.
    late: Duration,
}

/// All phases; the first is the quiet one.
#[derive(Debug)]
pub struct Neighbours {
    phases: Vec<Phase>,
    /// What `listen verify` answered in the end.
    verified: bool,
}

struct Service {
    process: Process,
    quiet: Vec<String>,
    pool: PgPool,
}

/// Measures each phase for `seconds`, or only those whose name contains one of `words`.
///
/// # Panics
/// When the kit itself cannot work: no PostgreSQL, no program.
pub async fn neighbours(seconds: u64, words: &[String]) -> Neighbours {
    let length = Duration::from_secs(seconds);
    program::path();
    let postgres = Postgres::new(None).await;
    let database = postgres.url("neighbours");
    assert_eq!(program::command(&database, &["migrate"]).await.0, Some(0), "the schema cannot be made");
    let mut quiet = Vec::new();
    for number in 0..QUIET {
        quiet.push(people::one(&database, &format!("quiet{number}")).await.key);
    }
    let mut loud = Vec::new();
    for worst in Worst::ALL {
        loud.push(people::one(&database, worst.user()).await.key);
    }
    let mut settings = settings();
    settings.push(("LISTEN_ALLOW_OUTGOING".to_owned(), "127.0.0.0/8".to_owned()));
    let log = postgres.home().join("service.jsonl");
    let process = Process::serve("neighbours", &database, &settings, 0, None, &log).await;
    let service = Service { process, quiet, pool: postgres.pool(2) };
    service.phase(None, Duration::from_secs(3)).await; // fills pools and caches
    let mut phases = vec![service.phase(None, length).await];
    for (worst, key) in Worst::ALL.into_iter().zip(loud) {
        if !words.is_empty() && !words.iter().any(|word| worst.name().contains(word)) {
            continue;
        }
        let left = service.settled().await;
        worst::prepare(worst, &service.process.api, &key, &service.pool).await;
        phases.push(Phase { left, ..service.phase(Some((worst, key)), length).await });
    }
    let verified = program::command(&database, &["verify"]).await.0 == Some(0);
    service.pool.close().await;
    Neighbours { phases, verified }
}

impl Service {
    async fn phase(&self, loud: Option<(Worst, String)>, length: Duration) -> Phase {
        let (before, stop) = (self.leases().await, CancellationToken::new());
        let name = loud.as_ref().map_or("quiet", |(worst, _)| worst.name());
        let crowd = loud.map(|(worst, key)| {
            tokio::spawn(worst::crowd(worst, self.process.api.clone(), key, stop.clone()))
        });
        if crowd.is_some() {
            sleep(Duration::from_secs(1)).await;
        }
        let waits = quiet::measure(&self.process.api, &self.quiet, length).await;
        stop.cancel();
        let (answered, refused) = match crowd {
            None => (0, 0),
            Some(crowd) => crowd.await.expect("the crowd does not panic"),
        };
        let after = self.leases().await;
        let beats = (after.beats - before.beats).max(1.0);
        let late = Duration::from_secs_f64(((after.late - before.late) / beats).max(0.0));
        Phase { name, left: 0, waits, answered, refused, expired: after.expired - before.expired, late }
    }

    async fn leases(&self) -> Leases {
        let page = Client::new().page(&format!("{}/metrics", self.process.admin)).await.unwrap_or_default();
        let of = |series: &str| -> f64 {
            let values =
                page.lines().filter_map(|line| line.strip_prefix(series)?.trim().parse::<f64>().ok());
            values.sum()
        };
        Leases {
            expired: of("listen_reconciler_actions_total{action=\"recovered\"}"),
            late: of("listen_heartbeat_late_seconds_sum"),
            beats: of("listen_heartbeat_late_seconds_count"),
        }
    }

    /// Waits until nothing is left to do, for a while; answers how many jobs are left.
    async fn settled(&self) -> i64 {
        let live = "select count(*) from finalization_jobs where status in ('queued', 'leased')";
        let begun = tokio::time::Instant::now();
        loop {
            let left: i64 =
                sqlx::query_scalar(live).fetch_one(&self.pool).await.expect("the kit's database answers");
            if left == 0 || begun.elapsed() > SETTLING {
                return left;
            }
            sleep(Duration::from_millis(100)).await;
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Leases {
    expired: f64,
    late: f64,
    beats: f64,
}

impl Neighbours {
    /// Whether the quiet user noticed little, and nothing broke.
    pub fn is_clean(&self) -> bool {
        self.breaches().is_empty()
    }

    fn breaches(&self) -> Vec<String> {
        let Some((quiet, loud)) = self.phases.split_first() else {
            return vec!["nothing was measured".to_owned()];
        };
        let mut breaches = Vec::new();
        for phase in loud {
            let mut breach = |words: String| breaches.push(format!("{}: {words}", phase.name));
            for ((what, before), (_, now)) in quiet.waits.all().into_iter().zip(phase.waits.all()) {
                let (before, now, failed) = (before.percentile(99), now.percentile(99), now.failed);
                let most = before.mul_f64(MOST_TIMES).max(UNNOTICED).min(LONGEST);
                if now > most {
                    breach(format!("{what}: p99 {now:.0?}, more than {most:.0?}"));
                }
                if failed > 0 {
                    breach(format!("{what}: {failed} failed"));
                }
            }
            if phase.expired > 0.0 {
                breach(format!("{} leases expired", phase.expired));
            }
        }
        if !self.verified {
            breaches.push("listen verify found something".to_owned());
        }
        breaches
    }
}

impl fmt::Display for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| the other user | create p50 / p99 (× quiet) | finalize to completed | GET | its requests, refused | leases expired, \
             heartbeats late |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        for phase in &self.phases {
            match phase.left {
                0 => write!(f, "| {} |", phase.name),
                left => write!(f, "| {}, and {left} jobs of earlier rows |", phase.name),
            }?;
            for ((_, quiet), (_, now)) in self.phases[0].waits.all().into_iter().zip(phase.waits.all()) {
                let times = |percent| {
                    now.percentile(percent).as_secs_f64() / quiet.percentile(percent).as_secs_f64().max(1e-6)
                };
                write!(f, " {now} (× {:.1} / {:.1}) |", times(50), times(99))?;
            }
            writeln!(f, " {}, {} | {}, {:.0?} |", phase.answered, phase.refused, phase.expired, phase.late)?;
        }
        for breach in self.breaches() {
            writeln!(f, "BREACH {breach}")?;
        }
        Ok(())
    }
}
