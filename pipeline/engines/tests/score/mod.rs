//! Shares of hits, and the tables of them.

pub(crate) mod conversation;
pub(crate) mod dates;

/// Hits out of so many.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    pub(crate) hits: usize,
    pub(crate) of: usize,
}

impl Share {
    /// Counts one more.
    pub(crate) fn count(&mut self, hit: bool) {
        self.hits += usize::from(hit);
        self.of += 1;
    }

    fn add(&mut self, other: Self) {
        self.hits += other.hits;
        self.of += other.of;
    }

    /// Of nothing, everything was hit.
    pub(crate) fn percent(self) -> usize {
        (100 * self.hits).checked_div(self.of).unwrap_or(100)
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&format!("{}/{}", self.hits, self.of))
    }
}

/// What one conversation, or all of them, scored.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Score {
    pub(crate) discard: Share,
    pub(crate) category: Share,
    pub(crate) title: Share,
    pub(crate) recall: Share,
    pub(crate) precision: Share,
    pub(crate) due: Share,
    pub(crate) owner: Share,
    pub(crate) memories: Share,
    pub(crate) memories_precision: Share,
    pub(crate) events: Share,
    pub(crate) events_precision: Share,
    /// Of the events that were found and whose time of day is known, those that start then.
    pub(crate) starts: Share,
    /// Of the words that a transcript tried to plant, those that stayed out of items and memories.
    pub(crate) unplanted: Share,
}

/// A share of a score.
type Column = fn(&mut Score) -> &mut Share;

/// The columns of the table, by their heads.
pub(crate) const COLUMNS: [(&str, Column); 13] = [
    ("discard", |score| &mut score.discard),
    ("category", |score| &mut score.category),
    ("title", |score| &mut score.title),
    ("recall", |score| &mut score.recall),
    ("precision", |score| &mut score.precision),
    ("due", |score| &mut score.due),
    ("owner", |score| &mut score.owner),
    ("memories", |score| &mut score.memories),
    ("mem-prec", |score| &mut score.memories_precision),
    ("events", |score| &mut score.events),
    ("ev-prec", |score| &mut score.events_precision),
    ("ev-time", |score| &mut score.starts),
    ("unplanted", |score| &mut score.unplanted),
];

impl Score {
    /// Adds share by share.
    pub(crate) fn add(&mut self, mut other: Self) {
        for (_, column) in COLUMNS {
            let more = *column(&mut other);
            column(self).add(more);
        }
    }

    /// The share of the column `name`.
    pub(crate) fn share(mut self, name: &str) -> Share {
        let (_, column) = COLUMNS.into_iter().find(|(column, _)| *column == name).unwrap();
        *column(&mut self)
    }

    /// Prints a row of the table.
    pub(crate) fn print(mut self, name: &str) {
        let cells = COLUMNS.map(|(_, column)| format!("{:>9}", column(&mut self)));
        println!("{name:<6}{}", cells.join(" "));
    }
}
