//! `listen jobs why`: one sentence, and the guard behind it.

use ledger::JobPage;
use serde_json::json;

use crate::commands::{
    stdout::{plain, say},
    table::print_json,
};

/// Prints the answer.
pub(super) fn print(page: &JobPage, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return print_json(&json!({
            "job_id": page.view.job.id.as_str(), "status": page.view.job.state.status(),
            "guard": page.why.guard(), "sentence": page.why.to_string(),
        }));
    }
    say!("{}\nguard: {}", plain(&page.why), page.why.guard())
}
