//! What the demo saw, for the page and for machines.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::samples::{Route, Sample};

/// Everything that the demo saw.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    pub(super) conversations: Vec<Card>,
    pub(super) live: Option<LiveTalk>,
    pub(super) recovery: Option<Recovery>,
    pub(super) deliveries: Deliveries,
    pub(super) seconds: f64,
    /// What did not come out as promised; empty is exit code 0.
    pub(super) surprises: Vec<String>,
}

/// What became of one conversation.
#[derive(Debug, Serialize)]
pub(super) struct Card {
    pub(super) name: &'static str,
    pub(super) characters: usize,
    pub(super) route: &'static str,
    pub(super) discarded: bool,
    pub(super) status: String,
    pub(super) emoji: String,
    pub(super) title: String,
    pub(super) category: String,
    pub(super) overview: String,
    pub(super) action_items: Vec<Item>,
    pub(super) memories: Vec<String>,
    pub(super) events: Vec<Event>,
    /// (stage, milliseconds).
    pub(super) stages: Vec<(String, f64)>,
    pub(super) milliseconds: f64,
}

/// An action item on a card.
#[derive(Debug, Serialize)]
pub(super) struct Item {
    pub(super) description: String,
    pub(super) due_at: Option<String>,
}

/// Something that takes place, on a card.
#[derive(Debug, Serialize)]
pub(super) struct Event {
    pub(super) title: String,
    pub(super) start: String,
}

/// What the local receiver got.
#[derive(Debug, Default, Serialize)]
pub(super) struct Deliveries {
    pub(super) posts: usize,
    /// Different `webhook-id`s.
    pub(super) events: usize,
    pub(super) verified: usize,
    pub(super) expected: usize,
}

/// A live conversation whose socket was lost with its process.
#[derive(Debug, Serialize)]
pub(super) struct LiveTalk {
    pub(super) title: String,
    pub(super) emoji: String,
    pub(super) killed_process: u32,
    pub(super) timeout_seconds: u64,
    /// From the last words to the frame that says that the conversation has ended.
    pub(super) ended_after_milliseconds: f64,
    pub(super) status: String,
    pub(super) said: usize,
    pub(super) missing: usize,
    pub(super) doubled: usize,
    pub(super) in_order: bool,
    pub(super) jobs: usize,
}

/// How a killed worker's job was finished by another.
#[derive(Debug, Serialize)]
pub(super) struct Recovery {
    pub(super) title: String,
    pub(super) killed_process: u32,
    pub(super) held_after: String,
    pub(super) lease_seconds: i64,
    /// From SIGKILL to the completion by another worker.
    pub(super) milliseconds: f64,
    pub(super) attempts: u32,
    pub(super) crashes: u32,
    pub(super) generation: i64,
    pub(super) epoch: i64,
    pub(super) status: String,
    pub(super) action_items: usize,
    pub(super) doubled_items: usize,
    pub(super) doubled_memories: usize,
}

impl Card {
    /// Names what did not come out as expected.
    pub(super) fn check(&self, sample: &Sample, surprises: &mut Vec<String>) {
        let checks = [
            (self.status != "completed", "did not complete"),
            (self.discarded == sample.kept, if sample.kept { "was discarded" } else { "was not discarded" }),
            (sample.kept && self.title.is_empty(), "has no title"),
            (self.action_items.len() < sample.least_items, "has fewer action items than were said"),
        ];
        surprises.extend(
            checks
                .into_iter()
                .filter(|(wrong, _)| *wrong)
                .map(|(_, words)| format!("{}: {words}", sample.name)),
        );
    }

    pub(super) fn new(
        sample: &Sample,
        conversation: &Value,
        memories: Vec<String>,
        poll: &Value,
        stages: Vec<(String, f64)>,
        elapsed: Duration,
    ) -> Self {
        let structured = &conversation["structured"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        Self {
            name: sample.name,
            characters: sample.characters(),
            route: match sample.route {
                Route::Outbox(_) => "finalize",
                Route::Create(_) => "create",
            },
            discarded: conversation["discarded"] == true,
            status: text(&poll["status"]),
            emoji: text(&structured["emoji"]),
            title: text(&structured["title"]),
            category: text(&structured["category"]),
            overview: text(&structured["overview"]),
            action_items: list(&structured["action_items"])
                .iter()
                .map(|item| Item {
                    description: text(&item["description"]),
                    due_at: item["due_at"].as_str().map(str::to_owned),
                })
                .collect(),
            memories,
            events: list(&structured["events"])
                .iter()
                .map(|event| Event { title: text(&event["title"]), start: text(&event["start"]) })
                .collect(),
            stages,
            milliseconds: elapsed.as_secs_f64() * 1e3,
        }
    }
}

impl Report {
    /// Discarded conversations send no webhook; every other one sends one.
    pub(super) fn expected_deliveries(&self) -> usize {
        let kept = self.conversations.iter().filter(|card| !card.discarded).count();
        kept + usize::from(self.recovery.is_some()) + usize::from(self.live.is_some())
    }

    /// Every kept conversation was delivered exactly once, with a good signature.
    pub(super) fn check_deliveries(&mut self) {
        self.deliveries.expected = self.expected_deliveries();
        let Deliveries { posts, events, verified, expected } = self.deliveries;
        if events != expected || posts != events {
            self.surprises.push(format!(
                "{expected} events should have been delivered once; {events} were, in {posts} posts"
            ));
        }
        if verified != posts {
            self.surprises.push(format!("{} of {posts} posts had a wrong signature", posts - verified));
        }
    }
}

impl LiveTalk {
    pub(super) fn check(&self, surprises: &mut Vec<String>) {
        let silence = self.timeout_seconds as f64 * 1e3;
        let checks = [
            (self.status != "completed", "the live conversation did not complete"),
            (self.missing != 0, "a line of the live conversation is missing"),
            (self.doubled != 0, "a line of the live conversation came twice"),
            (!self.in_order, "the lines of the live conversation are out of order"),
            (self.jobs != 1, "the live conversation was not admitted once"),
            (self.ended_after_milliseconds < silence * 0.5, "the live conversation ended before its silence"),
        ];
        surprises.extend(checks.into_iter().filter(|(wrong, _)| *wrong).map(|(_, words)| words.to_owned()));
    }
}

impl Recovery {
    pub(super) fn check(&self, surprises: &mut Vec<String>) {
        let checks = [
            (self.status != "completed", "the killed worker's job did not complete"),
            (self.attempts != 0, "the crash cost an attempt"),
            (self.crashes != 1, "the crash was not counted once"),
            (self.doubled_items != 0, "an action item came twice"),
            (self.doubled_memories != 0, "a memory came twice"),
            (self.action_items == 0, "nothing came out of the recovered conversation"),
        ];
        surprises.extend(checks.into_iter().filter(|(wrong, _)| *wrong).map(|(_, words)| words.to_owned()));
    }
}

/// How many of these stand there more than once.
pub(super) fn doubled(mut objects: Vec<String>) -> usize {
    let all = objects.len();
    objects.sort_unstable();
    objects.dedup();
    all - objects.len()
}
