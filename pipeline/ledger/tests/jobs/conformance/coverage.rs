//! Which transitions and refusals the random commands met, and which they must meet.

use std::collections::BTreeMap;

use job::{Command, Refusal};

/// How often each state met each command, each transition was granted and each refusal was returned.
#[derive(Default)]
pub(crate) struct Coverage {
    pub(crate) met: BTreeMap<String, u32>,
}

impl Coverage {
    /// Records a command that led from one status to another.
    pub(crate) fn granted(&mut self, from: &str, command: &Command, to: &str) {
        self.count(format!("{from} x {}", name(command)));
        self.count(format!("{from} {} {to}", name(command)));
    }

    /// Records a command that was refused.
    pub(crate) fn refused(&mut self, from: &str, command: &Command, refusal: Refusal) {
        self.count(format!("{from} x {}", name(command)));
        let refusal = format!("{refusal:?}");
        let kind = refusal.split(' ').next().unwrap_or_default();
        self.count(format!("{} returns {kind}", name(command)));
    }

    /// Records an admission of a conversation without a live job.
    pub(crate) fn reprocessed(&mut self, from: &str, what: &str) {
        self.count(format!("conversation {from} {what}"));
    }

    fn count(&mut self, what: String) {
        *self.met.entry(what).or_default() += 1;
    }

    /// What the ledger's operations can meet and these commands did not.
    pub(crate) fn missing(&self) -> Vec<String> {
        let mut wanted: Vec<String> =
            TRANSITIONS.iter().chain(REFUSALS).map(|text| (*text).to_owned()).collect();
        for state in ["queued", "leased", "blocked_byok", "completed", "dead_letter"] {
            for command in COMMANDS {
                // The ledger sends these to no other jobs.
                let is_sent = match *command {
                    "RequireKeys" => !matches!(state, "completed" | "dead_letter"),
                    "Withdraw" => state != "completed",
                    _ => true,
                };
                if is_sent {
                    wanted.push(format!("{state} x {command}"));
                }
            }
        }
        wanted.retain(|text| !self.met.contains_key(text));
        wanted
    }
}

fn name(command: &Command) -> &'static str {
    match command {
        Command::Claim { .. } => "Claim",
        Command::Renew { .. } => "Renew",
        Command::ProveAlive { .. } => "ProveAlive",
        Command::Release { .. } => "Release",
        Command::Complete { .. } => "Complete",
        Command::Fail { .. } => "Fail",
        Command::Park { .. } => "Park",
        Command::RequireKeys => "RequireKeys",
        Command::Reconcile { .. } => "Reconcile",
        Command::Replay { .. } => "Replay",
        Command::Discard => "Discard",
        Command::Supersede => "Supersede",
        Command::RunNow => "RunNow",
        Command::Cancel => "Cancel",
        Command::Withdraw => "Withdraw",
    }
}

const COMMANDS: &[&str] = &[
    "Claim",
    "Renew",
    "Release",
    "Complete",
    "Fail",
    "Park",
    "RequireKeys",
    "Reconcile",
    "Replay",
    "Discard",
    "RunNow",
    "Cancel",
    "Withdraw",
];

/// Every transition that the ledger's operations can make.
const TRANSITIONS: &[&str] = &[
    "queued Claim leased",
    "blocked_byok Claim leased",
    "queued RequireKeys blocked_byok",
    "queued Reconcile queued",
    "queued Withdraw completed",
    "leased Claim leased",
    "leased Claim dead_letter",
    "leased Renew leased",
    "queued ProveAlive queued",
    "leased ProveAlive leased",
    "blocked_byok ProveAlive blocked_byok",
    "leased Release queued",
    "leased Release blocked_byok",
    "leased Complete completed",
    "leased Fail queued",
    "leased Fail blocked_byok",
    "leased Fail dead_letter",
    "leased Park blocked_byok",
    "leased RequireKeys leased",
    "leased Reconcile queued",
    "leased Reconcile blocked_byok",
    "leased Reconcile dead_letter",
    "leased Withdraw completed",
    "blocked_byok RequireKeys blocked_byok",
    "blocked_byok Reconcile dead_letter",
    "blocked_byok Withdraw completed",
    "dead_letter Replay queued",
    "dead_letter Replay blocked_byok",
    "dead_letter Discard dead_letter",
    "dead_letter Supersede dead_letter",
    "dead_letter Withdraw dead_letter",
    "queued RunNow queued",
    "queued Cancel dead_letter",
    "leased Cancel dead_letter",
    "blocked_byok Cancel dead_letter",
    "conversation completed Reprocess",
    "conversation failed Reprocess",
];

/// Every refusal that the ledger's operations can return.
const REFUSALS: &[&str] = &[
    "Claim returns StaleGeneration",
    "Claim returns UnknownGeneration",
    "Claim returns AtRest",
    "Claim returns LeaseHeld",
    "Claim returns Blocked",
    "Claim returns NotYet",
    "Renew returns LeaseLost",
    "Renew returns RunLimit",
    "Release returns LeaseLost",
    "Release returns TooLate",
    "Complete returns LeaseLost",
    "Fail returns LeaseLost",
    "Park returns LeaseLost",
    "Reconcile returns NotDue",
    "Replay returns NotDead",
    "Replay returns Blocked",
    "Replay returns Superseded",
    "Replay returns ConversationGone",
    "Discard returns NotDead",
    "RunNow returns Ready",
    "RunNow returns LeaseHeld",
    "RunNow returns Blocked",
    "RunNow returns AtRest",
    "Cancel returns AtRest",
];
