//! Whether a process lives that works bulk replays off: without one, an operation looks merely slow.

use std::collections::BTreeMap;

use db::Shard;
use operations::{Operations, Pause, Workers};

use crate::commands::stderr::note;
use crate::{
    commands::{living::living, outage, stdout::plain},
    over_shards::numbers,
    terminal::{PLAIN, YELLOW},
};

/// Says on stderr what keeps jobs that are replayed in these shards from running, and what to do about it; nothing where
/// nothing does. A gap of the database, which has answered before, is with_retries.
pub(crate) async fn warn(shards: &[&Operations]) -> anyhow::Result<()> {
    for words in outage::with_retries(async || missing(shards).await).await? {
        note!("{YELLOW}warning:{PLAIN} {}", plain(&words));
    }
    Ok(())
}

/// What keeps them from running now, each with what to do about it.
pub(crate) async fn missing(shards: &[&Operations]) -> Result<Vec<String>, db::Error> {
    // Every process works for all shards; a queue may be paused in some of them.
    let Some(first) = shards.first() else { return Ok(Vec::new()) };
    let (workers, mut pauses) = (first.workers().await?, Vec::new());
    for shard in shards {
        let found = shard.pauses().await?.into_iter();
        pauses.extend(found.map(|pause| (shard.db().shard(), pause)));
    }
    Ok(obstacles(&workers, &pauses))
}

/// What keeps them, in the order in which a job meets it.
fn obstacles(workers: &Workers, pauses: &[(Shard, Pause)]) -> Vec<String> {
    let living = || living(workers).map(|view| &view.process);
    let mut words = Vec::new();
    if !living().any(|process| process.roles.iter().any(|role| role == "reconciler")) {
        words.push(
            "no process works replays off: no living process has the role reconciler; start one \
             (`listen serve --roles reconciler`, or with all roles)"
                .to_owned(),
        );
    }
    if living().all(|process| process.finalization_slots == 0) {
        words.push(
            "what is replayed waits: no living process takes jobs; start one with the role worker".to_owned(),
        );
    }
    let mut paused: BTreeMap<&str, Vec<Shard>> = BTreeMap::new();
    for (shard, pause) in pauses.iter().filter(|(_, pause)| pause.queue == QUEUE) {
        paused.entry(&pause.operator).or_default().push(*shard);
    }
    words.extend(paused.into_iter().map(|(operator, shards)| {
        let of = match shards.iter().all(|shard| shard.is_only()) {
            true => String::new(),
            false => format!(" in shard {}", numbers(shards.iter().map(|shard| shard.number))),
        };
        format!(
            "what is replayed waits: the queue {QUEUE} is paused by {operator}{of}; \
             `listen jobs resume {QUEUE} --reason …` opens it"
        )
    }));
    words
}

/// Whatever queue a job died in, its replay goes through this one.
const QUEUE: &str = "finalization";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use operations::{Process, ProcessView};
    use records::Timestamp;

    use super::*;

    fn living(roles: &[&str], slots: u32) -> ProcessView {
        let at = Timestamp::from_timestamp(1_700_000_000, 0).unwrap();
        ProcessView {
            process: Process {
                id: "host:1".to_owned(),
                version: "1".to_owned(),
                roles: roles.iter().map(ToString::to_string).collect(),
                dispatch_mode: "postgres".to_owned(),
                finalization_slots: slots,
                creation_slots: 0,
                stopping: false,
            },
            started_at: at,
            seen_at: at,
            alive: true,
            holds: Vec::new(),
        }
    }

    fn said(processes: Vec<ProcessView>) -> Vec<&'static str> {
        let all = obstacles(&Workers { processes, strays: Vec::new() }, &[]);
        let hand = |words: &String| if words.contains("role reconciler") { "reconciler" } else { "worker" };
        all.iter().map(hand).collect()
    }

    #[test]
    fn preflight_needs_a_live_reconciler_and_worker() {
        let dead = |view: ProcessView| ProcessView { alive: false, ..view };
        let leaving =
            |view: ProcessView| ProcessView { process: Process { stopping: true, ..view.process }, ..view };
        let both = || living(&["worker", "reconciler"], 4);
        assert_eq!(said(vec![both()]), [""; 0]);
        assert_eq!(said(vec![living(&["reconciler"], 0), living(&["worker"], 4)]), [""; 0]);
        assert_eq!(said(vec![living(&["worker"], 4)]), ["reconciler"]);
        assert_eq!(said(vec![living(&["api", "reconciler"], 0)]), ["worker"]);
        for nobody in [Vec::new(), vec![dead(both())], vec![leaving(both())]] {
            assert_eq!(said(nobody), ["reconciler", "worker"]);
        }
    }

    #[test]
    fn preflight_names_the_command_that_resumes_a_paused_queue() {
        let pause = |queue: &str| Pause {
            queue: queue.to_owned(),
            operator: "olga".to_owned(),
            reason: "the server moves".to_owned(),
            paused_at: Timestamp::from_timestamp(1_700_000_000, 0).unwrap(),
        };
        let workers = Workers { processes: vec![living(&["worker", "reconciler"], 4)], strays: Vec::new() };
        let words = |of: &[(u16, u16, &str)]| {
            let of = of.iter().map(|(number, of, queue)| (Shard { number: *number, of: *of }, pause(queue)));
            obstacles(&workers, &of.collect::<Vec<_>>())
        };
        let only = words(&[(0, 1, "creation"), (0, 1, "finalization")]);
        assert_eq!(only.len(), 1, "{only:?}");
        assert!(only[0].contains("by olga; `listen jobs resume finalization"), "{only:?}");
        let some = words(&[(1, 4, "finalization"), (2, 4, "creation"), (3, 4, "finalization")]);
        assert_eq!(some.len(), 1, "{some:?}");
        assert!(some[0].contains("by olga in shard 1, 3; `listen jobs resume"), "{some:?}");
    }
}
