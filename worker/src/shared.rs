//! What the loops and the runs of one worker share, and how it stops: softly, at the next checkpoint of each run, or at
//! once.

use std::sync::Arc;

use ledger::Ledger;
use tokio_util::sync::CancellationToken;

use crate::chance::Chance;
use crate::leases::LeaseRegistry;
use crate::metrics::Metrics;
use crate::settings::Settings;

/// What the loops and the runs of one worker share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) ledger: Ledger,
    pub(crate) metrics: Metrics,
    pub(crate) settings: Arc<Settings>,
    pub(crate) chance: Chance,
    /// The leases that its runs hold.
    pub(crate) leases: LeaseRegistry,
    /// Nothing more is claimed, and what runs is given back at its next checkpoint.
    pub(crate) soft: CancellationToken,
    /// Everything is dropped.
    pub(crate) hard: CancellationToken,
}

impl Shared {
    pub(crate) fn new(
        ledger: Ledger,
        metrics: Metrics,
        settings: Settings,
        soft: CancellationToken,
        hard: CancellationToken,
    ) -> Self {
        let (chance, leases) = (Chance::new(settings.seed), LeaseRegistry::default());
        Self { ledger, metrics, settings: Arc::new(settings), chance, leases, soft, hard }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.soft.is_cancelled() || self.hard.is_cancelled()
    }
}

#[cfg(test)]
impl Shared {
    /// What a worker without a database shares.
    pub(crate) fn alone(settings: Settings) -> Self {
        let ledger = Ledger::new(db::Hosts::default(), ledger::Settings::default());
        Self::of(ledger, &prometheus::Registry::new(), settings)
    }

    #[allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]
    pub(crate) fn of(ledger: Ledger, registry: &prometheus::Registry, settings: Settings) -> Self {
        let stops = (CancellationToken::new(), CancellationToken::new());
        Self::new(ledger, Metrics::new(registry).unwrap(), settings, stops.0, stops.1)
    }
}
