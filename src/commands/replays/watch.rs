//! `listen replays watch`, and what `listen jobs replay` does behind the operation that it began.

use std::{process::ExitCode, time::Duration};

use anyhow::Context;
use indicatif::ProgressBar;
use operations::{Operations, ReplayView};

use super::no_replay;
use crate::commands::stderr::note;
use crate::{
    commands::{outage::Outage, progress},
    exit::PARTLY,
    lifecycle::Interruption,
};

/// Rest between two looks.
const REST: Duration = Duration::from_millis(500);

/// What was seen of an operation.
pub(crate) struct Watched {
    /// What was seen last.
    pub(crate) view: Option<ReplayView>,
    /// 5 when it was cancelled, or some of its jobs were refused, died again or were parked; interrupted, that of the signal.
    pub(crate) code: ExitCode,
    /// The operation goes on.
    pub(crate) is_interrupted: bool,
}

/// Follows an operation to its end, over gaps of the database, which has answered before.
pub(crate) async fn follow(operations: &Operations, id: &str) -> anyhow::Result<Watched> {
    let mut interruption = Interruption::listen().context("listening for signals")?;
    let mut last = None;
    let look = async || operations.replay_operation(id).await;
    let interrupted = look_until_ended(id, look, interruption.heard(), &mut last).await?;
    if interrupted.is_some() {
        note!("{}", goes_on(id));
    }
    let code = interrupted.or_else(|| last.as_ref().map(code)).unwrap_or_default();
    Ok(Watched { view: last, code, is_interrupted: interrupted.is_some() })
}

/// Looks until the operation has ended, or a signal interrupts: then the code is the answer. What was seen last is in `last`.
async fn look_until_ended(
    id: &str,
    look: impl AsyncFnMut() -> Result<Option<ReplayView>, db::Error>,
    interrupted: impl Future<Output = ExitCode>,
    last: &mut Option<ReplayView>,
) -> anyhow::Result<Option<ExitCode>> {
    tokio::select! {
        ended = until_ended(id, look, last) => ended.map(|()| None),
        code = interrupted => Ok(Some(code)),
    }
}

async fn until_ended(
    id: &str,
    mut look: impl AsyncFnMut() -> Result<Option<ReplayView>, db::Error>,
    last: &mut Option<ReplayView>,
) -> anyhow::Result<()> {
    let (bar, mut outage) = (progress::bar(0, "replayed"), Outage::after_an_answer());
    loop {
        let looked = look().await;
        if let Some(found) = bar.suspend(|| outage.retry(looked)).with_context(|| goes_on(id))? {
            let view = last.insert(found.ok_or_else(|| no_replay(id))?);
            if !matches!(view.status.as_str(), "running" | "paused") {
                return Ok(());
            }
            show(&bar, view);
        }
        tokio::time::sleep(REST).await;
    }
}

fn show(bar: &ProgressBar, view: &ReplayView) {
    bar.set_length(u64::from(view.items.unsigned_abs()));
    bar.set_position(u64::from((view.replayed + view.refused).unsigned_abs()));
    bar.set_message(format!(
        "{}{} completed, {} died again, {} refused, {} unfinished",
        if view.status == "paused" { "PAUSED " } else { "" },
        view.completed,
        view.died_again,
        view.refused,
        view.unfinished()
    ));
}

/// An operator who stops watching must not take it for over.
fn goes_on(id: &str) -> String {
    format!("replay {id} goes on without this command: `listen replays watch {id}`")
}

/// How an operation ended.
fn code(view: &ReplayView) -> ExitCode {
    let partly = view.refused + view.died_again + view.parked > 0 || view.status == "cancelled";
    if partly { ExitCode::from(PARTLY) } else { ExitCode::SUCCESS }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::future::{pending, ready};

    use records::Timestamp;
    use tokio::time::Instant;

    use super::*;

    fn view(status: &str) -> ReplayView {
        let at = Timestamp::from_timestamp(1_700_000_000, 0).unwrap();
        ReplayView {
            operation_id: "r1".to_owned(),
            status: status.to_owned(),
            operator: "olga".to_owned(),
            reason: "it is mended".to_owned(),
            filter: "all".to_owned(),
            from_scratch: false,
            per_minute: 600,
            in_flight: 16,
            items: 3,
            replayed: 3,
            refused: 0,
            completed: 3,
            died_again: 0,
            parked: 0,
            executor: None,
            created_at: at,
            updated_at: at,
            finished_at: None,
        }
    }

    fn away() -> Result<Option<ReplayView>, db::Error> {
        Err(db::Error::Contended { doing: "looking" })
    }

    #[tokio::test(start_paused = true)]
    async fn replay_watch_waits_for_an_unavailable_database_from_the_start() {
        let (began, mut last) = (Instant::now(), None);
        let look = async || match began.elapsed().as_secs() {
            0..60 | 70..180 => away(),
            60..70 => Ok(Some(view("running"))),
            _ => Ok(Some(view("done"))),
        };
        let interrupted = look_until_ended("r1", look, pending(), &mut last).await.unwrap();
        assert_eq!((interrupted, last), (None, Some(view("done"))));
    }

    #[tokio::test(start_paused = true)]
    async fn replay_watch_ends_after_a_long_outage_and_says_the_replay_goes_on() {
        let mut last = None;
        let error = look_until_ended("r1", async || away(), pending(), &mut last).await.unwrap_err();
        assert_eq!(error.to_string(), "replay r1 goes on without this command: `listen replays watch r1`");
        assert!(error.downcast_ref::<db::Error>().is_some_and(db::Error::is_passing));
    }

    #[tokio::test(start_paused = true)]
    async fn replay_watch_interrupted_does_not_end_the_replay() {
        let code = ExitCode::from(130);
        let interrupted = async {
            tokio::time::sleep(10 * REST).await;
            code
        };
        let mut last = None;
        let answer = look_until_ended("r1", async || Ok(Some(view("running"))), interrupted, &mut last).await;
        assert_eq!((answer.unwrap(), last), (Some(code), Some(view("running"))));
        let mut unseen = None;
        let at_once = look_until_ended("r1", async || pending().await, ready(code), &mut unseen).await;
        assert_eq!((at_once.unwrap(), unseen), (Some(code), None), "in the middle of a look, too");
    }

    #[tokio::test(start_paused = true)]
    async fn replay_watch_of_an_unknown_replay_fails_at_once() {
        let mut last = None;
        let error = look_until_ended("r1", async || Ok(None), pending(), &mut last).await.unwrap_err();
        assert_eq!(error.to_string(), "there is no replay r1");
    }

    #[test]
    fn replay_watch_reports_partial_success() {
        let done = || view("done");
        assert_eq!(code(&done()), ExitCode::SUCCESS);
        for partly in [
            ReplayView { refused: 1, ..done() },
            ReplayView { died_again: 1, ..done() },
            ReplayView { parked: 1, ..done() },
            view("cancelled"),
        ] {
            assert_eq!(code(&partly), ExitCode::from(PARTLY), "{partly:?}");
        }
    }
}
