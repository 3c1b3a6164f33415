//! One peer, in one manner, beside what one scene puts into its tables.

use serde_json::Value;

use super::{
    adapter::Adapter,
    cell::{Cost, Rate, Waits},
    facts::{Manner, Peer, Runtime},
    sizes::Sizes,
};
use crate::setup::{Setup, WIDTH};

/// What lies beside the work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scene {
    /// Nothing.
    Empty,
    /// Jobs that are done.
    Finished,
    /// Jobs that are not ready before tomorrow.
    Waiting,
}

impl Scene {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Finished => "finished",
            Self::Waiting => "waiting",
        }
    }
}

/// What was measured of a peer in a scene.
pub(crate) struct Round {
    pub(crate) inserts: Rate,
    pub(crate) drain: Rate,
    /// Of the open loops, at each of [`RATES`].
    pub(crate) open: Vec<Waits>,
    pub(crate) idle: Waits,
}

/// Seconds of an open loop that are kept apart: statements are planned and code is compiled in them, in every peer.
const COLD: usize = 1;

/// Jobs a second of the open loops.
pub(crate) const RATES: [usize; 2] = [100, 500];

/// A queue on a database of its own, made again when a cell leaves work behind.
struct Stage<'a> {
    setup: &'a Setup,
    peer: &'a Peer,
    manner: Manner,
    scene: Scene,
    rows: usize,
    adapter: Adapter,
}

/// Measures; `Ok(None)` where the peer has nothing of what the scene is about.
pub(crate) async fn measure(
    setup: &Setup,
    peer: &Peer,
    manner: Manner,
    scene: Scene,
    sizes: &Sizes,
    tell: &dyn Fn(&str),
) -> Result<Option<Round>, String> {
    tell("getting ready");
    let Some(adapter) = build(setup, peer, manner, scene, sizes.history).await? else {
        return Ok(None);
    };
    let mut stage = Stage { setup, peer, manner, scene, rows: sizes.history, adapter };
    let jobs = if scene == Scene::Empty { sizes.jobs } else { sizes.again };
    let inserts = sizes.inserts.min(jobs);
    stage.adapter.ask(&format!("prepare {jobs}")).await?;
    tell("single inserts");
    let inserted = stage.inserts(inserts).await?;
    let mut round = Round {
        inserts: inserted,
        drain: Rate::None("–".to_owned()),
        open: Vec::new(),
        idle: Waits::None("–".to_owned()),
    };
    if !matches!(peer.runtime, Runtime::Own("http")) {
        tell("loading");
        stage.adapter.ask(&format!("load {inserts} {jobs}")).await?;
        tell("drain");
        round.drain = stage.drain(jobs, sizes.bound).await?;
        // Beside rows fewer tries tell as much.
        let tries = if scene == Scene::Empty { sizes.tries } else { sizes.tries.div_ceil(2) };
        for rate in RATES {
            tell(&format!("{rate} a second"));
            let seconds = COLD + sizes.seconds;
            let line = format!("open {rate} {seconds} {WIDTH}");
            round.open.push(stage.waits(rate * seconds, rate * COLD, &line).await?);
        }
        tell("idle pick-up");
        round.idle = stage.waits(tries, 0, &format!("idle {tries} {WIDTH}")).await?;
    }
    stage.adapter.kill().await;
    setup.drop_database(&database(peer, scene)).await;
    Ok(Some(round))
}

impl Stage<'_> {
    async fn inserts(&mut self, count: usize) -> Result<Rate, String> {
        let (answer, cost) = self.costing(&format!("enqueue {count} {WIDTH}"), count).await?;
        let there = usize::try_from(self.adapter.left().await?).unwrap_or(0);
        let seconds = answer["seconds"].as_f64().unwrap_or(f64::INFINITY);
        Ok(Rate::judge(count, there.min(count), there.saturating_sub(count), 0, seconds, false).at(cost))
    }

    async fn drain(&mut self, count: usize, bound: u64) -> Result<Rate, String> {
        let (answer, cost) = self.costing(&format!("drain {count} {WIDTH} {bound}"), count).await?;
        let number = |name: &str| answer[name].as_u64().unwrap_or(0) as usize;
        let (done, seconds) = (number("done"), answer["seconds"].as_f64().unwrap_or(f64::INFINITY));
        let over = done < count && seconds >= bound as f64;
        let left = self.settled(over).await?;
        let cost = if done == 0 { Cost::default() } else { cost.times(count as f64 / done as f64) };
        let rate = Rate::judge(count, done, number("double"), left, seconds, over).at(cost);
        self.again_if(left > 0).await?;
        Ok(rate)
    }

    /// Jobs left, once acknowledgements that were on their way have come.
    async fn settled(&mut self, over: bool) -> Result<i64, String> {
        let mut left = self.adapter.left().await?;
        for _ in 0..20 {
            if left == 0 || over {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(250)).await;
            left = self.adapter.left().await?;
        }
        Ok(left)
    }

    async fn waits(&mut self, count: usize, cold: usize, line: &str) -> Result<Waits, String> {
        self.adapter.ask(&format!("prepare {count}")).await?;
        let answer = self.adapter.ask(line).await?;
        let left = self.settled(false).await?;
        self.again_if(left > 0).await?;
        Ok(Waits::judge(&answer, cold))
    }

    /// Asks, and says what it took for each of so many jobs.
    async fn costing(&mut self, line: &str, jobs: usize) -> Result<(Value, Cost), String> {
        let before = (self.setup.written().await, self.adapter.cpu(), self.setup.server_cpu());
        let answer = self.adapter.ask(line).await?;
        let after = (self.setup.written().await, self.adapter.cpu(), self.setup.server_cpu());
        let per_job = |before: f64, after: f64| (after - before) / jobs.max(1) as f64;
        let cost = Cost {
            cpu: (per_job(before.1, after.1), per_job(before.2, after.2)),
            writes: per_job(before.0.1, after.0.1),
            wal: per_job(before.0.0, after.0.0),
        };
        Ok((answer, cost))
    }

    /// Work that was left would stand before the next cell's.
    async fn again_if(&mut self, needed: bool) -> Result<(), String> {
        if needed {
            self.adapter.kill().await;
            let made = build(self.setup, self.peer, self.manner, self.scene, self.rows).await?;
            self.adapter = made.ok_or("could be made once, and not again")?;
        }
        Ok(())
    }
}

async fn build(
    setup: &Setup,
    peer: &Peer,
    manner: Manner,
    scene: Scene,
    rows: usize,
) -> Result<Option<Adapter>, String> {
    let url = setup.empty_database(&database(peer, scene)).await;
    let mut adapter = Adapter::start(peer, manner, &url)?;
    adapter.ask("setup").await?;
    if scene != Scene::Empty {
        let filled = adapter.ask(&format!("fill {} {rows}", scene.word())).await?;
        if filled["skipped"] == Value::Bool(true) {
            setup.drop_database(&database(peer, scene)).await;
            return Ok(None);
        }
    }
    Ok(Some(adapter))
}

/// The name of a database for `peer`.
fn database(peer: &Peer, scene: Scene) -> String {
    format!("{}_{}", peer.slug(), scene.word())
}
