//! The page: live progress on a terminal, plain lines when piped, nothing but one document with `--json`.

use std::{collections::HashMap, io::IsTerminal, sync::Arc, time::Duration};

use anstyle::{AnsiColor, Style};
use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use ledger::StoredJob;
use parking_lot::Mutex;
use worker::{RunEvent, RunObserver};

use super::{
    page,
    report::{Card, LiveTalk, Recovery, Report},
};
use crate::{
    commands::stdout::say,
    config::Config,
    terminal::{PLAIN, RED},
};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();

/// Stages by conversation, as this process saw them end: (stage, milliseconds).
type Stages = HashMap<String, Vec<(String, f64)>>;

/// Where the demo is shown.
#[derive(Clone)]
pub(super) struct Screen {
    json: bool,
    width: usize,
    spinner: Option<ProgressBar>,
    stages: Arc<Mutex<Stages>>,
    /// Why a line did not get out.
    unwritten: Arc<Mutex<Option<anyhow::Error>>>,
}

impl Screen {
    pub(super) fn new(json: bool) -> Self {
        let live = !json && std::io::stderr().is_terminal() && std::io::stdout().is_terminal();
        let spinner = live.then(|| {
            let spinner = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("  {spinner:.cyan} {wide_msg}") {
                spinner.set_style(style);
            }
            spinner.set_message("starting a private PostgreSQL");
            spinner.enable_steady_tick(Duration::from_millis(80));
            spinner
        });
        Self { json, width: page::width(), spinner, stages: Arc::default(), unwritten: Arc::default() }
    }

    pub(super) fn opening(&self, database: &str, config: &Config) {
        self.say(&format!(
            "{BOLD}listen demo{PLAIN}  conversations in; titles, tasks and memories out, durably"
        ));
        let engine = if config.uses_openai() { "openai" } else { "embedded" };
        self.quiet(&format!("{database}; text engine: {engine}"));
        self.quiet(&format!(
            "the demo's own settings: leases of {} s renewed every {} s, so that a dead worker is noticed on the screen; \
             days and hours are those of {}",
            config.finalization_lease_seconds,
            config.finalization_heartbeat_seconds,
            page::ZONE.name(),
        ));
        self.print("");
    }

    pub(super) fn begins(&self, name: &str) {
        self.wait(format!("{name}: stored, admitted"));
    }

    /// What a conversation came to.
    pub(super) fn card(&self, card: &Card) {
        if card.discarded {
            self.say(&format!(
                "{YELLOW}∅{PLAIN} {BOLD}{}{PLAIN}  judged not worth keeping {DIM}({:.0} ms){PLAIN}",
                card.name, card.milliseconds
            ));
            return self.print("");
        }
        self.say(&format!(
            "{GREEN}✓{PLAIN} {BOLD}{}{PLAIN}  {} {BOLD}{}{PLAIN}  {DIM}{}{PLAIN}",
            card.name, card.emoji, card.title, card.category
        ));
        self.under("", &page::shorten(&card.overview, 220));
        for item in card.action_items.iter().take(6) {
            let due = item.due_at.as_deref().map(page::moment);
            let due = due.map_or(String::new(), |due| format!("  {DIM}by {due}{PLAIN}"));
            self.under("☐ ", &format!("{}{due}", item.description));
        }
        for memory in &card.memories {
            self.under("♥ ", memory);
        }
        for event in &card.events {
            self.under("◷ ", &format!("{}  {DIM}{}{PLAIN}", event.title, page::moment(&event.start)));
        }
        self.under("", &format!("{DIM}{}{PLAIN}", pace(card)));
        self.print("");
    }

    pub(super) fn speaks(&self, process: u32, silence: u64) {
        self.say(&format!("{BOLD}A live conversation{PLAIN}"));
        self.under(
            "",
            &format!(
                "transcripts over the socket `/v4/listen` of process {process}; {silence} s of silence end it (120 s \
                 where nothing is asked for)"
            ),
        );
    }

    /// A line that the service has stored and sent back.
    pub(super) fn shown(&self, text: &str) {
        self.under("› ", text);
    }

    pub(super) fn socket_lost(&self, process: u32) {
        self.under("", &format!("{RED}kill -9 {process}{PLAIN} while the next line is on its way"));
    }

    pub(super) fn reconnected(&self, process: u32) {
        self.under("", &format!("{DIM}connected to process {process}, which resumes the conversation; the line is sent again{PLAIN}"));
    }

    pub(super) fn falls_silent(&self, silence: u64) {
        self.wait(format!("silence of {silence} s"));
    }

