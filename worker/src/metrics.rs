//! What this process counts. Counters are per process and born at zero, so that the first failure shows.

use apps::ToolFailure;
use std::time::Duration;

use job::FailureCode;
use prometheus::{
    Error, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, core::Collector,
};

/// How a delivery of a job can be answered (DECISIONS §4, "what metrics count").
pub const ANSWERS: [&str; 11] = [
    "claimed",
    "leased",
    "not_yet",
    "completed",
    "stale_generation",
    "unknown_generation",
    "missing",
    "dead_letter",
    "blocked_byok",
    "retry",
    "error",
];

/// The stages whose time is measured (DECISIONS §5).
pub const STAGES: [&str; 9] = [
    "read_context",
    "detect_discard",
    "survey",
    "describe",
    "describe_photos",
    "extract_action_items",
    "extract_memories",
    "embed",
    "trigger_apps",
];

/// How a try to tell an endpoint, or to remind a person, can end.
pub const OUTCOMES: [&str; 6] = ["delivered", "retry", "final", "gone", "cancelled", "lost"];

/// How a request with audio can end, its second try included.
const AUDIO_OUTCOMES: [&str; 3] = ["delivered", "gone", "failed"];
/// Why audio of one request is not sent.
const AUDIO_DROPS: [&str; 3] = ["behind", "circuit_open", "memory"];

/// How a run can end.
pub(crate) const ENDS: [&str; 5] = ["completed", "released", "failed", "parked", "lost"];
/// How a call to a model server can end: an answer, a failure, or an open circuit, for which it was not made.
pub const CALL_OUTCOMES: [&str; 9] = [
    "answered",
    "not_understood",
    "circuit_open",
    FailureCode::ModelTimeout.as_str(),
    FailureCode::ModelUnavailable.as_str(),
    FailureCode::ModelRateLimited.as_str(),
    FailureCode::ModelRejected.as_str(),
    FailureCode::ModelMalformed.as_str(),
    FailureCode::ByokKeyRejected.as_str(),
];

/// Kinds of tokens that engines count; `cached` is a part of `prompt`.
pub const TOKEN_KINDS: [&str; 3] = ["prompt", "cached", "completion"];

const SECONDS: [f64; 14] =
    [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 180.0, 600.0, 1_500.0];

/// The worker's metrics, registered once per process. Cheap to clone.
#[derive(Clone)]
pub struct Metrics {
    deliveries: IntCounterVec,
    retries: IntCounter,
    dead_letters: IntCounter,
    stage_seconds: HistogramVec,
    run_seconds: Histogram,
    heartbeat_late_seconds: Histogram,
    runs: IntCounterVec,
    failed_runs: IntCounterVec,
    webhook_deliveries: IntCounterVec,
    push_deliveries: IntCounterVec,
    audio_requests: IntCounterVec,
    audio_drops: IntCounterVec,
    tool_calls: IntCounterVec,
    engine_tokens: IntCounterVec,
    engine_calls: IntCounterVec,
    engine_circuit: IntGauge,
    fallback: IntCounterVec,
    keyed: IntGaugeVec,
}

