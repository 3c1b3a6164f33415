//! What goes wrong, on command.

use serde::Deserialize;

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// A create is answered with this status, and nothing is created.
    CreateStatus {
        /// The status.
        status: u16,
        /// Seconds of a `Retry-After`.
        retry_after: Option<u64>,
    },
    /// A create is never answered, and nothing is created.
    CreateHang,
    /// A task is created, and the create is never answered.
    CreateHangAfterCommit,
    /// A task is created and is gone at once.
    Lose,
    /// A task is delivered twice at once.
    Double,
    /// A task is delivered later.
    Late {
        /// By how much.
        millis: u64,
    },
    /// Questions about tasks are answered with this status.
    GetStatus {
        /// The status.
        status: u16,
    },
    /// A delivery carries a token with something wrong.
    Token {
        /// One of `none`, `expired`, `early`, `audience`, `issuer`, `identity`, `unverified`, `unknown_key`, `signature`.
        wrong: String,
    },
    /// The keys are answered with 503.
    KeysDown,
    /// The keys are never answered.
    KeysHang,
    /// The answer with the keys is longer than ten megabytes.
    KeysHuge,
}

/// A fault, and how often it happens.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Fault {
    /// What goes wrong.
    #[serde(flatten)]
    pub kind: Kind,
    /// How often; for ever where it is not said.
    pub times: Option<u32>,
}

impl Fault {
    /// A fault that applies until another command changes it.
    pub fn always(kind: Kind) -> Self {
        Self { kind, times: None }
    }

    /// One that happens so often.
    pub fn times(kind: Kind, times: u32) -> Self {
        Self { kind, times: Some(times) }
    }
}

/// The faults that are set.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Fault>);

impl Faults {
    pub(crate) fn add(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The first fault that `wanted` knows; it happens once less from now on.
    pub(crate) fn take<T>(&mut self, wanted: impl Fn(&Kind) -> Option<T>) -> Option<T> {
        let (place, found) =
            self.0.iter().enumerate().find_map(|(place, fault)| Some((place, wanted(&fault.kind)?)))?;
        if let Some(times) = self.0.get_mut(place).and_then(|fault| fault.times.as_mut()) {
            *times = times.saturating_sub(1);
            if *times == 0 {
                self.0.remove(place);
            }
        }
        Some(found)
    }
}
