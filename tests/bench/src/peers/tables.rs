//! The tables, in Markdown as the document has them; the last is the one of ratios.

use super::{
    facts::{Manner, Peer},
    recovery::Recovery,
    round::{Round, Scene},
    sizes::Sizes,
};

/// Everything that was measured of a peer.
pub(crate) struct Measured {
    pub(crate) peer: &'static Peer,
    /// A round of each manner and scene that was to be.
    pub(crate) rounds: Vec<(Manner, Scene, Result<Option<Round>, String>)>,
    pub(crate) recovery: Option<Recovery>,
}

impl Measured {
    fn round(&self, manner: Manner, scene: Scene) -> Option<&Round> {
        let found = self.rounds.iter().find(|(as_set, beside, _)| (*as_set, *beside) == (manner, scene));
        found?.2.as_ref().ok()?.as_ref()
    }

    /// The manner of long queues: the last one that was measured on an empty one.
    fn last(&self) -> Manner {
        *self.peer.manners.last().unwrap_or(&Manner::Shipped)
    }

    fn title(&self, manner: Manner) -> String {
        match manner {
            Manner::Shipped => format!("{} {}", self.peer.name, self.peer.version),
            Manner::Tuned => format!("{}, {}", self.peer.name, self.peer.tuned),
        }
    }
}

/// Prints all tables.
pub(crate) fn print(all: &[Measured], skipped: &[(&Peer, String)], floor: (f64, f64), sizes: &Sizes) {
    work(all, floor, sizes);
    starts(all, sizes);
    beside(all, sizes);
    recoveries(all, sizes);
    ratios(all);
    for (peer, why) in skipped {
        println!("{} {} was skipped: it {why}.", peer.name, peer.version);
    }
}

fn head(columns: &[&str]) {
    println!("| {} |", columns.join(" | "));
    println!("|{}", "---|".repeat(columns.len()));
}

fn work(all: &[Measured], floor: (f64, f64), sizes: &Sizes) {
    println!(
        "\nSingle inserts: {} by 16 producers. Drain: {} ready jobs, 16 at once.\n",
        sizes.inserts, sizes.jobs
    );
    let costs = ["commits per job", "WAL bytes per job", "CPU ms per job (own + server)"];
    let columns = [&["", "finished jobs", "inserts a second"], &costs[..], &["drained a second"], &costs[..]];
    head(&columns.concat());
    for measured in all {
        for (manner, scene, round) in &measured.rounds {
            let title = measured.title(*manner);
            match round {
                Ok(Some(round)) if *scene == Scene::Empty => println!(
                    "| {title} | {} | {} | {} | {} | {} |",
                    measured.peer.history,
                    round.inserts.words(),
                    round.inserts.cost_words(),
                    round.drain.words(),
                    round.drain.cost_words(),
                ),
                Err(why) => println!("| {title}, {} | | {why} | | | | | | | |", scene.word()),
                _ => {}
            }
        }
    }
    println!("| pgbench, one row a transaction | | {:.0} | 1 | | | {:.0} | 1 | | |", floor.0, floor.1);
}

fn starts(all: &[Measured], sizes: &Sizes) {
    println!(
        "\nFrom commit to start, p50 / p99 ms: open loops of {} s (in brackets the p99 of the cold second before); and a quiet queue that is handed one job, {} tries.\n",
        sizes.seconds, sizes.tries
    );
    head(&["", "100 a second", "500 a second", "quiet queue"]);
    for measured in all {
        for (manner, scene, round) in &measured.rounds {
            if let (Scene::Empty, Ok(Some(round))) = (scene, round) {
                row(&measured.title(*manner), round);
            }
        }
    }
}

fn row(title: &str, round: &Round) {
    let open: Vec<String> = round.open.iter().map(super::cell::Waits::words).collect();
    if !open.is_empty() {
        println!("| {title} | {} | {} |", open.join(" | "), round.idle.words());
    }
}

