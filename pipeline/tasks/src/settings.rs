//! The names and times that tasks are made of.

use std::{fmt, str::FromStr, time::Duration};

use reqwest::Url;

/// `projects/P/locations/L/queues/Q`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueName(String);

impl FromStr for QueueName {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let parts: Vec<&str> = text.split('/').collect();
        let is_name = |part: &&str| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
        };
        match parts.as_slice() {
            ["projects", project, "locations", location, "queues", queue]
                if [project, location, queue].into_iter().all(is_name) =>
            {
                Ok(Self(text.to_owned()))
            }
            _ => Err(()),
        }
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What tasks are made of, besides their jobs.
#[derive(Clone, Debug)]
pub struct TaskQueueSettings {
    /// The API, without a path.
    pub api_url: Url,
    /// The queue.
    pub queue: QueueName,
    /// Where tasks are delivered.
    pub handler_url: String,
    /// For whom their tokens are issued.
    pub audience: String,
    /// The service account whose tokens they carry.
    pub invoker: String,
    /// How long a delivery may take.
    pub deadline: Duration,
}