impl Metrics {
    /// Registers every metric with all values of its labels at zero.
    pub fn new(registry: &Registry) -> Result<Self, Error> {
        let one = |value| [value];
        // Turns of the assistant are no stage, and cost the same server.
        let spenders = || STAGES.into_iter().chain(["assistant"]);
        let new = Registering(registry);
        let metrics = Self {
            deliveries: new.counters(
                "listen_finalization_deliveries_total",
                "Deliveries of jobs to workers by how they were answered.",
                ["answer"],
                ANSWERS.map(one),
            )?,
            retries: new.registered(IntCounter::new(
                "listen_finalization_retries_total",
                "Failed or crashed runs that led to another one.",
            )?)?,
            dead_letters: new.registered(IntCounter::new(
                "listen_finalization_dead_letter_total",
                "Jobs that were given up, as seen by this process.",
            )?)?,
            stage_seconds: new.registered(HistogramVec::new(
                histogram("listen_finalization_stage_seconds", "Seconds that a stage took."),
                &["stage"],
            )?)?,
            run_seconds: new.registered(Histogram::with_opts(histogram(
                "listen_finalization_run_seconds",
                "Seconds from a claim to the end of its run.",
            ))?)?,
            heartbeat_late_seconds: new.registered(Histogram::with_opts(histogram(
                "listen_heartbeat_late_seconds",
                "How late heartbeats were: a process whose processor is starved loses its leases.",
            ))?)?,
            runs: new.counters(
                "listen_finalization_runs_total",
                "Runs by how they ended.",
                ["end"],
                ENDS.map(one),
            )?,
            failed_runs: new.counters(
                "listen_finalization_failed_runs_total",
                "Runs that spent an attempt, by failure code.",
                ["code"],
                FailureCode::ALL.iter().map(|code| [code.as_str()]),
            )?,
            webhook_deliveries: new.counters(
                "listen_webhook_deliveries_total",
                "Tries to tell an endpoint by how they ended.",
                ["outcome"],
                OUTCOMES.map(one),
            )?,
            push_deliveries: new.counters(
                "listen_push_deliveries_total",
                "Tries to remind a person by how they ended.",
                ["outcome"],
                OUTCOMES.map(one),
            )?,
            audio_requests: new.counters(
                "listen_audio_webhook_requests_total",
                "Requests with audio to users' servers, by outcome.",
                ["outcome"],
                AUDIO_OUTCOMES.map(one),
            )?,
            audio_drops: new.counters(
                "listen_audio_webhook_dropped_total",
                "Requests with audio that were not made: an older one waited for a slow receiver, the receiver is \
                 left alone for a while, or the process keeps as much audio as it may.",
                ["reason"],
                AUDIO_DROPS.map(one),
            )?,
            tool_calls: new.counters(
                "listen_tool_calls_total",
                "Calls of apps' tools by how they ended.",
                ["outcome"],
                tool_outcomes().map(one),
            )?,
            engine_tokens: new.counters(
                "listen_engine_tokens_total",
                "Tokens that engines spent.",
                ["stage", "kind"],
                spenders().flat_map(|stage| TOKEN_KINDS.map(|kind| [stage, kind])),
            )?,
            engine_calls: new.counters(
                "listen_engine_calls_total",
                "Calls to the model server by how they ended.",
                ["stage", "outcome"],
                spenders().flat_map(|stage| CALL_OUTCOMES.map(|outcome| [stage, outcome])),
            )?,
            engine_circuit: new.registered(IntGauge::new(
                "listen_engine_circuit_open",
                "1 while the model server's circuit is open.",
            )?)?,
            fallback: new.counters(
                "listen_fallback_total",
                "Times a component took its fallback.",
                ["component", "reason"],
                [["engine", "circuit_open"], ["pusher", "enqueue_failed"]],
            )?,
            keyed: new.registered(IntGaugeVec::new(
                Opts::new(
                    "listen_finalization_keyed_runs",
                    "Jobs whose user's keys this process holds, by what they do.",
                ),
                &["state"],
            )?)?,
        };
        for stage in STAGES {
            metrics.stage_seconds.with_label_values(&[stage]);
        }
        for state in ["running", "waiting"] {
            metrics.keyed(state);
        }
        Ok(metrics)
    }

    pub(crate) fn heartbeat_late(&self, late: Duration) {
        self.heartbeat_late_seconds.observe(late.as_secs_f64());
    }

    /// The counter of runs that led to another one; the reconciler raises the same one.
    pub fn retries(&self) -> &IntCounter {
        &self.retries
    }

    /// The counter of jobs given up; every transition into a dead letter raises the same one.
    pub fn dead_letters(&self) -> &IntCounter {
        &self.dead_letters
    }

