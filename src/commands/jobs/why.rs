//! `listen jobs why`: one sentence, what lies behind it, and the guard.

use operations::JobPage;
use serde_json::json;

use super::show::{cause_json, cause_words};
use crate::commands::times::time;
use crate::commands::{
    stdout::{plain, say},
    table::{print_json, wrapped},
};

/// Prints the answer.
pub(super) fn print(page: &JobPage, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return print_json(&json!({
            "job_id": page.view.job.id.as_str(), "status": page.view.job.state.status(),
            "guard": page.why.guard(), "sentence": page.why.to_string(),
            "cause": page.cause().map(|(cause, _)| cause_json(cause)),
            "cause_since": page.cause().map(|(_, since)| time(since)),
        }));
    }
    if let Some(cause) = cause_words(page) {
        let (why, cause) = (wrapped("", &plain(&page.why)), wrapped("", &plain(&cause)));
        return say!("{why}\n{cause}\nguard: {}", page.why.guard());
    }
    say!("{}\nguard: {}", wrapped("", &plain(&page.why)), page.why.guard())
}
