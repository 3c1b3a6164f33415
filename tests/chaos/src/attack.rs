//! Attacks by clients (unread responses, unfinished bodies, bodies of many values, silent connections), and how much a healthy
//! client is slowed down. The real binary on a PostgreSQL of its own; all traffic stays on loopback addresses, in
//! bounded numbers and for seconds.

mod clients;
mod healthy;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::{AssertSqlSafe, PgPool};
use tokio::time::{interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::client::Client;
use crate::people;
use crate::postgres::Postgres;
use crate::program::{self, Process};

use self::clients::{Attack, Counts};
pub(crate) use self::healthy::Latencies;

/// The healthy client asks for so many users in turn, so that it stays below the request rate of each.
const HEALTHY: usize = 30;
/// The service may open so many files: what many systems give a process unasked.
const OPEN_FILES: u32 = 1_024;
/// The most memory that the service may have resident.
const MOST_RSS_MIB: u64 = 600;
/// Conversations, segments of each and words of each of these: a page of them is 30 MB.
pub(crate) const LONG_TALKS: [usize; 3] = [100, 10, 6_000];
/// How much slower the slowest hundredth of a healthy client's requests may get.
const MOST_TIMES: f64 = 3.0;
/// Below this no user notices a difference: on two cores that the attackers share, a quiet p99 of 2 ms says little.
const UNNOTICED: Duration = Duration::from_millis(25);

/// What one attack did.
#[derive(Debug)]
struct Outcome {
    name: &'static str,
    peak_mib: u64,
    get: Latencies,
    create: Latencies,
    livez: Latencies,
    crowd: Arc<Counts>,
}

/// What all attacks did, beside a quiet time.
#[derive(Debug)]
pub struct Attacked {
    quiet: Outcome,
    attacks: Vec<Outcome>,
    refused: Vec<String>,
}

/// Keys of the users who attack, one for each attack, so that no attack is spared by the rate that an earlier one used up; and
/// of those who do not.
struct Keys {
    attackers: Vec<String>,
    healthy: Vec<String>,
}

/// Runs every attack for `seconds`, one after the other.
///
/// # Panics
/// When the kit itself cannot work: no PostgreSQL, no program.
pub async fn attack(seconds: u64) -> Attacked {
    let length = Duration::from_secs(seconds);
    program::path();
    let postgres = Postgres::new(None).await;
    let database = postgres.url("attack");
    assert_eq!(program::command(&database, &["migrate"]).await.0, Some(0), "the schema cannot be made");
    let (pool, mut keys) = (postgres.pool(1), Keys { attackers: Vec::new(), healthy: Vec::new() });
    for number in 0..Attack::ALL.len() {
        let user = people::one(&database, &format!("attacker{number}")).await;
        seed(&pool, &user.id, LONG_TALKS).await;
        keys.attackers.push(user.key);
    }
    for number in 0..HEALTHY {
        let user = people::one(&database, &format!("healthy{number}")).await;
        seed(&pool, &user.id, [50, 20, 20]).await;
        keys.healthy.push(user.key);
    }
    pool.close().await;
    let log = postgres.home().join("service.jsonl");
    let process = Process::serve("attacked", &database, &settings(), 0, Some(OPEN_FILES), &log).await;
    let service = Service { process, keys };
    // The first requests fill pools and caches.
    service.under(None, Duration::from_secs(2)).await;
    let quiet = service.under(None, length).await;
    let mut attacks = Vec::new();
    for attack in Attack::ALL {
        attacks.push(service.under(Some(attack), length).await);
        sleep(Duration::from_secs(3)).await;
    }
    let metrics = Client::new().page(&format!("{}/metrics", service.process.admin)).await.unwrap_or_default();
    let named = |line: &&str| {
        line.starts_with("listen_http_connections_refused_total")
            || line.starts_with("listen_http_held_bytes")
    };
    Attacked { quiet, attacks, refused: metrics.lines().filter(named).map(str::to_owned).collect() }
}

struct Service {
    process: Process,
    keys: Keys,
}

impl Service {
    async fn under(&self, attack: Option<Attack>, length: Duration) -> Outcome {
        let stop = CancellationToken::new();
        let peak = tokio::spawn(peak(self.process.pid, stop.clone()));
        let address: SocketAddr =
            self.process.api.trim_start_matches("http://").parse().expect("an address is printed");
        let crowd = Arc::new(Counts::default());
        let attackers = attack.map(|attack| {
            let (crowd, stop) = (Arc::clone(&crowd), stop.clone());
            tokio::spawn(clients::crowd(
                attack,
                address,
                self.keys.attackers[attack as usize].clone(),
                crowd,
                stop,
            ))
        });
        if attack.is_some() {
            // Until most of them are there.
            sleep(Duration::from_secs(1)).await;
        }
        let (get, create, livez) =
            healthy::measure(&self.process.api, &self.process.admin, &self.keys.healthy, length).await;
        stop.cancel();
        if let Some(attackers) = attackers {
            attackers.await.expect("the attackers do not panic");
        }
        let peak_mib = peak.await.expect("the memory can be read") / 1_024;
        let name = attack.map_or("quiet", Attack::name);
        Outcome { name, peak_mib, get, create, livez, crowd }
    }
}

/// The most resident memory, in KiB, until `stop`.
async fn peak(pid: u32, stop: CancellationToken) -> u64 {
    let (mut most, mut tick) = (0, interval(Duration::from_millis(20)));
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        most = most.max(line.trim().trim_end_matches(" kB").parse().unwrap_or(0));
    }
    most
}