    /// Tokens of one of [`TOKEN_KINDS`] that one of [`STAGES`] spent; also on the account of the run that is at work
    /// in this task.
    pub fn count_tokens(&self, stage: &'static str, kind: &str, tokens: u64) {
        crate::spending::note_tokens(stage, kind, tokens);
        self.engine_tokens.with_label_values(&[stage, kind]).inc_by(tokens);
    }

    /// The gauge of jobs with keys in this process that are `running` or `waiting`: never a part of the backlog.
    pub(crate) fn keyed(&self, state: &'static str) -> IntGauge {
        self.keyed.with_label_values(&[state])
    }

    /// A call to the model server for one of [`STAGES`] that ended in one of [`CALL_OUTCOMES`]; also on the account of
    /// the run that is at work in this task.
    pub fn count_call(&self, stage: &'static str, outcome: &str) {
        self.engine_calls.with_label_values(&[stage, outcome]).inc();
        if outcome == "circuit_open" {
            self.fallback.with_label_values(&["engine", "circuit_open"]).inc();
        } else {
            crate::spending::note_call(stage);
        }
    }

    /// Whether the model server's circuit is open, as this process sees it.
    pub fn show_circuit(&self, is_open: bool) {
        self.engine_circuit.set(is_open.into());
    }

    pub(crate) fn count_claims(&self, claims: &ledger::JobClaims) {
        self.deliveries.with_label_values(&["claimed"]).inc_by(claims.claims.len() as u64);
        self.deliveries.with_label_values(&["error"]).inc_by(claims.deferred.into());
    }

    /// `answer` is one of [`ANSWERS`].
    pub(crate) fn count_delivery(&self, answer: &str) {
        self.deliveries.with_label_values(&[answer]).inc();
    }

    /// The counter of tasks that could not be handed to the task queue.
    pub fn enqueue_failed(&self) -> IntCounter {
        self.fallback.with_label_values(&["pusher", "enqueue_failed"])
    }

    pub(crate) fn count_transition(&self, retry: bool, dead_letter: bool) {
        self.retries.inc_by(retry.into());
        self.dead_letters.inc_by(dead_letter.into());
    }

    pub(crate) fn observe_stage(&self, stage: &str, took: Duration) {
        self.stage_seconds.with_label_values(&[stage]).observe(took.as_secs_f64());
    }

    /// `end` is one of [`ENDS`]; `code` is there when the run spent an attempt.
    pub(crate) fn observe_run(&self, took: Duration, end: &'static str, code: Option<FailureCode>) {
        self.run_seconds.observe(took.as_secs_f64());
        self.runs.with_label_values(&[end]).inc();
        if let Some(code) = code {
            self.failed_runs.with_label_values(&[code.as_str()]).inc();
        }
    }

    /// `outcome` is one of [`OUTCOMES`].
    pub(crate) fn count_tries(&self, outcome: &'static str, tries: u64) {
        self.webhook_deliveries.with_label_values(&[outcome]).inc_by(tries);
    }

    /// `outcome` is one of [`OUTCOMES`].
    pub(crate) fn count_pushes(&self, outcome: &'static str, tries: u64) {
        self.push_deliveries.with_label_values(&[outcome]).inc_by(tries);
    }

    /// `outcome` is one of [`AUDIO_OUTCOMES`].
    pub(crate) fn count_audio(&self, outcome: &'static str) {
        self.audio_requests.with_label_values(&[outcome]).inc();
    }

    /// `reason` is one of [`AUDIO_DROPS`].
    pub(crate) fn count_dropped_audio(&self, reason: &'static str) {
        self.audio_drops.with_label_values(&[reason]).inc();
    }

    /// `outcome` is one of [`tool_outcomes`].
    pub(crate) fn count_tool_call(&self, outcome: &'static str) {
        self.tool_calls.with_label_values(&[outcome]).inc();
    }
}

