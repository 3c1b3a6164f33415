//! The model and speech servers, and whether what they should do can be asked for at all.

use chrono::TimeDelta;
use operations::{ModelServers, ServerKind, Workers};

use super::{Level, Remark, remark};
use crate::{
    commands::living::living,
    model_servers::{Standing, summaries},
};

/// A process checks its server for up to 10 seconds before it reports it the first time, and then reports every 5 seconds.
const FIRST_REPORT: TimeDelta = TimeDelta::seconds(20);

/// What the living processes know of their servers.
pub(super) fn engines(found: &ModelServers, workers: &Workers) -> Vec<Remark> {
    let summaries = summaries(found);
    let has_just_begun = living(workers).any(|view| view.seen_at - view.started_at < FIRST_REPORT);
    let embedded = match summaries.iter().any(|summary| summary.kind == ServerKind::Model) {
        true => None,
        false if has_just_begun => Some("not known yet: a process has just begun; ask again in 20 seconds"),
        false => Some("embedded: no model server is asked"),
    };
    let embedded = embedded.map(|words| remark("engines", Level::Fine, words.to_owned()));
    let servers = summaries.into_iter().map(|summary| {
        let level = match summary.standing {
            Standing::Well => Level::Fine,
            Standing::Unknown | Standing::Unwell => Level::Warning,
            Standing::Away => Level::Failure,
        };
        let name = match summary.kind {
            ServerKind::Model => "engines",
            ServerKind::Speech => "speech",
        };
        remark(name, level, format!("{} {}", summary.engine, summary.words))
    });
    embedded.into_iter().chain(servers).collect()
}

/// In the mode `inline` finalize answers 503, and only creates are processed.
pub(super) fn dispatch(workers: &Workers) -> Option<Remark> {
    let mut modes: Vec<&str> = living(workers).map(|view| view.process.dispatch_mode.as_str()).collect();
    modes.sort_unstable();
    modes.dedup();
    match modes.as_slice() {
        [] => None,
        ["inline"] => Some(remark(
            "dispatch",
            Level::Warning,
            "inline: finalize answers 503, and live conversations are not finished; for a durable queue set \
             LISTEN_FINALIZATION_DISPATCH_MODE=postgres"
                .to_owned(),
        )),
        [mode] => Some(remark("dispatch", Level::Fine, format!("{mode}: finalize is durable"))),
        many => Some(remark(
            "dispatch",
            Level::Warning,
            format!("processes run in different modes: {}; give all of them the same", many.join(", ")),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::{doctor::processes::tests::view, living::hands_over};

    fn in_modes(modes: &[&str]) -> Workers {
        let process = |mode: &&str| {
            let mut view = view("host:1", 4, 1, 0);
            view.process.dispatch_mode = (*mode).to_owned();
            view
        };
        Workers { processes: modes.iter().map(process).collect(), strays: Vec::new() }
    }

    #[test]
    fn doctor_names_no_engine_before_a_new_process_reported_its_server() {
        let words = |seconds: i64| {
            let mut view = view("host:1", 4, 1, 0);
            view.started_at = view.seen_at - TimeDelta::seconds(seconds);
            let workers = Workers { processes: vec![view], strays: Vec::new() };
            engines(&ModelServers::default(), &workers).remove(0).words
        };
        assert!(words(19).starts_with("not known yet"), "{}", words(19));
        assert!(words(20).starts_with("embedded"), "{}", words(20));
    }

    #[test]
    fn doctor_warns_that_finalize_is_503_in_inline_mode() {
        let level = |modes: &[&str]| dispatch(&in_modes(modes)).map(|remark| remark.level);
        assert_eq!(level(&[]), None);
        assert_eq!(level(&["postgres", "postgres"]), Some(Level::Fine));
        assert_eq!(level(&["postgres", "inline"]), Some(Level::Warning));
        let inline = dispatch(&in_modes(&["inline"])).map(|remark| (remark.level, remark.words));
        assert!(matches!(inline, Some((Level::Warning, words)) if words.contains("finalize answers 503")));
    }

    #[test]
    fn doctor_checks_the_task_queue_in_cloud_tasks_mode_only() {
        assert!(hands_over(&in_modes(&["postgres", "cloud_tasks"])));
        assert!(!hands_over(&in_modes(&["postgres", "inline"])));
    }
}
