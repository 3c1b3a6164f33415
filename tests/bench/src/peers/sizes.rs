//! How much is measured.

use clap::Parser;

/// Measures this service beside other queues on the same server, with the same durability, in the same run.
#[derive(Parser, Clone)]
#[command(name = "peers", no_binary_name = true)]
pub(crate) struct Sizes {
    /// Only these: `listen` and names of peers; all of them without a name.
    pub(crate) names: Vec<String>,
    /// Jobs that an empty queue's drain begins with.
    #[arg(long, default_value_t = 50_000)]
    pub(crate) jobs: usize,
    /// Of these, jobs that are inserted one by one by 16 producers.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) inserts: usize,
    /// Jobs of a drain beside a long history, or beside many that wait.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) again: usize,
    /// Rows of a long history, and of those that wait; 0 leaves both out.
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) history: usize,
    /// Seconds of each open loop, behind one that is kept apart.
    #[arg(long, default_value_t = 3)]
    pub(crate) seconds: usize,
    /// Jobs that are handed to a quiet queue, one at a time; half as many beside rows.
    #[arg(long, default_value_t = 8)]
    pub(crate) tries: usize,
    /// Workers that are killed, for each peer; 0 kills none.
    #[arg(long, default_value_t = 1)]
    pub(crate) kills: usize,
    /// Seconds after which a drain is over, whatever was done by then.
    #[arg(long, default_value_t = 30)]
    pub(crate) bound: u64,
    /// Seconds after which a kill counts as unnoticed.
    #[arg(long, default_value_t = 60)]
    pub(crate) wait: u64,
}

impl Sizes {
    /// Whether a peer is asked for.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| wanted == name)
    }
}
