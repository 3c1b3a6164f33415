//! The engines that understand text, as the settings choose them.

use std::sync::Arc;

use anyhow::Context;
use assistant::Converse;
use compute::Pool;
use engines::{DayOrder, Embedded, Meter, OpenAi, OpenAiConfig, Patience};
use rand::Rng;
use secrecy::SecretString;
use stages::Engines;
use worker::EnginesWithKey;

use super::chance;
use crate::config::{Config, DateOrder};

/// The engines of the service, and those of a run with its user's key. The key is for the configured model server
/// alone; without one the key is not used.
pub(super) fn engines(
    config: &Config,
    metrics: &worker::Metrics,
    compute: Pool,
) -> anyhow::Result<(Engines, EnginesWithKey, api::ChatSettings)> {
    let order = match config.date_order {
        DateOrder::MonthFirst => DayOrder::MonthFirst,
        DateOrder::DayFirst => DayOrder::DayFirst,
    };
    let embedded = Arc::new(Embedded::with_day_order(order).on_pool(compute));
    let ours = Engines {
        judge: embedded.clone(),
        describe: embedded.clone(),
        items: embedded.clone(),
        memories: embedded.clone(),
        embed: embedded.clone(),
        apps: embedded.clone(),
        same: embedded.clone(),
    };
    if !config.uses_openai() {
        let without_server = ours.clone();
        let rules: Arc<dyn Converse> = embedded;
        let assistant =
            api::ChatSettings { engine: rules.clone(), embedded: rules, ..api::ChatSettings::default() };
        return Ok((ours, Arc::new(move |_| Some(without_server.clone())), assistant));
    }
    let mut key = [0; 32];
    chance().fill_bytes(&mut key);
    let openai = OpenAi::new(
        OpenAiConfig {
            base_url: config.openai_base_url.clone().unwrap_or_default(),
            api_key: config.openai_api_key.clone().map(SecretString::from),
            model: config.openai_model.clone().unwrap_or_default(),
            embed_model: config.openai_embed_model.clone().unwrap_or_default(),
            patience: Patience::default(),
            context_tokens: config.openai_context_tokens,
        },
        Arc::new(ModelMeter(metrics.clone())),
        key,
    )
    .context("setting up the OpenAI-compatible engine")?
    .following_prompts(config.apps.are_on())
    .with_day_order(order)
    .seeing_with(config.openai_vision_model.as_deref());
    let (embeds, asked) = (config.openai_embed_model.is_some(), openai.clone());
    let assistant = api::ChatSettings {
        engine: Arc::new(openai.clone()),
        embedded,
        with_key: Arc::new(move |key: &SecretString| {
            Some(Arc::new(asked.with_users_key(key).ok()?) as Arc<dyn Converse>)
        }),
        ..api::ChatSettings::default()
    };
    let service = paid(&ours, openai.clone(), embeds);
    let with_key = move |key: &SecretString| Some(paid(&ours, openai.with_users_key(key).ok()?, embeds));
    Ok((service, Arc::new(with_key), assistant))
}

/// A paid engine combined with the embedded one. Noise never reaches it: the embedded judge goes first.
fn paid(ours: &Engines, openai: OpenAi, embeds: bool) -> Engines {
    let openai = Arc::new(openai);
    Engines {
        describe: openai.clone(),
        items: openai.clone(),
        memories: openai.clone(),
        apps: openai.clone(),
        embed: if embeds { openai } else { ours.embed.clone() },
        ..ours.clone()
    }
}

/// Which engine does what, for `/v1/status`: no engine's output passes for another's.
pub(super) fn engine_ids(engines: &Engines) -> Vec<(&'static str, String)> {
    let ids = [
        ("detect_discard", engines.judge.id()),
        ("describe", engines.describe.id()),
        ("extract_action_items", engines.items.id()),
        ("extract_memories", engines.memories.id()),
        ("embed", engines.embed.embed_id()),
        ("trigger_apps", engines.apps.id()),
    ];
    ids.map(|(ability, id)| (ability, id.to_owned())).to_vec()
}

/// The engine counts into the worker's metrics.
struct ModelMeter(worker::Metrics);

impl Meter for ModelMeter {
    fn tokens(&self, stage: &'static str, kind: &'static str, tokens: u64) {
        self.0.count_tokens(stage, kind, tokens);
    }

    fn called(&self, stage: &'static str, outcome: &'static str) {
        self.0.count_call(stage, outcome);
    }

    fn circuit(&self, is_open: bool) {
        self.0.show_circuit(is_open);
    }
}
