//! The circuit of one model server: after repeated unavailability it is not called for a while, then one call
//! probes it. A state machine whose clock is an argument.

use std::time::Duration;

use tokio::time::Instant;

/// Calls in a row that found the server unavailable, after which the circuit opens.
const FAILURES: u32 = 5;
/// How long it stays open the first time; doubled by every probe that fails.
const FIRST_WAIT: Duration = Duration::from_secs(15);
/// An open circuit is left as it is for this long, whatever an operator orders.
const JUST_OPENED: Duration = Duration::from_secs(5);
/// The longest that it stays open before the next probe.
const LONGEST_WAIT: Duration = Duration::from_secs(5 * 60);

/// Closed, or open until the next probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed {
        /// Unavailabilities since the last answer.
        failures: u32,
    },
    Open {
        /// When the next probe may be sent; a probe that is under way has moved it on, so that one whose
        /// run died is followed by another.
        until: Instant,
        /// How long it is open at a time by now.
        wait: Duration,
        /// A probe is under way.
        probing: bool,
        /// When it opened, or a probe found it unavailable again.
        since: Instant,
    },
}

/// Why a call is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The server is left alone for so long.
    Open(Duration),
    /// Another call probes the server.
    Probing,
}

/// One server's circuit.
#[derive(Debug)]
pub(crate) struct Circuit {
    state: State,
    /// How long a probe may take before the next one is let through.
    probe: Duration,
}

impl Circuit {
    /// A closed one. `probe` is the longest that a call takes.
    pub(crate) fn new(probe: Duration) -> Self {
        Self { state: State::Closed { failures: 0 }, probe }
    }

    /// Lets a call through, or says why not.
    pub(crate) fn admit(&mut self, now: Instant) -> Result<(), Refusal> {
        match &mut self.state {
            State::Closed { .. } => Ok(()),
            State::Open { until, probing: true, .. } if now < *until => Err(Refusal::Probing),
            State::Open { until, .. } if now < *until => Err(Refusal::Open(until.duration_since(now))),
            State::Open { until, probing, .. } => {
                (*until, *probing) = (now + self.probe, true);
                Ok(())
            }
        }
    }

    /// The server answered, whatever it said.
    pub(crate) fn answered(&mut self) {
        self.state = State::Closed { failures: 0 };
    }

    /// The server was not there, or broken, or silent.
    pub(crate) fn unavailable(&mut self, now: Instant) {
        self.state = match self.state {
            State::Closed { failures } if failures + 1 < FAILURES => State::Closed { failures: failures + 1 },
            State::Closed { .. } => {
                State::Open { until: now + FIRST_WAIT, wait: FIRST_WAIT, probing: false, since: now }
            }
            State::Open { wait, probing: true, .. } => {
                let wait = (wait * 2).min(LONGEST_WAIT);
                State::Open { until: now + wait, wait, probing: false, since: now }
            }
            // Calls that were under way when it opened say nothing new.
            open @ State::Open { .. } => open,
        };
    }

    /// An operator says that the server is back: calls are let through, and the first that finds it unavailable opens it
    /// again. One that has only just opened stays open, so that many such orders are not as many calls to a server that is
    /// away.
    pub(crate) fn ask_again(&mut self, now: Instant) {
        if let State::Open { since, .. } = self.state
            && now.duration_since(since) >= JUST_OPENED
        {
            self.state = State::Closed { failures: FAILURES - 1 };
        }
    }

    /// How long it is still open; nothing while it is closed.
    pub(crate) fn open_for(&self, now: Instant) -> Option<Duration> {
        match self.state {
            State::Closed { .. } => None,
            State::Open { until, .. } => Some(until.saturating_duration_since(now)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROBE: Duration = Duration::from_secs(60);

    fn opened(now: Instant) -> Circuit {
        let mut circuit = Circuit::new(PROBE);
        for _ in 0..FAILURES {
            assert_eq!(circuit.admit(now), Ok(()));
            circuit.unavailable(now);
        }
        circuit
    }

    #[test]
    fn circuit_opens_after_five_consecutive_failures() {
        let now = Instant::now();
        let mut circuit = Circuit::new(PROBE);
        for _ in 0..FAILURES - 1 {
            circuit.unavailable(now);
        }
        circuit.answered();
        for _ in 0..FAILURES - 1 {
            circuit.unavailable(now);
        }
        assert_eq!((circuit.admit(now), circuit.open_for(now)), (Ok(()), None));
        circuit.unavailable(now);
        assert_eq!(circuit.admit(now), Err(Refusal::Open(FIRST_WAIT)));
    }

    #[test]
    fn circuit_probe_closes_it_or_doubles_its_wait() {
        let now = Instant::now();
        let mut circuit = opened(now);
        let later = now + FIRST_WAIT;
        assert_eq!(circuit.admit(later), Ok(()), "the probe");
        assert_eq!(circuit.admit(later), Err(Refusal::Probing), "nobody beside it");
        circuit.unavailable(later);
        assert_eq!(circuit.admit(later), Err(Refusal::Open(FIRST_WAIT * 2)));
        let later = later + FIRST_WAIT * 2;
        assert_eq!(circuit.admit(later), Ok(()));
        circuit.answered();
        assert_eq!((circuit.admit(later), circuit.open_for(later)), (Ok(()), None));
    }

    #[test]
    fn circuit_operator_close_lets_calls_through_until_a_failure() {
        let now = Instant::now();
        let mut circuit = opened(now);
        let at_once = now + Duration::from_secs(4);
        circuit.ask_again(at_once);
        assert!(circuit.admit(at_once).is_err(), "it has only just opened");
        let later = now + JUST_OPENED;
        circuit.ask_again(later);
        assert_eq!((circuit.admit(later), circuit.admit(later)), (Ok(()), Ok(())), "not a probe alone");
        circuit.unavailable(later);
        assert_eq!(circuit.admit(later), Err(Refusal::Open(FIRST_WAIT)));
        circuit.ask_again(later);
        assert_eq!(circuit.admit(later), Err(Refusal::Open(FIRST_WAIT)), "the next order does not hammer it");
    }

    #[test]
    fn circuit_operator_close_does_not_change_a_closed_circuit() {
        let now = Instant::now();
        let mut circuit = Circuit::new(PROBE);
        circuit.ask_again(now);
        for _ in 0..FAILURES - 1 {
            circuit.unavailable(now);
        }
        assert_eq!(circuit.admit(now), Ok(()));
    }

    #[test]
    fn circuit_probe_that_died_is_replaced() {
        let now = Instant::now();
        let mut circuit = opened(now);
        assert_eq!(circuit.admit(now + FIRST_WAIT), Ok(()));
        assert_eq!(circuit.admit(now + FIRST_WAIT + PROBE), Ok(()));
    }

    #[test]
    fn circuit_late_failures_do_not_lengthen_its_bounded_wait() {
        let now = Instant::now();
        let mut circuit = opened(now);
        circuit.unavailable(now + Duration::from_secs(1));
        assert_eq!(circuit.open_for(now), Some(FIRST_WAIT));
        let mut at = now;
        for _ in 0..20 {
            at += circuit.open_for(at).unwrap_or_default();
            assert_eq!(circuit.admit(at), Ok(()));
            circuit.unavailable(at);
        }
        assert_eq!(circuit.open_for(at), Some(LONGEST_WAIT));
    }
}
