//! The simulation's own account of a job, kept beside the machine's, and of what a seed has seen.

/// Counted at every store by what the verb was, not by what the machine wrote.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books {
    /// The claim that holds the lease, by the simulation's own number.
    pub(crate) claim: u64,
    pub(crate) attempts: u32,
    pub(crate) crashes: u32,
    /// The claim of the crash that was counted last and not taken back.
    pub(crate) crashed: Option<job::Epoch>,
    pub(crate) runs: u32,
    pub(crate) completions: u32,
    /// Whether keys were ever required: nothing takes that back.
    pub(crate) requires_keys: bool,
    /// When it was parked first since the last admission or replay.
    pub(crate) parked_at: Option<job::Timestamp>,
}

/// What happened in all worlds together: a simulation that saw nothing proves nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) stores: u64,
    pub(crate) lost_races: u64,
    pub(crate) completions: u64,
    pub(crate) crashes: u64,
    pub(crate) proofs: u64,
    pub(crate) failures: u64,
    pub(crate) releases: u64,
    pub(crate) dead_letters: u64,
    pub(crate) replays: u64,
    pub(crate) withdrawals: u64,
    pub(crate) parked: u64,
    pub(crate) abandoned: u64,
    pub(crate) zombies_refused: u64,
    pub(crate) stale_tasks: u64,
    pub(crate) run_limits: u64,
    pub(crate) poisoned: u64,
    pub(crate) hurried: u64,
    pub(crate) cancelled: u64,
}

impl Seen {
    pub(crate) fn add(&mut self, other: &Self) {
        let mut other = *other;
        for (mine, theirs) in self.all().into_iter().zip(other.all()) {
            *mine += *theirs;
        }
    }

    /// Everything that can happen did.
    pub(crate) fn is_rich(&mut self) {
        let words = format!("{self:?}");
        assert!(self.all().iter().all(|count| **count > 0), "something never happened: {words}");
    }

    fn all(&mut self) -> [&mut u64; 18] {
        [
            &mut self.stores,
            &mut self.lost_races,
            &mut self.completions,
            &mut self.crashes,
            &mut self.proofs,
            &mut self.failures,
            &mut self.releases,
            &mut self.dead_letters,
            &mut self.replays,
            &mut self.withdrawals,
            &mut self.parked,
            &mut self.abandoned,
            &mut self.zombies_refused,
            &mut self.stale_tasks,
            &mut self.run_limits,
            &mut self.poisoned,
            &mut self.hurried,
            &mut self.cancelled,
        ]
    }
}
