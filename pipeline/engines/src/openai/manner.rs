//! How a server is asked: servers that speak the same API agree on less and less of it. What worked is
//! remembered, so that a server is asked in a wrong way once an hour and not at every call.

use upstream::Learnt;

use super::complaint::Field;

/// How a request asks for JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Format {
    /// By a strict JSON schema, which good servers enforce.
    Schema,
    /// By the mode that promises JSON of any shape; the schema is in the prompt.
    Object,
    /// By the prompt alone.
    Plain,
}

/// One way to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Manner {
    pub(super) format: Format,
    /// Newer servers refuse `max_tokens`, older ones know nothing else.
    pub(super) limit: &'static str,
    /// Some models take no temperature but their own.
    pub(super) temperature: bool,
}

impl Manner {
    pub(super) const NEWEST: Self =
        Self { format: Format::Schema, limit: "max_completion_tokens", temperature: true };

    /// What to try after the server complained of `field`, or of something that it does not name; nothing
    /// when there is no other way left.
    fn after(self, field: Option<Field>) -> Option<Self> {
        let lower = match self.format {
            Format::Schema => Some(Format::Object),
            Format::Object => Some(Format::Plain),
            Format::Plain => None,
        };
        let older = (self.limit == "max_completion_tokens").then_some(Self { limit: "max_tokens", ..self });
        let plainer = lower.map(|format| Self { format, ..self });
        let cooler = self.temperature.then_some(Self { temperature: false, ..self });
        match field {
            Some(Field::Temperature) => cooler,
            Some(Field::Format) => plainer,
            Some(Field::Limit) => older,
            Some(Field::Length) => None,
            // The last resort says nothing that any server could refuse.
            None => older.or(plainer.map(|manner| Self {
                temperature: manner.temperature && manner.format != Format::Plain,
                ..manner
            })),
        }
    }
}

/// The way that a server is known to understand; at first the newest.
pub(super) struct Manners(Learnt<Manner>);

impl Default for Manners {
    fn default() -> Self {
        Self(Learnt::new(Manner::NEWEST))
    }
}

impl Manners {
    pub(super) fn known(&self) -> Manner {
        self.0.known()
    }

    /// The next way to try, or nothing when all were refused: then the request itself is refused, for
    /// example for an unknown model, and nothing is learnt of the server.
    pub(super) fn next(tried: Manner, complaint: Option<Field>) -> Option<Manner> {
        tried.after(complaint)
    }

    /// `manner` worked, after others did not.
    pub(super) fn remember(&self, manner: Manner) {
        if self.0.note(manner) {
            tracing::info!(
                format = ?manner.format,
                limit = manner.limit,
                temperature = manner.temperature,
                "the model server is asked in another way from now on"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways(complaints: &[Option<Field>]) -> Vec<(Format, &'static str, bool)> {
        let mut manner = Some(Manner::NEWEST);
        let next = complaints.iter().map_while(|complaint| {
            manner = manner.and_then(|tried| Manners::next(tried, *complaint));
            manner.map(|manner| (manner.format, manner.limit, manner.temperature))
        });
        next.collect()
    }

    #[test]
    fn a_complaint_changes_what_it_names_and_nothing_else() {
        let complaints = [Some(Field::Temperature), Some(Field::Limit), Some(Field::Format)];
        let expected = [
            (Format::Schema, "max_completion_tokens", false),
            (Format::Schema, "max_tokens", false),
            (Format::Object, "max_tokens", false),
        ];
        assert_eq!(ways(&complaints), expected);
    }

    #[test]
    fn without_a_name_the_ways_are_tried_from_the_newest_to_one_that_every_server_knows() {
        let expected = [
            (Format::Schema, "max_tokens", true),
            (Format::Object, "max_tokens", true),
            (Format::Plain, "max_tokens", false),
        ];
        assert_eq!(ways(&[None; 9]), expected);
    }

    #[test]
    fn the_same_complaint_twice_and_a_context_that_is_too_small_end_the_trying() {
        assert_eq!(ways(&[Some(Field::Temperature); 9]).len(), 1);
        assert_eq!(ways(&[Some(Field::Limit); 9]).len(), 1);
        assert_eq!(ways(&[Some(Field::Length)]).len(), 0);
    }
}
