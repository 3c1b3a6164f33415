//! All queues, a line at a time: a number that stands still while work waits is a trouble, and must not look like one
//! that is frozen.

use std::{io::IsTerminal, time::Duration};

use futures::{StreamExt, stream};
use operations::{Operations, Overview};
use serde_json::json;
use tokio::time::Instant;

use super::Watch;
use crate::{
    commands::{
        outage::Outage,
        over_shards::{AT_ONCE, label},
        stderr::note,
        stdout::say,
        table::print_line,
        times::{ago, time},
    },
    exit::Exit,
    over_shards::numbers,
};

/// How often a line is written although no count changed, while a ready job waits and lines cannot be rewritten.
const AT_LEAST: Duration = Duration::from_secs(10);

/// Puts the cursor onto the line before, and empties it.
const REWRITE: &str = "\u{1b}[1A\u{1b}[2K";

/// What becomes of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    New,
    /// In place of the last one.
    Rewritten,
    None,
}

/// The last line that was written.
struct Told {
    counts: Vec<i64>,
    at: Instant,
}

impl Told {
    /// Something else was written below it.
    fn outdated(self) -> Self {
        Self { counts: Vec::new(), ..self }
    }
}

/// What one look saw.
struct Look<'a> {
    /// Over the shards that answered.
    sum: Overview,
    away: Vec<(&'a Operations, db::Error)>,
}

impl Look<'_> {
    /// The numbers of the shards that did not answer.
    fn without(&self) -> Vec<u16> {
        self.away.iter().map(|(shard, _)| shard.db().shard().number).collect()
    }
}

/// Looks until it has looked often enough.
pub(super) async fn watch(shards: &[Operations], watch: &Watch, as_json: bool) -> anyhow::Result<()> {
    let rewrites = !as_json && std::io::stdout().is_terminal();
    let mut outage = Outage::default();
    let mut last: Option<Told> = None;
    let mut without = Vec::new();
    for number in 1.. {
        match outage.retry(look(shards).await)? {
            Some(look) => {
                if look.without() != without {
                    without = look.without();
                    tell_missing(&look, as_json)?;
                    last = last.map(Told::outdated);
                }
                let gauges = &look.sum.gauges;
                let counts: Vec<i64> = gauges.jobs.iter().map(|(_, count)| *count).collect();
                let line = line(last.as_ref(), &counts, gauges.oldest_ready_age, rewrites);
                if line != Line::None {
                    tell(&look.sum, &without, line, last.is_none(), as_json)?;
                    last = Some(Told { counts, at: Instant::now() });
                }
            }
            // What is said of the outage stands below the last line now.
            None => last = last.map(Told::outdated),
        }
        if !watch.wait(number).await {
            break;
        }
    }
    match without.is_empty() {
        true => Ok(()),
        false => Err(Exit::Unavailable(format!(
            "not every shard answered: nothing of {}",
            numbers(without.into_iter())
        ))
        .into()),
    }
}

/// The overview of all shards that answer; fails when none does.
async fn look(shards: &[Operations]) -> Result<Look<'_>, db::Error> {
    let looks = shards.iter().map(async |shard| shard.overview().await);
    let looks: Vec<Result<Overview, db::Error>> = stream::iter(looks).buffered(AT_ONCE).collect().await;
    let (mut sum, mut away) = (None::<Overview>, Vec::new());
    for (shard, look) in shards.iter().zip(looks) {
        match (look, &mut sum) {
            (Ok(look), Some(sum)) => sum.add(&look),
            (Ok(look), None) => sum = Some(look),
            (Err(error), _) if error.is_passing() => away.push((shard, error)),
            (Err(error), _) => return Err(error),
        }
    }
    match sum {
        Some(sum) => Ok(Look { sum, away }),
        None => {
            Err(away.pop().map_or(db::Error::Contended { doing: "reading the overview" }, |(_, error)| error))
        }
    }
}

