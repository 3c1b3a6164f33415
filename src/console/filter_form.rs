//! Which jobs are meant, as an address says it: the same words list, preview and replay.

use std::collections::BTreeMap;

use job::{FailureCode, JobId, Timestamp};
use operations::{JobCursor, JobFilter};
use records::UserId;
use serde::Deserialize;

use super::{Fault, extract::read_place, query, shards::user};
use crate::commands::{
    paging::{cursor, has_four_digit_year},
    times::age,
};

/// A filter as it was typed. What is empty does not filter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub(super) struct FilterForm {
    pub(super) status: String,
    pub(super) code: String,
    pub(super) user: String,
    pub(super) generation: String,
    pub(super) newer_than: String,
    pub(super) older_than: String,
    /// Ages, counted back from when they were first looked at: RFC 3339.
    pub(super) since: String,
    pub(super) until: String,
    /// Anything: leave out what was settled.
    pub(super) unsettled: String,
    pub(super) after: String,
    /// What was just done.
    pub(super) done: Option<String>,
}

/// The five statuses, in the order of a job's life.
pub(super) const STATUSES: [&str; 5] = ["queued", "leased", "blocked_byok", "completed", "dead_letter"];

impl FilterForm {
    /// From a form's fields.
    pub(super) fn of(fields: &BTreeMap<String, String>) -> Self {
        let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
        Self {
            code: field("code"),
            user: field("user"),
            generation: field("generation"),
            since: field("since"),
            until: field("until"),
            ..Self::default()
        }
    }

    /// The user whose jobs are meant, where one is named.
    pub(super) fn user(&self) -> Option<UserId> {
        user(&self.user)
    }

    /// As the ledger filters; ages count back from `now`.
    pub(super) fn filter(&self, now: Timestamp, limit: i64) -> Result<JobFilter, Fault> {
        let text = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        if !self.status.is_empty() && !STATUSES.contains(&self.status.as_str()) {
            return Err(unreadable("status", "one of the five statuses"));
        }
        if !self.code.is_empty() && FailureCode::from_name(&self.code).is_none() {
            return Err(unreadable("code", "a failure code"));
        }
        let generation = text(&self.generation).map(|text| text.parse::<i64>()).transpose();
        Ok(JobFilter {
            status: text(&self.status),
            code: text(&self.code),
            user: self.user(),
            generation: generation.map_err(|_| unreadable("generation", "a number"))?,
            since: moment("newer than", &self.newer_than, &self.since, now)?,
            until: moment("older than", &self.older_than, &self.until, now)?,
            unsettled: !self.unsettled.is_empty(),
            waits_at: None,
            after: read_place(&self.after)?.map(|(at, id)| JobCursor { at, job: JobId::from_text(id) }),
            limit,
        })
    }

    /// The same filter with ages as moments, so that looking and replaying find the same.
    pub(super) fn fixed(&self, filter: &JobFilter) -> Self {
        let moment = |at: Option<Timestamp>| at.map(|at| at.to_rfc3339()).unwrap_or_default();
        let (since, until) = (moment(filter.since), moment(filter.until));
        Self { newer_than: String::new(), older_than: String::new(), since, until, ..self.clone() }
    }

    /// Whether it leaves nothing out.
    pub(super) fn is_empty(&self) -> bool {
        self.pairs().iter().all(|(_, value)| value.is_empty())
    }

    /// The same filter, of one status or all.
    pub(super) fn of_status(&self, status: &str) -> Self {
        Self { status: status.to_owned(), after: String::new(), ..self.clone() }
    }

    /// Its fields by their names, without place.
    pub(super) fn pairs(&self) -> [(&'static str, &str); 9] {
        [
            ("status", &self.status),
            ("code", &self.code),
            ("user", &self.user),
            ("generation", &self.generation),
            ("newer_than", &self.newer_than),
            ("older_than", &self.older_than),
            ("since", &self.since),
            ("until", &self.until),
            ("unsettled", &self.unsettled),
        ]
    }

    /// The query string of this filter.
    pub(super) fn query(&self) -> String {
        query(&self.pairs())
    }

    /// The query string of the page behind `place`.
    pub(super) fn query_behind(&self, position: &JobCursor) -> String {
        let position = cursor(position.at, &position.job);
        let mut pairs = self.pairs().to_vec();
        pairs.push(("after", &position));
        query(&pairs)
    }

    /// In words, for those who look at an operation later, `all` where nothing was asked; status and place are not part of
    /// one.
    pub(super) fn words(&self, all: &str) -> String {
        let pairs = [
            ("code", &self.code),
            ("user", &self.user),
            ("generation", &self.generation),
            ("admitted since", &self.since),
            ("admitted before", &self.until),
        ];
        let said =
            pairs.iter().map(|(name, value)| (name, value.trim())).filter(|(_, value)| !value.is_empty());
        let said: Vec<String> = said.map(|(name, value)| format!("{name} {value}")).collect();
        if said.is_empty() { all.to_owned() } else { said.join(", ") }
    }
}

fn unreadable(name: &str, what: &str) -> Fault {
    Fault::Unreadable(format!("The field \"{name}\" must be {what}."))
}

/// The moment `typed` ago, or the one that was fixed.
fn moment(name: &str, typed: &str, fixed: &str, now: Timestamp) -> Result<Option<Timestamp>, Fault> {
    if !typed.trim().is_empty() {
        let ago = age(typed.trim()).map_err(|words| unreadable(name, &words))?;
        return Ok(Some(now - ago));
    }
    if fixed.is_empty() {
        return Ok(None);
    }
    let read: Result<Timestamp, _> = fixed.parse();
    let in_range = read.ok().filter(|at| has_four_digit_year(*at));
    in_range.map(Some).ok_or_else(|| unreadable(name, "a moment, as 2026-01-31T12:00:00Z"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn filter_form_turns_reviewed_ages_into_fixed_times() {
        let now = Timestamp::UNIX_EPOCH + chrono::Duration::days(3);
        let form =
            FilterForm { newer_than: "1d".into(), code: "stage_timeout".into(), ..FilterForm::default() };
        let code = FailureCode::ALL.first().unwrap().as_str();
        let form = FilterForm { code: code.to_owned(), ..form };
        let filter = form.filter(now, 5).unwrap();
        let later = form.fixed(&filter).filter(now + chrono::Duration::hours(5), 5).unwrap();
        assert_eq!(later.since, filter.since);
        assert_eq!(
            form.fixed(&filter).words("all"),
            format!("code {code}, admitted since 1970-01-03T00:00:00+00:00")
        );
    }

    #[test]
    fn filter_form_reports_invalid_values() {
        let now = Timestamp::UNIX_EPOCH;
        for wrong in [
            FilterForm { status: "dead".into(), ..FilterForm::default() },
            FilterForm { code: "none".into(), ..FilterForm::default() },
            FilterForm { generation: "x".into(), ..FilterForm::default() },
            FilterForm { older_than: "1w".into(), ..FilterForm::default() },
            FilterForm { older_than: "100000000d".into(), ..FilterForm::default() },
            FilterForm { until: "noon".into(), ..FilterForm::default() },
            FilterForm { until: "-5000-01-01T00:00:00Z".into(), ..FilterForm::default() },
            FilterForm { since: "-262143-01-01T00:00:00Z".into(), ..FilterForm::default() },
            FilterForm { after: "-300000000000000000.fj_0".into(), ..FilterForm::default() },
            FilterForm { after: "here".into(), ..FilterForm::default() },
        ] {
            assert!(matches!(wrong.filter(now, 1), Err(Fault::Unreadable(_))), "{wrong:?}");
        }
    }
}
