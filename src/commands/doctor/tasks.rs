//! The task queue: whether it is there and may be used, and whether what is to be handed over is.

use std::time::Duration;

use outbox::Unhanded;
use tasks::{Finding, TaskQueue, examine};

use super::{Level, Remark, remark};
use crate::{commands::jobs::several, config::TasksConfig, process::install_crypto};

/// Dispatches that wait longer than this stand still.
const STANDS_STILL: f64 = 300.0;

/// As many seconds may one try take.
const ONE_TRY: f64 = 10.0;

/// What is said of the task queue; nothing where none is configured.
pub(super) async fn queue(config: &TasksConfig) -> Vec<Remark> {
    match config.has_queue() {
        true => look(config).await.into_iter().map(to_remark).collect(),
        false => Vec::new(),
    }
}

async fn look(config: &TasksConfig) -> Vec<Finding> {
    install_crypto();
    // No task is created here: the deadline does not matter.
    let Some(settings) = config.queue(Duration::ZERO) else {
        let words = "its settings are not complete: `listen config` says what is missing";
        return vec![Finding::Broken(words.to_owned())];
    };
    let Ok(access) = config.access() else {
        let words = "GOOGLE_APPLICATION_CREDENTIALS names a file that cannot be read or understood";
        return vec![Finding::Broken(words.to_owned())];
    };
    match TaskQueue::new(settings, access) {
        Some(queue) => examine(&queue).await,
        None => vec![Finding::Broken("no outgoing connection can be made from here".to_owned())],
    }
}

fn to_remark(finding: Finding) -> Remark {
    let (level, words) = match finding {
        Finding::Fine(words) => (Level::Fine, words),
        Finding::Note(words) => (Level::Warning, words),
        Finding::Broken(words) => (Level::Failure, words),
    };
    remark("task queue", level, words)
}

/// What waits to be handed over. The cause is what was found wrong with the queue; where nothing was, the commonest is a permission
/// that only a create needs.
pub(super) fn handed(Unhanded { seconds, tries }: Unhanded, is_broken: bool) -> Remark {
    // The last try may be under way.
    let was_refused = tries > 1 || (tries == 1 && seconds > ONE_TRY);
    let level = match (seconds > STANDS_STILL, was_refused) {
        (true, _) => Level::Failure,
        (false, true) => Level::Warning,
        (false, false) => {
            return remark("hand-over", Level::Fine, "what is dispatched is handed over".to_owned());
        }
    };
    let next = match (was_refused, is_broken) {
        (false, _) => {
            "no process handed it over: does a process with the role api or reconciler run with \
             LISTEN_FINALIZATION_DISPATCH_MODE=cloud_tasks?"
        }
        (true, true) => "was not handed over: fix the task queue first",
        (true, false) => {
            "was not handed over: the logs of the processes with the role api or reconciler say what the queue answered (`the task \
             queue refuses tasks`); the commonest cause is that this service may not act as LISTEN_FINALIZATION_TASKS_INVOKER_SA \
             (grant roles/iam.serviceAccountUser on it)"
        }
    };
    let tried = several(tries.into(), "try", "tries");
    remark("hand-over", level, format!("a dispatch has waited for {seconds:.0} s, and after {tried} {next}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doctor_names_why_task_dispatch_stands_still() {
        let of = |seconds, tries| handed(Unhanded { seconds, tries }, false);
        assert_eq!(
            [of(299.0, 0).level, of(9.0, 1).level],
            [Level::Fine, Level::Fine],
            "a first try is under way"
        );
        for refused in [of(5.0, 2), of(11.0, 1), of(299.0, 4)] {
            assert!(refused.level == Level::Warning && refused.words.contains("logs"), "{}", refused.words);
        }
        assert!(of(301.0, 0).words.contains("after 0 tries no process handed it over"));
        let refused = of(301.0, 9);
        assert_eq!(refused.level, Level::Failure);
        assert!(refused.words.contains("iam.serviceAccountUser"), "{}", refused.words);
        let unreachable = handed(Unhanded { seconds: 301.0, tries: 9 }, true);
        assert!(!unreachable.words.contains("iam") && unreachable.words.contains("task queue first"));
    }
}
