//! Which jobs are meant: the same words for listing, replaying and discarding.

use clap::Args;
use operations::{JobFilter, Operations};
use records::UserId;

use crate::commands::times::{age, spoken};

/// What means many dead letters, by the names of its fields: beside the id of one it would be left out without a word.
pub(super) const OF_MANY: [&str; 6] = ["all", "code", "user", "newer_than", "older_than", "generation"];

/// A filter without a status: that is for the verb to say.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Which {
    /// Failure code.
    #[arg(long, value_parser = code)]
    pub(crate) code: Option<String>,
    /// Id of the user.
    #[arg(long, value_name = "ID")]
    pub(crate) user: Option<String>,
    /// Maximum age since admission or last replay: 90s, 15m, 2h, 7d. Of completed jobs, and in a list of all, the first
    /// admission counts.
    #[arg(long, value_name = "AGE", value_parser = age)]
    newer_than: Option<chrono::Duration>,
    /// Minimum age since admission or last replay, counted likewise: 90s, 15m, 2h, 7d.
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<chrono::Duration>,
    /// Only jobs of this generation.
    #[arg(long, value_name = "N")]
    generation: Option<i64>,
}

impl Which {
    /// Whether nothing was said.
    pub(crate) fn is_empty(&self) -> bool {
        self.code.is_none()
            && self.user.is_none()
            && self.newer_than.is_none()
            && self.older_than.is_none()
            && self.generation.is_none()
    }

    /// The filter in words, for those who look at it later; `all` where it is empty.
    pub(crate) fn words(&self, all: &str) -> String {
        let age = |name: &str, age: &Option<chrono::Duration>| {
            age.as_ref().map(|age| format!("{name} {}", spoken(*age)))
        };
        let said = [
            self.code.as_ref().map(|code| format!("code {code}")),
            self.user.as_ref().map(|user| format!("user {user}")),
            age("newer than", &self.newer_than),
            age("older than", &self.older_than),
            self.generation.map(|generation| format!("generation {generation}")),
        ];
        let said: Vec<String> = said.into_iter().flatten().collect();
        if said.is_empty() { all.to_owned() } else { said.join(", ") }
    }

    /// As the ledger filters; ages count back from the database's clock.
    pub(crate) async fn filter(
        &self,
        operations: &Operations,
        status: Option<String>,
        limit: i64,
    ) -> anyhow::Result<JobFilter> {
        let now = operations.db().now().await?;
        let ago = |age: Option<chrono::Duration>| age.map(|age| now - age);
        Ok(JobFilter {
            status,
            code: self.code.clone(),
            user: self.user.as_deref().map(UserId::new),
            generation: self.generation,
            since: ago(self.newer_than),
            until: ago(self.older_than),
            unsettled: false,
            waits_at: None,
            after: None,
            limit,
        })
    }
}

fn code(name: &str) -> Result<String, String> {
    match job::FailureCode::from_name(name) {
        Some(code) => Ok(code.as_str().to_owned()),
        None => {
            let codes: Vec<&str> = job::FailureCode::ALL.iter().map(|code| code.as_str()).collect();
            Err(format!("not a failure code: one of {}", codes.join(", ")))
        }
    }
}