    pub(super) fn spoken(&self, talk: &LiveTalk) {
        self.say(&format!(
            "{GREEN}✓{PLAIN} ended by silence after {BOLD}{:.1} s{PLAIN}  {} {BOLD}{}{PLAIN}",
            talk.ended_after_milliseconds / 1e3,
            talk.emoji,
            talk.title,
        ));
        let counts = format!(
            "{} lines said; {} missing, {} twice; admitted {} time{}",
            talk.said,
            talk.missing,
            talk.doubled,
            talk.jobs,
            if talk.jobs == 1 { "" } else { "s" },
        );
        self.under("", &format!("{DIM}{counts}{PLAIN}"));
        self.print("");
    }

    pub(super) fn held(&self, process: u32, stage: &str, lease: i64) {
        self.say(&format!("{BOLD}A worker dies{PLAIN}"));
        self.under(
            "",
            &format!(
                "worker process {process} claimed a job and is held after `{stage}` (a pause that only the demo sets)"
            ),
        );
        self.under("", &format!("{DIM}its lease of {lease} s is renewed by its heartbeat{PLAIN}"));
        self.wait(format!("waiting for the lease of {lease} s to run out"));
    }

    pub(super) fn killed(&self, process: u32) {
        self.under(
            "",
            &format!(
                "{RED}kill -9 {process}{PLAIN}; another worker starts and waits for the lease to run out"
            ),
        );
    }

    pub(super) fn recovered(&self, recovery: &Recovery) {
        self.say(&format!(
            "{GREEN}✓{PLAIN} finished by another worker {BOLD}{:.1} s{PLAIN} after the kill  {BOLD}{}{PLAIN}",
            recovery.milliseconds / 1e3,
            recovery.title,
        ));
        let crashes = if recovery.crashes == 1 { "crash" } else { "crashes" };
        let counts = format!(
            "claim {} of generation {}; {} {crashes} counted, {} attempts spent; {} action items, {} of them twice; {} \
             memories twice",
            recovery.epoch,
            recovery.generation,
            recovery.crashes,
            recovery.attempts,
            recovery.action_items,
            recovery.doubled_items,
            recovery.doubled_memories
        );
        self.under("", &format!("{DIM}{counts}{PLAIN}"));
        self.print("");
        self.wait("waiting for the webhooks".to_owned());
    }

    /// The last lines, or the document.
    pub(super) fn closing(&self, report: &Report) -> anyhow::Result<()> {
        self.still();
        if self.json {
            let document = serde_json::to_string_pretty(report).context("making the report")?;
            return say!("{document}");
        }
        let deliveries = &report.deliveries;
        self.say(&format!(
            "{BOLD}Webhooks{PLAIN}  {} events delivered in {} posts, {} signatures verified",
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
        self.unwritten.lock().take().map_or(Ok(()), Err)
    }

    /// Clears what moves: there is nothing more to be shown.
    pub(super) fn still(&self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }

    /// The stages of a conversation that this process saw.
    pub(super) fn stages_of(&self, conversation: &str) -> Vec<(String, f64)> {
        self.stages.lock().remove(conversation).unwrap_or_default()
    }

    /// What is going on, beside the spinner.
    fn wait(&self, words: String) {
        if let Some(spinner) = &self.spinner {
            spinner.set_message(words);
        }
    }

    /// Lines that are not what the eye should fall on.
    fn quiet(&self, words: &str) {
        self.say(&format!("{DIM}{words}{PLAIN}"));
    }

    /// Lines of a card, behind a mark.
    fn under(&self, mark: &str, words: &str) {
        self.print(&page::set(&format!("    {mark}"), words, self.width));
    }

    fn say(&self, words: &str) {
        self.print(&page::set("", words, self.width));
    }

    fn print(&self, lines: &str) {
        let said = match (&self.spinner, self.json) {
            (_, true) => Ok(()),
            (Some(spinner), _) => spinner.suspend(|| say!("{lines}")),
            (None, _) => say!("{lines}"),
        };
        if let Err(error) = said {
            *self.unwritten.lock() = Some(error);
        }
    }
}

/// How much was said, how long it took, and where the time went; stages below a millisecond are not worth a word.
fn pace(card: &Card) -> String {
    let stages = card.stages.iter().filter(|(_, ms)| *ms >= 0.5);
    let stages: Vec<String> =
        stages.map(|(stage, ms)| format!("{stage}{}{ms:.0}", page::INSEPARABLE)).collect();
    format!("{} characters in {:.0} ms: {}", card.characters, card.milliseconds, stages.join(" · "))
}

impl RunObserver for Screen {
    fn observe(&self, claimed: &StoredJob, event: RunEvent) {
        if let RunEvent::StageDone { stage, elapsed, .. } = event {
            let mut stages = self.stages.lock();
            let seen = stages.entry(claimed.conversation_id.as_str().to_owned()).or_default();
            seen.push((stage.to_string(), elapsed.as_secs_f64() * 1e3));
            if let Some(spinner) = &self.spinner {
                let done: Vec<&str> = seen.iter().map(|(stage, _)| stage.as_str()).collect();
                spinner.set_message(done.join(" ✓ ") + " ✓");
            }
        }
    }
}
