//! How the assistant asks a server, and what was learnt of that.

use upstream::Learnt;

use crate::openai::complaint::Field;

/// One way to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// Whether the answer is streamed.
    pub(super) stream: bool,
    /// Whether tools are offered.
    pub(super) tools: bool,
    /// Newer servers refuse `max_tokens`, older ones know nothing else.
    pub(super) limit: &'static str,
    /// Some models take no temperature but their own.
    pub(super) temperature: bool,
    /// Whether earlier messages are sent: a small context has no room for them.
    pub(super) history: bool,
}

impl Way {
    pub(super) const NEWEST: Self =
        Self { stream: true, tools: true, limit: "max_completion_tokens", temperature: true, history: true };

    /// What to try after the server complained of `field`, or of something that it does not name; nothing when there is no
    /// other way left.
    pub(super) fn after(self, field: Option<Field>) -> Option<Self> {
        let older = (self.limit == "max_completion_tokens").then_some(Self { limit: "max_tokens", ..self });
        let cooler = self.temperature.then_some(Self { temperature: false, ..self });
        let shorter = self.history.then_some(Self { history: false, ..self });
        let without_tools = self.tools.then_some(Self { tools: false, ..self });
        match field {
            Some(Field::Limit) => older,
            Some(Field::Temperature) => cooler,
            Some(Field::Length) => shorter,
            Some(Field::Format) | None => older.or(without_tools).or(cooler).or(shorter),
        }
    }
}

/// The way that a server is known to understand; at first the newest.
pub(in crate::openai) struct Ways(Learnt<Way>);

impl Default for Ways {
    fn default() -> Self {
        Self(Learnt::new(Way::NEWEST))
    }
}

impl Ways {
    pub(super) fn known(&self) -> Way {
        self.0.known()
    }

    /// `way` worked, after others did not. One that worked only without the history says nothing about the next one: that history was too
    /// long, or was refused for what is in it, in every way. And that `is_for_apps` tools were refused says nothing about requests
    /// without the tools of this user's apps.
    pub(super) fn remember(&self, way: Way, is_for_apps: bool) {
        if !way.history || (is_for_apps && !way.tools && self.known().tools) {
            return;
        }
        if self.0.note(way) {
            tracing::info!(
                stream = way.stream,
                tools = way.tools,
                limit = way.limit,
                temperature = way.temperature,
                "the assistant asks the model server in another way from now on"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_that_worked_without_the_history_is_not_remembered() {
        let ways = Ways::default();
        let oldest = Way { tools: false, limit: "max_tokens", temperature: false, ..Way::NEWEST };
        ways.remember(Way { history: false, ..oldest }, false);
        assert_eq!(ways.known(), Way::NEWEST);
        ways.remember(oldest, false);
        assert_eq!(ways.known(), oldest);
    }

    #[test]
    fn a_server_that_refuses_without_a_word_is_asked_without_history_last() {
        let mut way = Way::NEWEST;
        let mut tried = 0;
        while let Some(next) = way.after(None) {
            assert!(way.history, "history goes last");
            (way, tried) = (next, tried + 1);
        }
        assert_eq!((way.history, way.tools, way.temperature, tried), (false, false, false, 4));
    }
}