fn beside(all: &[Measured], sizes: &Sizes) {
    if sizes.history == 0 {
        return;
    }
    println!(
        "\nBeside {} rows that are done, or that wait for tomorrow; drains of {} jobs; waits are p50 / p99 ms (cold p99).\n",
        sizes.history, sizes.again
    );
    head(&[
        "",
        "beside",
        "inserts a second",
        "WAL bytes per insert",
        "drained a second",
        "100 a second",
        "500 a second",
        "quiet queue",
    ]);
    for measured in all {
        for (manner, scene, round) in &measured.rounds {
            let title = measured.title(*manner);
            match round {
                _ if *scene == Scene::Empty => {}
                Ok(None) => {
                    println!("| {title} | {} | keeps none that could be made | | | | | |", scene.word())
                }
                Ok(Some(round)) => {
                    let work = format!(
                        "{} | {} | {}",
                        round.inserts.words(),
                        round.inserts.wal_words(),
                        round.drain.words()
                    );
                    let title = format!("{title} | {} | {work}", scene.word());
                    row(&title, round);
                }
                Err(_) => {}
            }
        }
    }
}

fn recoveries(all: &[Measured], sizes: &Sizes) {
    if sizes.kills == 0 {
        return;
    }
    println!(
        "\nA worker is killed (SIGKILL) in its run; until another process, which was there, starts the job.\n"
    );
    head(&["", "as shipped"]);
    for measured in all {
        if let Some(recovery) = &measured.recovery {
            println!("| {} | {} |", measured.title(Manner::Shipped), recovery.words(measured.peer));
        }
    }
}

/// Ours to theirs: above 1 is better in rates, below 1 in waits. And each to itself on an empty queue.
fn ratios(all: &[Measured]) {
    let of = |name: &str| {
        let found = all.iter().find(|measured| measured.peer.name == name);
        found.and_then(|measured| measured.round(Manner::Shipped, Scene::Empty))
    };
    let (ours, http) = (of("listen"), of("listen-http"));
    println!(
        "\nRatios. Ours to theirs: rates above 1 and waits below 1 are better; then each beside rows to itself without.\n"
    );
    head(&[
        "",
        "admission by verb to inserts",
        "admission over HTTP to inserts",
        "finalizations to drained",
        "p99 at 100",
        "p99 at 500",
        "p50 when quiet",
        "own inserts, finished",
        "own drain, finished",
        "own inserts, waiting",
        "own drain, waiting",
    ]);
    for measured in all {
        for manner in measured.peer.manners {
            let Some(round) = measured.round(*manner, Scene::Empty) else { continue };
            let inserts = |ours: Option<&Round>| {
                ratio(ours.and_then(|ours| ours.inserts.figure()), round.inserts.figure())
            };
            let p99 = |rate: usize| {
                let wait = |round: &Round| Some(round.open.get(rate)?.figure()?.1);
                ratio(ours.and_then(wait), wait(round))
            };
            let quiet = |round: &Round| Some(round.idle.figure()?.0);
            let mut cells = vec![
                inserts(ours),
                inserts(http),
                ratio(ours.and_then(|ours| ours.drain.figure()), round.drain.figure()),
                p99(0),
                p99(1),
                ratio(ours.and_then(quiet), quiet(round)),
            ];
            for scene in [Scene::Finished, Scene::Waiting] {
                let beside = measured.round(*manner, scene).filter(|_| *manner == measured.last());
                cells.push(ratio(beside.and_then(|beside| beside.inserts.figure()), round.inserts.figure()));
                cells.push(ratio(beside.and_then(|beside| beside.drain.figure()), round.drain.figure()));
            }
            println!("| {} | {} |", measured.title(*manner), cells.join(" | "));
        }
    }
    println!();
}

fn ratio(one: Option<f64>, other: Option<f64>) -> String {
    match (one, other) {
        (Some(one), Some(other)) if other > 0.0 => format!("{:.2}", one / other),
        _ => String::new(),
    }
}
