//! The processes of the service: who lives, who died, and whether anybody repairs.

use chrono::Duration;
use operations::{Examination, ProcessView, Workers};
use records::Timestamp;

use super::{Level, Remark, remark};
use crate::commands::{living::living, times::ago};

/// Of so many that died, the last ones are named.
const NAMED: usize = 5;

/// Whether none is seen because none can record that it is alive.
pub(super) fn are_unknown(found: &Examination, workers: &Workers) -> bool {
    (!found.writes || found.disk_is_full) && living(workers).next().is_none()
}

/// Who lives, with how many slots, and who died without taking its leave.
pub(super) fn processes(found: &Examination, workers: &Workers) -> Remark {
    if are_unknown(found, workers) {
        let words = "unknown: none can record that it is alive while the database stores nothing";
        return remark("processes", Level::Warning, words.to_owned());
    }
    let living: Vec<&ProcessView> = living(workers).collect();
    let slots: u32 =
        living.iter().map(|view| view.process.finalization_slots + view.process.creation_slots).sum();
    let died = died(found.at, workers);
    let (mut level, mut words) = match (living.len(), slots) {
        (0, _) => (Level::Failure, "no worker is running: start a process with the role worker".to_owned()),
        (living, 0) => (
            Level::Failure,
            format!("{living} running, and none of them takes jobs: start one with the role worker"),
        ),
        (living, slots) if died.is_empty() => (Level::Fine, format!("{living} running, {slots} slots")),
        (living, slots) => (Level::Warning, format!("{living} running, {slots} slots")),
    };
    let answers = |view: &&ProcessView| view.process.roles.iter().any(|role| role == "api");
    if !living.is_empty() && !living.iter().any(answers) {
        level = Level::Failure;
        words.push_str("; none of them answers requests: start one with the role api");
    }
    if !died.is_empty() {
        words.push_str(&format!("; died: {}", named(&died, found.at)));
    }
    remark("processes", level, words)
}

/// Those who were not seen for long and did not say that they stop, the last seen first. Of one that died long ago
/// and holds nothing, nothing is left to be done.
fn died(at: Timestamp, workers: &Workers) -> Vec<&ProcessView> {
    let mut died: Vec<&ProcessView> = workers
        .processes
        .iter()
        .filter(|view| !view.alive && !view.process.stopping)
        .filter(|view| !view.holds.is_empty() || at - view.seen_at < Duration::hours(1))
        .collect();
    died.sort_by_key(|view| std::cmp::Reverse(view.seen_at));
    died
}

