//! The page: live progress on a terminal, plain lines when piped, nothing but one document with `--json`.

use std::{
    collections::HashMap,
    io::IsTerminal,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anstyle::{AnsiColor, Reset, Style};
use indicatif::{ProgressBar, ProgressStyle};
use ledger::Claimed;
use worker::{Moment, Watch};

use super::report::{Card, Recovery, Report};
use crate::config::Config;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const RED: Style = AnsiColor::Red.on_default().bold();
const PLAIN: Reset = Reset;

/// Stages by conversation, as this process saw them end: (stage, milliseconds).
type Stages = HashMap<String, Vec<(String, f64)>>;

/// Where the demo is shown.
#[derive(Clone)]
pub(super) struct Screen {
    json: bool,
    spinner: Option<ProgressBar>,
    stages: Arc<Mutex<Stages>>,
}

impl Screen {
    pub(super) fn new(json: bool) -> Self {
        let live = !json && std::io::stderr().is_terminal() && std::io::stdout().is_terminal();
        let spinner = live.then(|| {
            let spinner = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("  {spinner:.cyan} {msg}") {
                spinner.set_style(style);
            }
            spinner.enable_steady_tick(Duration::from_millis(80));
            spinner
        });
        Self { json, spinner, stages: Arc::default() }
    }

    pub(super) fn opening(&self, database: &str, config: &Config) {
        self.say(&format!(
            "{BOLD}listen demo{PLAIN}  conversations in; titles, tasks and memories out, durably"
        ));
        self.say(&format!(
            "{DIM}{database}; text engine: {}{PLAIN}",
            if config.uses_openai() { "openai" } else { "embedded" }
        ));
        self.say(&format!(
            "{DIM}the demo's own settings: leases of {} s renewed every {} s, so that a dead worker is noticed on the screen{PLAIN}\n",
            config.finalization_lease_seconds, config.finalization_heartbeat_seconds
        ));
    }

    pub(super) fn begins(&self, name: &str) {
        if let Some(spinner) = &self.spinner {
            spinner.set_message(format!("{name}: stored, admitted"));
        }
    }

    /// What a conversation came to.
    pub(super) fn card(&self, card: &Card) {
        if card.discarded {
            self.say(&format!(
                "{YELLOW}∅{PLAIN} {BOLD}{}{PLAIN}  judged not worth keeping {DIM}({:.0} ms){PLAIN}\n",
                card.name, card.milliseconds
            ));
            return;
        }
        self.say(&format!(
            "{GREEN}✓{PLAIN} {BOLD}{}{PLAIN}  {} {BOLD}{}{PLAIN}  {DIM}{} · {} characters · {:.0} ms{PLAIN}",
            card.name, card.emoji, card.title, card.category, card.characters, card.milliseconds
        ));
        self.say(&format!("    {}", shorten(&card.overview, 220)));
        for item in card.action_items.iter().take(6) {
            let due = item.due_at.as_deref().map_or(String::new(), |due| format!("  {DIM}due {due}{PLAIN}"));
            self.say(&format!("    ☐ {}{due}", item.description));
        }
        for memory in &card.memories {
            self.say(&format!("    ♥ {memory}"));
        }
        for event in &card.events {
            self.say(&format!("    ◷ {event}"));
        }
        let stages: Vec<String> = card.stages.iter().map(|(stage, ms)| format!("{stage} {ms:.0}")).collect();
        self.say(&format!("    {DIM}ms per stage: {}{PLAIN}\n", stages.join(" · ")));
    }

    pub(super) fn held(&self, process: u32, stage: &str, lease: i64) {
        self.say(&format!("{BOLD}A worker dies{PLAIN}"));
        self.say(&format!("    worker process {process} claimed a job and is held after `{stage}` (a pause that only the demo sets)"));
        self.say(&format!("    {DIM}its lease of {lease} s is renewed by its heartbeat{PLAIN}"));
    }

    pub(super) fn killed(&self, process: u32) {
        self.say(&format!(
            "    {RED}kill -9 {process}{PLAIN}; another worker starts and waits for the lease to run out"
        ));
    }

    pub(super) fn recovered(&self, recovery: &Recovery) {
        self.say(&format!(
            "{GREEN}✓{PLAIN} finished by another worker {BOLD}{:.1} s{PLAIN} after the kill: \"{}\", claim {} of generation {}",
            recovery.milliseconds / 1e3, recovery.title, recovery.epoch, recovery.generation
        ));
        self.say(&format!(
            "    {DIM}{} crash counted, {} attempts spent; {} action items, {} of them twice; {} memories twice{PLAIN}\n",
            recovery.crashes, recovery.attempts, recovery.action_items, recovery.doubled_items, recovery.doubled_memories
        ));
    }

    /// The last lines, or the document.
    pub(super) fn closing(&self, report: &Report) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
        if self.json {
            return match serde_json::to_string_pretty(report) {
                Ok(document) => anstream::println!("{document}"),
                Err(error) => anstream::eprintln!("the report cannot be written: {error}"),
            };
        }
        let deliveries = &report.deliveries;
        self.say(&format!(
            "{BOLD}Webhooks{PLAIN}  {} events told in {} posts, {} signatures verified",
            deliveries.events, deliveries.posts, deliveries.verified
        ));
        for surprise in &report.surprises {
            self.say(&format!("{RED}surprise:{PLAIN} {surprise}"));
        }
        let verdict = match report.surprises.len() {
            0 => format!("{GREEN}Nothing was lost and nothing came twice.{PLAIN}"),
            count => format!("{RED}{count} things did not come out as promised.{PLAIN}"),
        };
        self.say(&format!("{verdict}  {DIM}{:.1} s in all{PLAIN}", report.seconds));
    }

    /// The stages of a conversation that this process saw.
    pub(super) fn stages_of(&self, conversation: &str) -> Vec<(String, f64)> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner).remove(conversation).unwrap_or_default()
    }

    fn say(&self, line: &str) {
        match (&self.spinner, self.json) {
            (_, true) => {}
            (Some(spinner), _) => spinner.suspend(|| anstream::println!("{line}")),
            (None, _) => anstream::println!("{line}"),
        }
    }
}

impl Watch for Screen {
    fn see(&self, claimed: &Claimed, moment: Moment) {
        if let Moment::StageDone { stage, elapsed, .. } = moment {
            let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
            let seen = stages.entry(claimed.conversation_id.as_str().to_owned()).or_default();
            seen.push((stage.to_string(), elapsed.as_secs_f64() * 1e3));
            if let Some(spinner) = &self.spinner {
                let done: Vec<&str> = seen.iter().map(|(stage, _)| stage.as_str()).collect();
                spinner.set_message(done.join(" ✓ ") + " ✓");
            }
        }
    }
}

fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((cut, _)) => format!("{}…", text[..cut].trim_end()),
    }
}