/// Whose jobs are not in the sum from here on: else they would look like jobs that went away.
fn tell_missing(look: &Look<'_>, as_json: bool) -> anyhow::Result<()> {
    for (shard, error) in &look.away {
        note!("{}{error}: the sum is without it", label(shard));
    }
    match look.without().as_slice() {
        _ if as_json => Ok(()),
        [] => say!("with all shards:"),
        without => say!("without shard {}:", numbers(without.iter().copied())),
    }
}

fn line(last: Option<&Told>, counts: &[i64], oldest_ready: f64, rewrites: bool) -> Line {
    match last {
        Some(told) if told.counts == counts => match rewrites {
            true => Line::Rewritten,
            false if oldest_ready > 0.0 && told.at.elapsed() >= AT_LEAST => Line::New,
            false => Line::None,
        },
        _ => Line::New,
    }
}

fn tell(overview: &Overview, without: &[u16], line: Line, first: bool, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let jobs: serde_json::Map<String, serde_json::Value> =
            overview.gauges.jobs.iter().map(|(status, count)| ((*status).to_owned(), json!(count))).collect();
        return print_line(&json!({
            "at": time(overview.at), "jobs": jobs, "living_processes": overview.living,
            "oldest_ready_age_seconds": overview.gauges.oldest_ready_age, "without_shards": without,
        }));
    }
    if first {
        let headings = [
            "time",
            "queued",
            "leased",
            "blocked_byok",
            "completed",
            "dead_letter",
            "ready age",
            "processes",
        ];
        say!("{}", columns(headings, width()))?;
    }
    let back = if line == Line::Rewritten { REWRITE } else { "" };
    say!("{back}{}", columns(cells(overview).each_ref().map(String::as_str), width()))
}

fn cells(overview: &Overview) -> [String; 8] {
    let gauges = &overview.gauges;
    let count = |status: &str| {
        gauges.jobs.iter().find(|(name, _)| *name == status).map_or(0, |(_, count)| *count).to_string()
    };
    let oldest = overview.at - chrono::Duration::milliseconds((gauges.oldest_ready_age * 1e3) as i64);
    [
        overview.at.format("%H:%M:%S").to_string(),
        count("queued"),
        count("leased"),
        count("blocked_byok"),
        count("completed"),
        count("dead_letter"),
        ago(oldest, overview.at),
        overview.living.to_string(),
    ]
}

/// The columns of the terminal; elsewhere, enough for all.
fn width() -> usize {
    if std::io::stdout().is_terminal() { textwrap::termwidth() } else { WIDE }
}

/// What all columns take.
const WIDE: usize = 80;

/// One line, on a narrow terminal without what matters least: a line that wraps could not be rewritten.
fn columns(
    [time, queued, leased, parked, completed, dead, ready, processes]: [&str; 8],
    width: usize,
) -> String {
    let all = if width < WIDE { String::new() } else { format!(" {parked:>12} {completed:>10}") };
    format!("{time:<8} {queued:>7} {leased:>6}{all} {dead:>11} {ready:>9} {processes:>9}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn watch_prints_waiting_jobs_each_time_on_a_terminal_else_every_ten_seconds() {
        let told = Told { counts: vec![1], at: Instant::now() };
        let now = |age, rewrites| line(Some(&told), &[1], age, rewrites);
        assert_eq!(line(None, &[1], 0.0, true), Line::New, "the first look");
        assert_eq!(line(Some(&told), &[2], 0.0, true), Line::New, "a count changed");
        assert_eq!((now(5.0, true), now(5.0, false)), (Line::Rewritten, Line::None));
        tokio::time::advance(AT_LEAST).await;
        assert_eq!((now(15.0, true), now(15.0, false)), (Line::Rewritten, Line::New));
        assert_eq!(now(0.0, false), Line::None, "nothing waits");
    }

    #[test]
    fn watch_lines_fit_60_and_80_columns() {
        let cells = ["23:59:59", "1000000", "9999", "100000", "9999999999", "100000", "in 119s", "64"];
        assert!(columns(cells, 60).len() <= 60 && columns(cells, 80).len() <= 80);
        assert!(columns(cells, 80).contains("9999999999") && !columns(cells, 79).contains("9999999999"));
    }
}
