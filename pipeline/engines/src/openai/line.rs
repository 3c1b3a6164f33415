//! The line to a server: every call passes its circuit, is tried again a few times where that may help,
//! and is counted. Clones share the circuit: a server that is down is down for all of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use job::FailureCode;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::Value;
use stages::Failure;
use tokio::time::{Instant, sleep, timeout};

use super::circuit::Circuit;
use super::complaint::Field;
use super::server::{Fault, Server};
use super::{Meter, Patience};

/// Why a call gave no answer, when all tries are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// The server may merely not know a field of the request, perhaps this one.
    NotUnderstood(Option<Field>),
    /// Anything else.
    Failed(Failure),
}

impl From<Unanswered> for Failure {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::NotUnderstood(_) => FailureCode::ModelRejected.into(),
            Unanswered::Failed(failure) => failure,
        }
    }
}

/// A server with its circuit.
#[derive(Clone)]
pub(super) struct Line {
    server: Server,
    patience: Patience,
    circuit: Arc<Mutex<Circuit>>,
    chance: Arc<Mutex<StdRng>>,
    meter: Arc<dyn Meter>,
}

impl Line {
    pub(super) fn new(server: Server, patience: Patience, meter: Arc<dyn Meter>, seed: [u8; 32]) -> Self {
        let circuit = Arc::new(Mutex::new(Circuit::new(patience.deadline)));
        let chance = Arc::new(Mutex::new(StdRng::from_seed(seed)));
        Self { server, patience, circuit, chance, meter }
    }

    /// The same line with another key.
    pub(super) fn with_server(&self, server: Server) -> Self {
        Self { server, ..self.clone() }
    }

    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    pub(super) fn meter(&self) -> &dyn Meter {
        &*self.meter
    }

    /// Posts `body` for `stage` and returns the body of a good answer, within the deadline, all tries and
    /// the waits between them included.
    pub(super) async fn post(
        &self,
        stage: &'static str,
        path: &str,
        body: &Value,
    ) -> Result<Vec<u8>, Unanswered> {
        let deadline = Instant::now() + self.patience.deadline;
        let mut tries = 0;
        loop {
            let fault = match self.once(stage, path, body, deadline).await? {
                Ok(answer) => return Ok(answer),
                Err(Fault::NotUnderstood(field)) => return Err(Unanswered::NotUnderstood(field)),
                Err(fault) => fault,
            };
            match self.wait_after(fault, tries, deadline) {
                Some(wait) => sleep(wait).await,
                None => return Err(Unanswered::Failed(self.failure(fault))),
            }
            tries += 1;
        }
    }

    /// One try; the outer error is an open circuit: nothing was sent.
    async fn once(
        &self,
        stage: &'static str,
        path: &str,
        body: &Value,
        deadline: Instant,
    ) -> Result<Result<Vec<u8>, Fault>, Unanswered> {
        if let Err(wait) = self.with_circuit(|circuit, now| circuit.admit(now)) {
            self.meter.called(stage, "circuit_open");
            return Err(Unanswered::Failed(Failure::while_open(FailureCode::ModelUnavailable, wait)));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let silent = Fault::Failed { code: FailureCode::ModelTimeout, retry_after: None, passing: false };
        let answer = timeout(left, self.server.post(path, body)).await.unwrap_or(Err(silent));
        let open_for = self.with_circuit(|circuit, now| {
            match answer.as_ref().err().is_some_and(|fault| fault.is_unavailability()) {
                true => circuit.unavailable(now),
                false => circuit.answered(),
            }
            circuit.open_for(now)
        });
        self.show(open_for);
        self.meter.called(stage, answer.as_ref().map_or_else(|fault| fault.outcome(), |_| "answered"));
        Ok(answer)
    }

    /// Shows whether the server is left alone, and that it is no more when its time is over: a process that has nothing to
    /// ask would else say so until it has.
    fn show(&self, open_for: Option<Duration>) {
        self.meter.circuit(open_for.is_some());
        let Some(wait) = open_for else { return };
        // Without the server: its key may be a person's own, and is not ours to keep that long.
        let (circuit, meter) = (Arc::clone(&self.circuit), Arc::clone(&self.meter));
        tokio::spawn(async move {
            sleep(wait).await;
            let left = locked(&circuit).open_for(Instant::now());
            meter.circuit(left.is_some_and(|left| !left.is_zero()));
        });
    }

    /// How long to wait before the next try: what the server asked for, else doubling with jitter. Nothing
    /// when another try cannot help, or would end behind the deadline.
    fn wait_after(&self, fault: Fault, tries: u32, deadline: Instant) -> Option<Duration> {
        let Fault::Failed { retry_after, passing: true, .. } = fault else { return None };
        if tries >= self.patience.retries {
            return None;
        }
        let doubled = self.patience.first_wait * 2_u32.saturating_pow(tries);
        let jittered = doubled.mul_f64(self.between_half_and_one());
        let wait = retry_after.map_or(jittered, |asked| asked.max(jittered));
        (wait <= self.patience.longest_wait && Instant::now() + wait < deadline).then_some(wait)
    }

    /// What a last fault means to the job: while the circuit is open it costs no attempt.
    fn failure(&self, fault: Fault) -> Failure {
        let Fault::Failed { code, retry_after, .. } = fault else {
            return FailureCode::ModelRejected.into();
        };
        match self.with_circuit(|circuit, now| circuit.open_for(now)) {
            Some(wait) if fault.is_unavailability() => {
                Failure::while_open(code, wait.max(retry_after.unwrap_or_default()))
            }
            _ => Failure::after(code, retry_after),
        }
    }

    fn with_circuit<T>(&self, ask: impl FnOnce(&mut Circuit, Instant) -> T) -> T {
        ask(&mut locked(&self.circuit), Instant::now())
    }

    fn between_half_and_one(&self) -> f64 {
        self.chance.lock().unwrap_or_else(PoisonError::into_inner).random_range(0.5..=1.0)
    }
}

fn locked(circuit: &Mutex<Circuit>) -> MutexGuard<'_, Circuit> {
    circuit.lock().unwrap_or_else(PoisonError::into_inner)
}
