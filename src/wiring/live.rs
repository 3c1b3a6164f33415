//! Live sockets: their sessions, what recognizes their speech, and the watch over what they leave behind.

use std::sync::Arc;

use anyhow::Context;
use ledger::{Ledger, Shards};
use outside::{Guard, Sender};
use prometheus::Registry;
use rand::Rng;
use speech::Engine;
use tokio_util::task::TaskTracker;
use worker::{AudioWebhooks, Metrics};

use super::{App, chance, process_name};
use crate::{
    config::{Config, Role, Switch},
    lifecycle::Lifecycle,
    ports::Audio,
    speech::SpeechMeter,
};

/// The live sockets of one process.
pub(super) struct LiveParts {
    sessions: api::Live,
    engine: Arc<dyn Engine>,
    audio: AudioWebhooks,
}

impl LiveParts {
    pub(super) fn wire(
        config: &Config,
        registry: &Registry,
        metrics: Metrics,
        shards: &Shards,
        guard: &Guard,
    ) -> anyhow::Result<Self> {
        let meter = SpeechMeter::register(registry).context("registering metrics")?;
        let mut chances = [0; 32];
        chance().fill_bytes(&mut chances);
        let engine = config.live.speech().engine(Arc::new(meter), chances);
        let sender = Sender::new(guard.clone()).context("making the outgoing client")?;
        let audio =
            AudioWebhooks::new(shards.clone(), sender, metrics, chance().next_u64(), AudioWebhooks::BUDGET);
        let engine = engine.context("setting up the speech engine")?;
        Ok(Self { sessions: api::Live::default(), engine, audio })
    }

    pub(super) fn settings(&self, config: &Config) -> api::LiveSettings {
        api::LiveSettings {
            live: self.sessions.clone(),
            sessions: config.live.live_sessions,
            page: config.live.live_page == Switch::On,
            engine: Arc::clone(&self.engine),
            speech_price: config.live.speech_price,
            audio: Arc::new(Audio(self.audio.clone())),
            process: process_name(),
            ..api::LiveSettings::default()
        }
    }
}

impl App {
    /// What recognizes speech, in a process that takes live sockets.
    pub(crate) fn speech_engine(&self) -> Option<Arc<dyn Engine>> {
        self.config.has(Role::Api).then(|| Arc::clone(&self.live.engine))
    }

    /// Starts what live sockets need, in a process that takes requests.
    pub(crate) fn start_live(&self, tasks: &TaskTracker, lifecycle: &Lifecycle) {
        if self.config.has(Role::Api) {
            tasks.spawn(self.live.sessions.clone().run(lifecycle.soft.clone(), lifecycle.hard.clone()));
            tasks.spawn(self.live.audio.clone().run(lifecycle.soft.clone(), lifecycle.hard.clone()));
        }
    }

    /// Starts the watch over a shard's live conversations whose socket is gone.
    pub(super) fn watch_live(&self, ledger: &Ledger, tasks: &TaskTracker, lifecycle: &Lifecycle) {
        tasks.spawn(reconciler::watch_live(
            ledger.clone(),
            chance().next_u64(),
            self.reconciler_metrics.clone(),
            lifecycle.soft.clone(),
        ));
    }
}
