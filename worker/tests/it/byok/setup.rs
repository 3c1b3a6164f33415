//! The keyed runs of one process, and the jobs that come with keys.

use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, ready};
use job::{FailureCode, JobId, WorkerId};
use ledger::{CreateOutcome, Ledger, StoredJob, WithKeys};
use prometheus::Registry;
use records::{Folder, Talk, UserId};
use secrecy::{ExposeSecret, SecretString};
use stages::{Describe, Engine, Structure};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use worker::{ByokRuns, Ended, Metrics, Reservation, RunEvent, Settings};

use crate::bench::{Bench, PATIENCE, recorded, slots, until};
use crate::engines::Script;

/// A key that the provider refuses, and one with which it does not answer.
pub(super) const REFUSED: &str = "sk-refused";
pub(super) const UNANSWERED: &str = "sk-unanswered";

/// The keyed runs of one process, and what they were seen to do.
pub(super) struct Setup {
    pub(super) runs: ByokRuns,
    used: Arc<Mutex<Vec<String>>>,
    events: mpsc::UnboundedReceiver<(StoredJob, RunEvent)>,
    registry: Registry,
    pub(super) soft: CancellationToken,
    pub(super) hard: CancellationToken,
    task: JoinHandle<()>,
}

impl Setup {
    pub(super) fn open(ledger: Ledger, script: &Arc<Script>) -> Self {
        Self::open_by(ledger, script, slots(1))
    }

    pub(super) fn open_by(ledger: Ledger, script: &Arc<Script>, settings: Settings) -> Self {
        let (used, registry) = (Arc::<Mutex<Vec<String>>>::default(), Registry::new());
        let (asked, engines) = (Arc::clone(&used), script.engines());
        let with_key = move |key: &SecretString| {
            let key = key.expose_secret().to_owned();
            asked.lock().unwrap().push(key.clone());
            let failing = |code| stages::Engines { describe: Arc::new(Failing(code)), ..engines.clone() };
            Some(match key.as_str() {
                REFUSED => failing(FailureCode::ByokKeyRejected),
                UNANSWERED => failing(FailureCode::ModelTimeout),
                _ => engines.clone(),
            })
        };
        let (settings, events) = recorded(settings);
        let runs = ByokRuns::new(ledger, Arc::new(with_key), Metrics::new(&registry).unwrap(), settings);
        let (soft, hard) = (CancellationToken::new(), CancellationToken::new());
        let task = tokio::spawn(runs.clone().run(soft.clone(), hard.clone()));
        Self { runs, used, events, registry, soft, hard, task }
    }

    pub(super) fn reserve(&self) -> Reservation {
        self.runs.reserve(&UserId::new("ann")).expect("there is a place")
    }

    pub(super) async fn ended(&mut self) -> Ended {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.events.recv()).await;
            if let (_, RunEvent::RunEnded { end, .. }) = next.expect("no run ends").unwrap() {
                return end;
            }
        }
    }

    pub(super) async fn started(&mut self, wanted: &str) {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.events.recv()).await;
            if let (_, RunEvent::StageStarted { stage }) = next.expect("no stage begins").unwrap()
                && stage == wanted
            {
                return;
            }
        }
    }

    pub(super) fn used(&self) -> Vec<String> {
        self.used.lock().unwrap().clone()
    }

    pub(super) fn shows(&self, state: &str, number: usize) -> bool {
        let text = prometheus::TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap();
        text.contains(&format!("listen_finalization_keyed_runs{{state=\"{state}\"}} {number}\n"))
    }

    pub(super) async fn until_shown(&self, state: &str, number: usize) {
        until(|| self.shows(state, number), "it is never shown").await;
    }

    pub(super) async fn stop(mut self) {
        self.soft.cancel();
        self.stopped().await;
    }

    pub(super) async fn stopped(&mut self) {
        tokio::time::timeout(PATIENCE, &mut self.task).await.expect("it does not stop").unwrap();
    }
}

/// Until the process that is being stopped gives no more places.
pub(super) async fn until_stopping(runs: &ByokRuns) {
    while runs.reserve(&UserId::new("ann")).is_some() {
        tokio::task::yield_now().await;
    }
}

pub(super) fn key(text: &str) -> SecretString {
    SecretString::from(text.to_owned())
}

impl Bench {
    /// Admits a conversation whose request brought keys.
    pub(super) async fn keyed(&self, id: &str, claimant: Option<&WorkerId>) -> (JobId, Option<StoredJob>) {
        let new = self.talk(id);
        let keys = WithKeys { claimant };
        match self.ledger.create_conversation(&self.user, new, Some(keys)).await.unwrap() {
            CreateOutcome::Admitted(admitted) => (admitted.job_id, admitted.claimed.map(|claimed| *claimed)),
            other => panic!("not admitted: {other:?}"),
        }
    }

    /// Fills the slots of `setup`, whose script holds its runs, and hands it keys for a fifth job.
    pub(super) async fn fifth(&self, setup: &mut Setup, fifth: &str) -> JobId {
        for number in 0..4 {
            let place = setup.reserve();
            let (_, claimed) = self.keyed(&format!("c{number}"), place.claimant()).await;
            place.run(claimed.unwrap(), key("sk-ann"));
            setup.started("describe").await;
        }
        let place = setup.reserve();
        assert_eq!(place.claimant(), None);
        let (id, claimed) = self.keyed("c4", place.claimant()).await;
        assert_eq!(claimed, None);
        place.wait(id.clone(), key(fifth));
        id
    }

    /// Admits `c1` with a key and has it run.
    pub(super) async fn run_keyed(&self, setup: &Setup, with: &str) -> JobId {
        let place = setup.reserve();
        let (id, claimed) = self.keyed("c1", place.claimant()).await;
        place.run(claimed.unwrap(), key(with));
        id
    }
}

struct Failing(FailureCode);

impl Engine for Failing {
    fn id(&self) -> &str {
        "failing/1"
    }

    fn costs(&self) -> bool {
        true
    }
}

impl Describe for Failing {
    fn describe<'a>(
        &'a self,
        _: &'a Talk,
        _: &'a [Folder],
    ) -> BoxFuture<'a, Result<Structure, stages::Failure>> {
        Box::pin(ready(Err(self.0.into())))
    }
}