fn histogram(name: &str, help: &str) -> HistogramOpts {
    HistogramOpts::new(name, help).buckets(SECONDS.to_vec())
}

/// Where the metrics of a process are registered.
struct Registering<'a>(&'a Registry);

impl Registering<'_> {
    /// Each series is named: it exists from then on, at zero.
    fn counters<const N: usize>(
        &self,
        name: &str,
        help: &str,
        labels: [&str; N],
        series: impl IntoIterator<Item = [&'static str; N]>,
    ) -> Result<IntCounterVec, Error> {
        let counters = self.registered(IntCounterVec::new(Opts::new(name, help), &labels)?)?;
        for values in series {
            counters.with_label_values(&values);
        }
        Ok(counters)
    }

    fn registered<M: Collector + Clone + 'static>(&self, metric: M) -> Result<M, Error> {
        self.0.register(Box::new(metric.clone()))?;
        Ok(metric)
    }
}

/// Every outcome of a call of an app's tool.
fn tool_outcomes() -> impl Iterator<Item = &'static str> {
    ["result", "app_error", "bad_arguments", "unknown"]
        .into_iter()
        .chain(ToolFailure::ALL.iter().map(|failure| failure.as_str()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use std::sync::Arc;

    use prometheus::TextEncoder;

    use super::*;
    use crate::spending::{Account, counted};

    #[test]
    fn metrics_start_at_zero() {
        let registry = Registry::new();
        Metrics::new(&registry).unwrap();
        let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
        for line in [
            "listen_finalization_deliveries_total{answer=\"blocked_byok\"} 0",
            "listen_finalization_retries_total 0",
            "listen_finalization_dead_letter_total 0",
            "listen_finalization_stage_seconds_count{stage=\"trigger_apps\"} 0",
            "listen_finalization_run_seconds_count 0",
            "listen_finalization_runs_total{end=\"lost\"} 0",
            "listen_finalization_failed_runs_total{code=\"model_timeout\"} 0",
            "listen_finalization_keyed_runs{state=\"waiting\"} 0",
            "listen_webhook_deliveries_total{outcome=\"gone\"} 0",
            "listen_push_deliveries_total{outcome=\"gone\"} 0",
            "listen_engine_tokens_total{kind=\"completion\",stage=\"describe\"} 0",
            "listen_engine_calls_total{outcome=\"answered\",stage=\"embed\"} 0",
            "listen_engine_calls_total{outcome=\"model_unavailable\",stage=\"survey\"} 0",
            "listen_tool_calls_total{outcome=\"tool_timeout\"} 0",
            "listen_engine_circuit_open 0",
            "listen_fallback_total{component=\"engine\",reason=\"circuit_open\"} 0",
            "listen_fallback_total{component=\"pusher\",reason=\"enqueue_failed\"} 0",
        ] {
            assert!(text.contains(line), "{line}");
        }
    }

    #[tokio::test]
    async fn call_refused_by_an_open_circuit_is_not_charged() {
        let (metrics, account) = (&Metrics::new(&Registry::new()).unwrap(), Arc::<Account>::default());
        let count =
            |outcome| counted(Arc::clone(&account), async move { metrics.count_call("survey", outcome) });
        count("circuit_open").await;
        assert!(!account.owes());
        assert_eq!(metrics.fallback.with_label_values(&["engine", "circuit_open"]).get(), 1);
        count("answered").await;
        assert!(account.owes());
        assert_eq!(metrics.fallback.with_label_values(&["engine", "circuit_open"]).get(), 1);
    }

    #[tokio::test]
    async fn tokens_are_counted_and_charged_to_the_run() {
        let (metrics, account) = (Metrics::new(&Registry::new()).unwrap(), Arc::<Account>::default());
        counted(Arc::clone(&account), async { metrics.count_tokens("describe", "prompt", 7) }).await;
        assert!(account.owes());
        assert_eq!(metrics.engine_tokens.with_label_values(&["describe", "prompt"]).get(), 7);
    }
}
