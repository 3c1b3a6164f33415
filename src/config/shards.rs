//! How users are spread over several databases.

use clap::Args;

/// The error for an invalid number of shards.
pub(crate) const NO_COUNT: &str = "LISTEN_SHARDS must be a power of two: 1, 2, 4 and so on up to 1024";

/// What can be set about shards.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Shards")]
pub(crate) struct ShardsConfig {
    /// Over how many shards users are spread, a power of two: fixed for the life of an installation (`docs/scaling.md`).
    #[arg(long, env = "LISTEN_SHARDS", default_value_t = 1, value_name = "N")]
    pub(crate) shards: u16,
    /// Where the shards are, each number once: `0-2=postgresql://…,3-5=…,6-7=…`; without it, all in `DATABASE_URL`'s
    /// database. A comma of a password is written `%2C`.
    #[arg(long, env = "LISTEN_SHARD_URLS", hide_env_values = true, value_name = "RANGES")]
    pub(crate) shard_urls: Option<String>,
}

impl ShardsConfig {
    /// Whether there are several.
    pub(crate) fn are_several(&self) -> bool {
        self.shards > 1
    }
}
