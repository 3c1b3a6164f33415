//! What the API counts. Labels are names of ours, never anything that was sent.

mod live;

use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, IntGauge, Opts, Registry};
use records::Budget;

pub(crate) use live::LiveMetrics;

/// Up to a minute: what waits for a job is answered before that.
const SECONDS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0];

/// The API's counters; cheap to clone.
#[derive(Clone, Debug)]
pub struct Metrics {
    pub(crate) admissions: IntCounterVec,
    pub(crate) requests: IntCounterVec,
    pub(crate) request_seconds: HistogramVec,
    pub(crate) held_bytes: IntGauge,
    pub(crate) over_budget: IntCounterVec,
    pub(crate) live: LiveMetrics,
}

impl Metrics {
    /// Makes the counters, born at zero, and registers them.
    ///
    /// # Errors
    /// When the registry has counters of these names already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let admissions = IntCounterVec::new(
            Opts::new("listen_finalization_admissions_total", "Admissions that were answered, by origin."),
            &["origin"],
        )?;
        for origin in ["create", "finalize", "live", "reprocess"] {
            admissions.with_label_values(&[origin]).inc_by(0);
        }
        let requests = IntCounterVec::new(
            Opts::new("listen_http_requests_total", "Requests answered, by route and class of status."),
            &["method", "route", "class"],
        )?;
        let request_seconds = HistogramVec::new(
            HistogramOpts::new(
                "listen_http_request_seconds",
                "From the first byte of a request to the head of its answer, by route and class of status.",
            )
            .buckets(SECONDS.to_vec()),
            &["method", "route", "class"],
        )?;
        let held_bytes = IntGauge::new(
            "listen_http_held_bytes",
            "Bytes that request bodies, unsent answers and pictures of live sockets hold of LISTEN_MEMORY_BUDGET.",
        )?;
        let over_budget = IntCounterVec::new(
            Opts::new(
                "listen_budget_refusals_total",
                "Requests refused because a budget of their user was used up.",
            ),
            &["budget"],
        )?;
        for budget in Budget::ALL {
            over_budget.with_label_values(&[budget.as_str()]).inc_by(0);
        }
        registry.register(Box::new(over_budget.clone()))?;
        registry.register(Box::new(held_bytes.clone()))?;
        registry.register(Box::new(admissions.clone()))?;
        registry.register(Box::new(requests.clone()))?;
        registry.register(Box::new(request_seconds.clone()))?;
        let live = LiveMetrics::register(registry)?;
        Ok(Self { admissions, requests, request_seconds, held_bytes, over_budget, live })
    }
}
