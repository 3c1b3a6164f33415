//! What the door can be told.

use std::time::Duration;

use records::Source;

/// The settings of the API role.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long a create waits for its job (`LISTEN_CREATE_WAIT_SECONDS`, below 55 s).
    pub create_wait: Duration,
    /// Requests per minute, key and process (`LISTEN_RATE_PER_MINUTE`); 0 switches the limit off.
    pub rate_per_minute: u32,
    /// Sources that are accepted besides the eight generic ones (DECISIONS §1).
    pub vendor_sources: Vec<String>,
    /// Whether durable dispatch is configured: `false` in `inline` mode, where finalize and `defer_processing`
    /// answer 503 before anything is changed.
    pub finalize_enabled: bool,
    /// Origins whose scripts may call the interface from a browser (`LISTEN_CORS_ORIGINS`).
    pub cors_origins: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            create_wait: Duration::from_secs(25),
            rate_per_minute: 600,
            vendor_sources: Source::VENDORS.map(str::to_owned).to_vec(),
            finalize_enabled: true,
            cors_origins: Vec::new(),
        }
    }
}
