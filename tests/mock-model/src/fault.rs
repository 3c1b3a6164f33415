//! How the server misbehaves.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// A way to misbehave. Over HTTP: `{"kind": "rate_limited", "retry_after": 7}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// A good answer, late.
    Slow {
        /// By how much.
        millis: u64,
    },
    /// A good answer, as soon as the server is mended.
    Held,
    /// 429, with the seconds of a `Retry-After` where they are given.
    RateLimited {
        /// Seconds.
        retry_after: Option<u64>,
    },
    /// An error of that status, with a text of the provider's own.
    Status {
        /// The status.
        status: u16,
    },
    /// The answer's JSON ends in the middle, and the server says why (`finish_reason` is `length`).
    Truncated,
    /// The answer's JSON ends in the middle, and the server says that all is well.
    CutSilently,
    /// Good JSON of another shape.
    WrongSchema,
    /// Good JSON whose last field makes no sense.
    Partial,
    /// The model declines, in the field that is there for it.
    Refusal,
    /// A filter of the provider's took the answer away.
    Filtered,
    /// No answer, for ever.
    Hang,
    /// The connection breaks in the middle of the answer.
    Drop,
    /// 200, and a page that is no JSON.
    Page,
    /// The model does what the talk says, and writes down whatever is in it: links, orders, markup.
    Obey,
}

/// A way to misbehave, for some calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Only for calls of this stage; else for any.
    #[serde(default)]
    pub stage: Option<String>,
    /// For that many calls; 0 for ever. Default: one.
    #[serde(default = "once")]
    pub times: u32,
    /// How.
    #[serde(flatten)]
    pub kind: Kind,
}

fn once() -> u32 {
    1
}

impl Fault {
    /// Once, for the next call of any stage.
    pub fn once(kind: Kind) -> Self {
        Self { stage: None, times: 1, kind }
    }

    /// For ever, for every call.
    pub fn always(kind: Kind) -> Self {
        Self { stage: None, times: 0, kind }
    }

    /// The same for calls of `stage` alone.
    pub fn of(self, stage: &str) -> Self {
        Self { stage: Some(stage.to_owned()), ..self }
    }
}

/// What is still to go wrong, in the order in which it was asked for.
#[derive(Default)]
pub(crate) struct Faults(VecDeque<Fault>);

impl Faults {
    pub(crate) fn add(&mut self, faults: impl IntoIterator<Item = Fault>) {
        self.0.extend(faults);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// What goes wrong with a call that is for `stages`; a fault that has happened often enough is gone.
    pub(crate) fn take(&mut self, stages: &[String]) -> Option<Kind> {
        let meant = |fault: &Fault| fault.stage.as_ref().is_none_or(|stage| stages.contains(stage));
        let index = self.0.iter().position(meant)?;
        let fault = self.0.get_mut(index)?;
        let kind = fault.kind.clone();
        match fault.times {
            0 => {}
            1 => drop(self.0.remove(index)),
            _ => fault.times -= 1,
        }
        Some(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mock_model_fault_applies_to_its_count_and_target() {
        let mut faults = Faults::default();
        faults.add([Fault { times: 2, ..Fault::once(Kind::Hang).of("embed") }, Fault::once(Kind::Drop)]);
        let mut take = |stage: &str| faults.take(&[stage.to_owned()]);
        assert_eq!(take("describe"), Some(Kind::Drop));
        assert_eq!(take("describe"), None);
        assert_eq!([take("embed"), take("embed"), take("embed")], [Some(Kind::Hang), Some(Kind::Hang), None]);
    }

    #[test]
    fn mock_model_fault_parses_from_json() {
        let told = r#"{"kind": "rate_limited", "retry_after": 7, "stage": "embed"}"#;
        let fault: Option<Fault> = serde_json::from_str(told).ok();
        let expected = Fault::once(Kind::RateLimited { retry_after: Some(7) }).of("embed");
        assert_eq!(fault, Some(expected));
    }
}