fn named(died: &[&ProcessView], at: Timestamp) -> String {
    let name = |view: &&ProcessView| {
        let holds = match view.holds.len() {
            0 => "holds nothing".to_owned(),
            1 => "holds 1 lease".to_owned(),
            many => format!("holds {many} leases"),
        };
        format!("{} (last seen {} ago, {holds})", view.process.id, ago(view.seen_at, at))
    };
    let mut names: Vec<String> = died.iter().take(NAMED).map(name).collect();
    if let Some(more) = died.len().checked_sub(NAMED).filter(|more| *more > 0) {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

/// Whether the reconciler makes its rounds.
pub(super) fn rounds(found: &Examination, workers: &Workers) -> Remark {
    let has_role = |view: &ProcessView| {
        view.alive && view.process.roles.iter().any(|role| role == "reconciler" || role == "worker")
    };
    if is_without_reconciler(workers) {
        let words = "no living process has the role reconciler, and without one bulk replays do not begin: start one (`listen serve --roles reconciler`, or with all roles)";
        let last = found.last_round.map(|last| format!("; last round {} ago", ago(last.at, found.at)));
        return remark("reconciler", Level::Failure, format!("{words}{}", last.unwrap_or_default()));
    }
    match found.last_round {
        Some(last) => {
            let level = if last.is_silent(found.at) { Level::Failure } else { Level::Fine };
            remark("reconciler", level, format!("last round {} ago", ago(last.at, found.at)))
        }
        None if workers.processes.iter().any(has_role) => {
            remark("reconciler", Level::Warning, "has not finished a round yet".to_owned())
        }
        None => remark("reconciler", Level::Failure, "never finished a round".to_owned()),
    }
}

/// Whether processes run in a durable mode and none of them has the role reconciler.
fn is_without_reconciler(workers: &Workers) -> bool {
    let mut durable = living(workers).filter(|view| view.process.dispatch_mode != "inline").peekable();
    let is_reconciler = |view: &ProcessView| view.process.roles.iter().any(|role| role == "reconciler");
    durable.peek().is_some() && !durable.any(is_reconciler)
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use operations::{HeldLease, LastRound, Process};

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_700_000_000 + seconds, 0).unwrap()
    }

    /// A process with the roles api and worker, last seen `ago` seconds before [`found`].
    pub(in crate::commands::doctor) fn view(id: &str, slots: u32, ago: i64, holds: usize) -> ProcessView {
        let lease = HeldLease {
            worker: format!("{id}/finalization"),
            user_id: "u".to_owned(),
            job_id: "fj_1".to_owned(),
            epoch: 1,
            claimed_at: at(-60),
            expires_at: at(-30),
        };
        ProcessView {
            process: Process {
                id: id.to_owned(),
                version: "1".to_owned(),
                roles: vec!["api".to_owned(), "worker".to_owned()],
                dispatch_mode: "postgres".to_owned(),
                finalization_slots: slots,
                creation_slots: 0,
                stopping: false,
            },
            started_at: at(-100_000),
            seen_at: at(-ago),
            alive: ago < 20,
            holds: vec![lease; holds],
        }
    }

    fn said(processes: Vec<ProcessView>) -> (Level, String) {
        let remark = super::processes(&found(), &Workers { processes, strays: Vec::new() });
        (remark.level, remark.words)
    }

    pub(in crate::commands::doctor) fn found() -> Examination {
        Examination {
            at: at(0),
            server: "17".to_owned(),
            encoding: "UTF8".to_owned(),
            writes: true,
            disk_is_full: false,
            missing_migrations: Vec::new(),
            unknown_migrations: Vec::new(),
            extensions: Vec::new(),
            unsafe_settings: Vec::new(),
            connections: (1, 100),
            without_owners: 0,
            unwatched_leases: 0,
            old_transactions: Vec::new(),
            holding_back: Vec::new(),
            blind_role: None,
            waiting_for_locks: 0,
            locking: Vec::new(),
            ahead: 0.0,
            bloated: Vec::new(),
            last_round: None,
        }
    }

    #[test]
    fn doctor_fails_when_no_process_answers_requests() {
        let mut worker = view("host:1", 4, 1, 0);
        worker.process.roles = vec!["worker".to_owned(), "reconciler".to_owned()];
        let words = "1 running, 4 slots; none of them answers requests: start one with the role api";
        assert_eq!(said(vec![worker]), (Level::Failure, words.to_owned()));
    }

    #[test]
    fn doctor_names_dead_processes_with_and_without_slots_left() {
        let died = "; died: host:2 (last seen 45s ago, holds 2 leases)";
        let dead = || view("host:2", 4, 45, 2);
        let none = "no worker is running: start a process with the role worker";
        assert_eq!(said(vec![dead()]), (Level::Failure, format!("{none}{died}")));
        let idle = "1 running, and none of them takes jobs: start one with the role worker";
        assert_eq!(said(vec![view("host:1", 0, 1, 0), dead()]), (Level::Failure, format!("{idle}{died}")));
        let well = "1 running, 4 slots";
        assert_eq!(said(vec![view("host:1", 4, 1, 0), dead()]), (Level::Warning, format!("{well}{died}")));
        assert_eq!(said(vec![view("host:1", 4, 1, 0)]), (Level::Fine, well.to_owned()));
        assert_eq!(said(Vec::new()), (Level::Failure, none.to_owned()));
    }

    fn every_five_minutes(seconds: i64) -> LastRound {
        LastRound { at: at(seconds), every: Duration::minutes(5) }
    }

    /// The remark on the rounds of living processes with these roles, in these dispatch modes.
    fn rounds_of(last_round: Option<LastRound>, processes: &[(&str, &str)]) -> (Level, String) {
        let living = |(role, mode): &(&str, &str)| {
            let mut view = view("host:1", 4, 1, 0);
            (view.process.roles, view.process.dispatch_mode) = (vec![role.to_string()], mode.to_string());
            view
        };
        let workers = Workers { processes: processes.iter().map(living).collect(), strays: Vec::new() };
        let remark = rounds(&Examination { last_round, ..found() }, &workers);
        (remark.level, remark.words)
    }

    #[test]
    fn doctor_fails_without_a_reconciler_and_names_what_to_start() {
        for processes in [
            &[("worker", "postgres")][..],
            &[("api", "postgres")],
            &[("worker", "postgres"), ("api", "postgres")],
            &[("worker", "postgres"), ("reconciler", "inline")],
        ] {
            let (level, words) = rounds_of(None, processes);
            assert_eq!(level, Level::Failure, "{processes:?}");
            assert!(words.ends_with(": start one (`listen serve --roles reconciler`, or with all roles)"));
        }
        let (level, words) = rounds_of(Some(every_five_minutes(-60)), &[("worker", "postgres")]);
        assert_eq!(level, Level::Failure, "one that has left");
        assert!(words.ends_with("; last round 60s ago"), "{words}");
        let mut leaving = view("host:2", 0, 1, 0);
        (leaving.process.roles, leaving.process.stopping) = (vec!["reconciler".to_owned()], true);
        let workers = Workers { processes: vec![view("host:1", 4, 1, 0), leaving], strays: Vec::new() };
        assert_eq!(rounds(&found(), &workers).level, Level::Failure, "one that leaves");
    }

    #[test]
    fn doctor_waits_for_the_first_round_where_a_reconciler_runs() {
        let not_yet = (Level::Warning, "has not finished a round yet".to_owned());
        let never = (Level::Failure, "never finished a round".to_owned());
        assert_eq!(rounds_of(None, &[("worker", "postgres"), ("reconciler", "postgres")]), not_yet);
        assert_eq!(rounds_of(None, &[("worker", "inline")]), not_yet, "it makes all the rounds there are");
        assert_eq!(rounds_of(None, &[("api", "inline")]), never);
        assert_eq!(rounds_of(None, &[]), never);
        let (fine, late) =
            (rounds_of(Some(every_five_minutes(-60)), &[]), rounds_of(Some(every_five_minutes(-901)), &[]));
        assert_eq!(fine, (Level::Fine, "last round 60s ago".to_owned()));
        assert_eq!(late, (Level::Failure, "last round 15m ago".to_owned()));
        let hourly = LastRound { at: at(-3_700), every: Duration::hours(1) };
        assert_eq!(rounds_of(Some(hourly), &[]).0, Level::Fine, "its schedule is rarer");
    }

    #[test]
    fn doctor_names_the_latest_dead_processes_and_counts_the_rest() {
        let dead = (2..9).map(|number| view(&format!("host:{number}"), 4, 100 + number, 0)).rev();
        let words = said(dead.collect()).1;
        assert!(words.contains("died: host:2 (last seen 102s ago, holds nothing), host:3 "), "{words}");
        assert!(words.ends_with("host:6 (last seen 106s ago, holds nothing), and 2 more"), "{words}");
    }

    #[test]
    fn doctor_counts_long_dead_processes_that_hold_leases() {
        let long_ago = |holds| said(vec![view("host:1", 4, 1, 0), view("host:2", 4, 90_000, holds)]);
        assert_eq!(long_ago(0).0, Level::Fine);
        assert!(long_ago(1).1.ends_with("died: host:2 (last seen 25h ago, holds 1 lease)"));
    }
}
