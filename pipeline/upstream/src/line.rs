//! The line to one server: every call passes its circuit, is retried a few times where that may help, and
//! is counted. Clones share the circuit: a server that is down is down for all of them.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::circuit::{Circuit, Refusal};

/// How long a call waits for the end of another call's probe; after that it is refused for as long again.
const PROBE_WAIT: Duration = Duration::from_secs(5);

/// How long, and how often, a server is asked before a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The most that one call may take, its tries and the waits between them included: 60 s.
    pub deadline: Duration,
    /// Tries after the first where another one may help: 2.
    pub retries: u32,
    /// The wait before the second try, doubled from then on, half of it by chance: 500 ms.
    pub first_wait: Duration,
    /// A server that asks for a longer wait is not waited for: the caller backs off instead. 20 s.
    pub longest_wait: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(60),
            retries: 2,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(20),
        }
    }
}

/// Counts calls to a server. Called from the calls themselves: must return at once.
pub trait Meter: Send + Sync {
    /// A call for `purpose` ended with `outcome`: `answered`, a fault's name, or `circuit_open` for one that
    /// was not made.
    fn called(&self, purpose: &'static str, outcome: &'static str);

    /// After a call, and when the circuit's time is over: whether the server is left alone now.
    fn circuit(&self, is_open: bool);
}

/// What a line must know about the failure of one try.
pub trait Fault {
    /// The failure of a try that did not end in time.
    fn silent() -> Self;
    /// What is counted as the outcome of the try.
    fn outcome(&self) -> &'static str;
    /// Whether the server was not there, or broken, or silent: what its circuit counts.
    fn is_unavailability(&self) -> bool;
    /// Whether the same request may be answered a moment later.
    fn is_passing(&self) -> bool;
    /// How long the server asked to be left alone.
    fn retry_after(&self) -> Option<Duration>;
}

/// Why a call gave no answer, when all tries are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered<F> {
    /// The circuit is open for so long; nothing was sent.
    CircuitOpen(Duration),
    /// The last try failed like this.
    Failed {
        /// How.
        fault: F,
        /// How long the circuit is open, if it is.
        open_for: Option<Duration>,
    },
}

/// The way to one server.
#[derive(Clone)]
pub struct Line {
    patience: Patience,
    circuit: Arc<Mutex<Circuit>>,
    /// Notified when the circuit may have changed.
    changed: Arc<Notify>,
    chance: Arc<Mutex<StdRng>>,
    meter: Arc<dyn Meter>,
}

impl Line {
    /// A line whose circuit is closed. `seed` makes waits uneven.
    pub fn new(patience: Patience, meter: Arc<dyn Meter>, seed: [u8; 32]) -> Self {
        let circuit = Arc::new(Mutex::new(Circuit::new(patience.deadline)));
        let chance = Arc::new(Mutex::new(StdRng::from_seed(seed)));
        Self { patience, circuit, changed: Arc::default(), chance, meter }
    }

