//! Of what dead letters died: a line under their list, or a table instead of it.

use operations::{Cause, Causes, JobFilter, Operations};
use serde_json::json;

use super::several;
use crate::commands::stderr::note;
use crate::commands::{
    over_shards::{Answers, each},
    table::{self, Column, number, print_json, word},
};

/// Prints how many dead letters died of what, instead of listing them.
pub(super) async fn run(
    shards: &[Operations],
    filter: impl AsyncFn(&Operations) -> anyhow::Result<JobFilter>,
    as_json: bool,
) -> anyhow::Result<()> {
    let (causes, answers) = sum(shards, filter).await?;
    if as_json {
        print_json(&to_json(&causes))?;
    } else if causes.codes.is_empty() {
        note!("no such jobs");
    } else {
        table::print(&COLUMNS, causes.codes.iter().map(row).collect())?;
        note!("{}", line(&causes));
    }
    answers.complete()
}

/// The sum over all shards that answer.
async fn sum(
    shards: &[Operations],
    filter: impl AsyncFn(&Operations) -> anyhow::Result<JobFilter>,
) -> anyhow::Result<(Causes, Answers<Causes>)> {
    let filter = &filter;
    let answers = each(shards, async |shard| Ok(shard.causes(&filter(shard).await?).await?)).await?;
    let mut sum = Causes::default();
    answers.of.iter().for_each(|(_, causes)| sum.add(causes));
    Ok((sum, answers))
}

/// The codes, and how many there are of each.
pub(crate) const COLUMNS: [Column; 3] = [word("code", 0), number("jobs", 1), number("settled", 2)];

/// Tells the same in one line, on stderr: stdout stays the list.
pub(super) async fn tell(
    shards: &[Operations],
    filter: impl AsyncFn(&Operations) -> anyhow::Result<JobFilter>,
) -> anyhow::Result<()> {
    let (causes, _) = sum(shards, filter).await?;
    if !causes.codes.is_empty() {
        note!("{}", line(&causes));
    }
    Ok(())
}

fn line(causes: &Causes) -> String {
    let jobs: i64 = causes.codes.iter().map(|cause| cause.jobs).sum();
    let each: Vec<String> = causes.codes.iter().map(one).collect();
    let among = if causes.cut { "the newest of more: " } else { "" };
    format!("{among}{}: {}", several(jobs, "dead letter", "dead letters"), each.join(", "))
}

fn one(cause: &Cause) -> String {
    match cause.settled {
        0 => format!("{} {}", cause.jobs, cause.code),
        settled => format!("{} {} ({settled} settled)", cause.jobs, cause.code),
    }
}

fn row(cause: &Cause) -> Vec<String> {
    vec![cause.code.clone(), cause.jobs.to_string(), cause.settled.to_string()]
}

fn to_json(causes: &Causes) -> serde_json::Value {
    let code = |cause: &Cause| json!({ "code": cause.code, "jobs": cause.jobs, "dismissed": cause.settled });
    json!({
        "jobs": causes.codes.iter().map(|cause| cause.jobs).sum::<i64>(),
        "codes": causes.codes.iter().map(code).collect::<Vec<_>>(), "cut": causes.cut,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn causes(cut: bool) -> Causes {
        let cause = |code: &str, jobs, settled| Cause { code: code.to_owned(), jobs, settled };
        Causes { codes: vec![cause("model_timeout", 12, 0), cause("no_content", 3, 1)], cut }
    }

    #[test]
    fn causes_table_counts_dead_letters_by_cause() {
        assert_eq!(line(&causes(false)), "15 dead letters: 12 model_timeout, 3 no_content (1 settled)");
        assert!(line(&causes(true)).starts_with("the newest of more: 15 dead letters: "));
    }

    #[test]
    fn causes_json_equals_the_table() {
        let said = to_json(&causes(false));
        assert_eq!((&said["jobs"], &said["cut"]), (&json!(15), &json!(false)));
        assert_eq!(said["codes"][1], json!({ "code": "no_content", "jobs": 3, "dismissed": 1 }));
    }
}
