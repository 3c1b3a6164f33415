//! Shares of hits, and the table of them.

pub(crate) mod conversation;

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
    /// Of the words that a transcript tried to plant, those that stayed out of items and memories.
    pub(crate) unplanted: Share,
}

/// The heads of the table, in the order of [`Score::shares`].
pub(crate) const COLUMNS: [&str; 12] = [
    "discard",
    "category",
    "title",
    "recall",
    "precision",
    "due",
    "owner",
    "memories",
    "mem-prec",
    "events",
    "ev-prec",
    "unplanted",
];

impl Score {
    fn shares(&self) -> [Share; 12] {
        [
            self.discard,
            self.category,
            self.title,
            self.recall,
            self.precision,
            self.due,
            self.owner,
            self.memories,
            self.memories_precision,
            self.events,
            self.events_precision,
            self.unplanted,
        ]
    }

    /// Adds share by share.
    pub(crate) fn add(&mut self, other: &Self) {
        let mine = [
            &mut self.discard,
            &mut self.category,
            &mut self.title,
            &mut self.recall,
            &mut self.precision,
            &mut self.due,
            &mut self.owner,
            &mut self.memories,
            &mut self.memories_precision,
            &mut self.events,
            &mut self.events_precision,
            &mut self.unplanted,
        ];
        for (share, other) in mine.into_iter().zip(other.shares()) {
            share.add(other);
        }
    }

    /// Prints a row of the table.
    pub(crate) fn print(&self, name: &str) {
        let cells: Vec<String> = self.shares().iter().map(|share| format!("{share:>9}")).collect();
        println!("{name:<6}{}", cells.join(" "));
    }
}