    /// Makes `attempt` for `purpose` until it is answered or another try cannot help, within the deadline, all
    /// tries and the waits between them included.
    pub async fn call<T, F: Fault, Try: Future<Output = Result<T, F>>>(
        &self,
        purpose: &'static str,
        attempt: impl Fn() -> Try,
    ) -> Result<T, Unanswered<F>> {
        let deadline = Instant::now() + self.patience.deadline;
        let mut tries = 0;
        loop {
            let fault = match self.once(purpose, attempt(), deadline).await? {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            match self.wait_after(&fault, tries, deadline) {
                Some(wait) => sleep(wait).await,
                None => return Err(Unanswered::Failed { fault, open_for: self.open_for() }),
            }
            tries += 1;
        }
    }

    /// One try; the outer error is an open circuit: nothing was sent.
    async fn once<T, F: Fault>(
        &self,
        purpose: &'static str,
        attempt: impl Future<Output = Result<T, F>>,
        deadline: Instant,
    ) -> Result<Result<T, F>, Unanswered<F>> {
        if let Err(wait) = self.admit(deadline).await {
            self.meter.called(purpose, "circuit_open");
            return Err(Unanswered::CircuitOpen(wait));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let answer = timeout(left, attempt).await.unwrap_or_else(|_| Err(F::silent()));
        let unavailable = answer.as_ref().err().is_some_and(Fault::is_unavailability);
        self.record(unavailable);
        self.meter.called(purpose, answer.as_ref().map_or_else(Fault::outcome, |_| "answered"));
        Ok(answer)
    }

    /// Lets a call through, or says how long to stay away. What a probe under way finds is known when it ends: a run whose
    /// own call found the server back must not be given back because of its other calls.
    async fn admit(&self, deadline: Instant) -> Result<(), Duration> {
        let until = deadline.min(Instant::now() + PROBE_WAIT);
        loop {
            let changed = self.changed.notified();
            let admitted = self.circuit.lock().admit(Instant::now());
            match admitted {
                Ok(()) => return Ok(()),
                Err(Refusal::Open(wait)) => return Err(wait),
                Err(Refusal::Probing) => {
                    if timeout_at(until, changed).await.is_err() {
                        return Err(PROBE_WAIT);
                    }
                }
            }
        }
    }

    /// Records the result of a try in the circuit and shows whether the server is left alone, and that it is no more
    /// when the circuit's time is over: a process with no further calls would else show it open forever.
    fn record(&self, unavailable: bool) {
        let open_for = {
            let (mut circuit, now) = (self.circuit.lock(), Instant::now());
            if unavailable {
                circuit.unavailable(now)
            } else {
                circuit.answered()
            }
            circuit.open_for(now)
        };
        self.changed.notify_waiters();
        self.meter.circuit(open_for.is_some());
        let Some(wait) = open_for else { return };
        let (circuit, meter) = (Arc::clone(&self.circuit), Arc::clone(&self.meter));
        tokio::spawn(async move {
            sleep(wait).await;
            let left = circuit.lock().open_for(Instant::now());
            meter.circuit(left.is_some_and(|left| !left.is_zero()));
        });
    }

    /// How long to wait before the next try: what the server asked for, else doubling with jitter. Nothing
    /// when another try cannot help, or would end behind the deadline.
    fn wait_after(&self, fault: &impl Fault, tries: u32, deadline: Instant) -> Option<Duration> {
        if !fault.is_passing() || tries >= self.patience.retries {
            return None;
        }
        let doubled = self.patience.first_wait * 2_u32.saturating_pow(tries);
        let jittered = doubled.mul_f64(self.between_half_and_one());
        let wait = fault.retry_after().map_or(jittered, |asked| asked.max(jittered));
        (wait <= self.patience.longest_wait && Instant::now() + wait < deadline).then_some(wait)
    }

    /// An operator says that the server is back: it is asked again, also where it is left alone.
    pub fn ask_again(&self) {
        let open_for = {
            let (mut circuit, now) = (self.circuit.lock(), Instant::now());
            circuit.ask_again(now);
            circuit.open_for(now)
        };
        self.changed.notify_waiters();
        self.meter.circuit(open_for.is_some());
    }

    /// For how long the circuit is still open, if it is.
    pub fn open_for(&self) -> Option<Duration> {
        self.circuit.lock().open_for(Instant::now())
    }

    fn between_half_and_one(&self) -> f64 {
        self.chance.lock().random_range(0.5..=1.0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    struct Away;

    impl Fault for Away {
        fn silent() -> Self {
            Self
        }

        fn outcome(&self) -> &'static str {
            "away"
        }

        fn is_unavailability(&self) -> bool {
            true
        }

        fn is_passing(&self) -> bool {
            false
        }

        fn retry_after(&self) -> Option<Duration> {
            None
        }
    }

    struct Uncounted;

    impl Meter for Uncounted {
        fn called(&self, _: &'static str, _: &'static str) {}

        fn circuit(&self, _: bool) {}
    }

    /// How a second call ends that comes one second after the probe of an open circuit began, and when, where the probe ends as
    /// `found` after `lasts`.
    async fn beside_a_probe(
        lasts: Duration,
        found: Result<(), ()>,
    ) -> (Result<(), Option<Duration>>, Duration) {
        let line = Line::new(Patience::default(), Arc::new(Uncounted), [3; 32]);
        let mut failures = 0;
        while line.open_for().is_none() {
            let _: Result<(), _> = line.call("describe", async || Err(Away)).await;
            failures += 1;
        }
        assert_eq!(failures, 5);
        sleep(line.open_for().unwrap()).await;
        let (began, has_begun) = oneshot::channel();
        let began = Mutex::new(Some(began));
        let probe = line.call("describe", || {
            began.lock().take().unwrap().send(()).unwrap();
            async move {
                sleep(lasts).await;
                found.map_err(|()| Away)
            }
        });
        let other = async {
            has_begun.await.unwrap();
            sleep(Duration::from_secs(1)).await;
            let asked_at = Instant::now();
            let answer = match line.call("embed", async || Ok::<_, Away>(())).await {
                Ok(()) => Ok(()),
                Err(Unanswered::CircuitOpen(wait)) => Err(Some(wait)),
                Err(Unanswered::Failed { .. }) => Err(None),
            };
            (answer, asked_at.elapsed())
        };
        let (probed, other) = tokio::join!(probe, other);
        assert_eq!(probed.is_ok(), found.is_ok());
        other
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_beside_a_probe_is_made_when_the_probe_finds_the_server_back() {
        let (answer, waited) = beside_a_probe(Duration::from_secs(4), Ok(())).await;
        assert_eq!((answer, waited.as_secs()), (Ok(()), 3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_beside_a_probe_is_not_made_when_the_server_is_still_away() {
        let (answer, waited) = beside_a_probe(Duration::from_secs(4), Err(())).await;
        assert_eq!((answer, waited.as_secs()), (Err(Some(Duration::from_secs(30))), 3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_beside_a_long_probe_is_given_back_for_a_short_time() {
        let (answer, waited) = beside_a_probe(Duration::from_secs(40), Ok(())).await;
        assert_eq!((answer, waited), (Err(Some(PROBE_WAIT)), PROBE_WAIT));
    }
}