/// The default settings, including the request rate.
pub(crate) fn settings() -> Vec<(String, String)> {
    let all = [
        ("LISTEN_ADDR", "127.0.0.1:0"),
        ("LISTEN_ADMIN_ADDR", "127.0.0.1:0"),
        ("LISTEN_FINALIZATION_DISPATCH_MODE", "postgres"),
        ("LISTEN_TEXT_ENGINE", "embedded"),
        ("LISTEN_LOG", "info"),
    ];
    all.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

/// Conversations of a user, as many segments in each, as many words in each segment.
pub(crate) async fn seed(pool: &PgPool, user: &str, [conversations, segments, words]: [usize; 3]) {
    let sql = format!(
        "insert into conversations (user_id, conversation_id, source, language, status, created_at, updated_at, \
             started_at, finished_at) \
             select '{user}', '{user}-' || n, 'phone', 'en', 'completed', now(), now(), now(), now() \
             from generate_series(1, {conversations}) n; \
         insert into transcript_segments (user_id, conversation_id, position, content, start_seconds, end_seconds) \
             select '{user}', '{user}-' || n, s, repeat('word ', {words}), s, s + 1 \
             from generate_series(1, {conversations}) n, generate_series(1, {segments}) s; analyze"
    );
    // The program's own text, with numbers of the kit.
    let run = sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await;
    run.expect("the conversations can be written");
}

impl Attacked {
    /// Whether the service held what it promises, and its healthy client noticed little.
    pub fn is_clean(&self) -> bool {
        self.breaches().is_empty()
    }

    fn breaches(&self) -> Vec<String> {
        let mut breaches = Vec::new();
        for attack in &self.attacks {
            let mut breach = |words: String| breaches.push(format!("{}: {words}", attack.name));
            if attack.peak_mib > MOST_RSS_MIB {
                breach(format!("{} MiB resident, more than {MOST_RSS_MIB}", attack.peak_mib));
            }
            for (what, quiet, now) in [
                ("GET", &self.quiet.get, &attack.get),
                ("create", &self.quiet.create, &attack.create),
                ("/livez", &self.quiet.livez, &attack.livez),
            ] {
                if now.failed > 0 || now.all.is_empty() {
                    breach(format!("{what}: {} of {} failed", now.failed, now.all.len()));
                }
                let most = quiet.percentile(99).mul_f64(MOST_TIMES).max(UNNOTICED);
                if now.percentile(99) > most {
                    breach(format!("{what}: p99 {:?}, more than {most:?}", now.percentile(99)));
                }
            }
        }
        breaches
    }
}

impl fmt::Display for Attacked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| | RSS peak | GET p50 / p99 (× quiet) | create p50 / p99 (× quiet) | /livez p50 / p99 | attackers |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        for outcome in std::iter::once(&self.quiet).chain(&self.attacks) {
            let times = |quiet: &Latencies, now: &Latencies| {
                now.percentile(99).as_secs_f64() / quiet.percentile(99).as_secs_f64().max(1e-6)
            };
            writeln!(
                f,
                "| {} | {} MiB | {} ({:.1}) | {} ({:.1}) | {} | {} |",
                outcome.name,
                outcome.peak_mib,
                outcome.get,
                times(&self.quiet.get, &outcome.get),
                outcome.create,
                times(&self.quiet.create, &outcome.create),
                outcome.livez,
                outcome.crowd,
            )?;
        }
        for line in &self.refused {
            writeln!(f, "{line}")?;
        }
        for breach in self.breaches() {
            writeln!(f, "BREACH {breach}")?;
        }
        Ok(())
    }
}
