//! `listen verify`: what must hold in every database, asked of a live one.

use std::process::ExitCode;

use clap::Args;
use ledger::OperatorAction;
use operations::{CHECKS, Finding, Operations};
use serde_json::{Value, json};

use super::{
    consent::reason,
    named,
    over_shards::Failures,
    progress,
    stderr::note,
    stdout::{plain, say},
    table::{CommonArgs, print_json, wrapped},
};
use crate::{
    database::is_there,
    exit::{Exit, in_one_line},
};

/// Check a live database: admissions, completions, owners, conversations, totals.
#[derive(Args, Debug)]
pub(crate) struct Verify {
    #[command(flatten)]
    common: CommonArgs,
    /// Maximum number of offending rows to print per check.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
    /// Recount finished jobs, dead letters and stored bytes first and correct their totals; needs --reason.
    #[arg(long, requires = "reason")]
    fix_totals: bool,
    /// Reason, in 3 to 500 characters, recorded with the recount.
    #[arg(long, value_name = "WORDS", value_parser = reason, requires = "fix_totals")]
    reason: Option<String>,
    /// Operator, recorded with the recount; required for it where USER is not set.
    #[arg(long, env = "USER", value_name = "NAME", value_parser = named::name, required_if_eq("fix_totals", "true"))]
    operator: Option<String>,
}

/// Runs every check; the exit code is 1 when one of them found something. A shard that cannot be checked does not hide the
/// findings of the others.
pub(crate) async fn run(verify: Verify) -> anyhow::Result<ExitCode> {
    let (ledgers, as_json) = (verify.common.chosen()?, verify.common.json);
    let (mut documents, mut is_clean, mut failures) = (Vec::new(), true, Failures::default());
    for ledger in &ledgers {
        let shard = ledger.db().shard();
        let found = match is_there(ledger).await {
            Ok(()) => examine(ledger, &verify).await,
            Err(error) => Err(error),
        };
        let (findings, recounted) = match found {
            Err(error) if shard.is_only() => return Err(error),
            Err(error) => {
                documents.push(json!({ "shard": shard.number, "ok": false, "error": in_one_line(&error) }));
                is_clean = false;
                failures.add(ledger, error);
                continue;
            }
            Ok(found) => found,
        };
        let ok = findings.iter().all(|finding| finding.offenders.is_empty());
        is_clean &= ok;
        documents.push(json!({
            "shard": shard.number, "ok": ok, "totals_corrected": recounted,
            "checks": findings.iter().map(to_json).collect::<Value>(),
        }));
        if !as_json {
            if !shard.is_only() {
                say!("shard {shard}")?;
            }
            print(&findings, recounted)?;
        }
    }
    match (as_json, documents.as_mut_slice()) {
        (false, _) => {}
        // With one shard, shards are not mentioned.
        (true, [Value::Object(only)])
            if ledgers.iter().all(|operations| operations.db().shard().is_only()) =>
        {
            only.remove("shard");
            print_json(&Value::Object(only.clone()))?;
        }
        (true, documents) => {
            print_json(&json!({ "ok": is_clean, "shards": documents }))?;
        }
    }
    failures.end("not every shard was checked")?;
    Ok(if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the checks find in a shard, and whether its totals were wrong, where they were to be recounted.
async fn examine(operations: &Operations, verify: &Verify) -> anyhow::Result<(Vec<Finding>, Option<bool>)> {
    if !operations.examine().await?.missing_migrations.is_empty() {
        return Err(Exit::Refused("the schema is of another version: run `listen migrate`".to_owned()).into());
    }
    let recounted = match (verify.fix_totals, &verify.reason, &verify.operator) {
        (true, Some(reason), Some(operator)) => {
            let action = OperatorAction::new(operator, reason);
            Some(operations.recount(&action).await?)
        }
        _ => None,
    };
    Ok((ask(operations, verify.limit).await?, recounted))
}

async fn ask(operations: &Operations, limit: i64) -> anyhow::Result<Vec<Finding>> {
    let bar = progress::bar(CHECKS.len() as u64, "checks");
    let mut findings = Vec::new();
    for check in &CHECKS {
        bar.set_message(check.promise);
        findings.push(operations.verify(check, limit).await?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(findings)
}

fn print(findings: &[Finding], recounted: Option<bool>) -> anyhow::Result<()> {
    match recounted {
        Some(true) => say!("totals were wrong and have been corrected")?,
        Some(false) => say!("totals were right")?,
        None => {}
    }
    for finding in findings {
        let mark = if finding.offenders.is_empty() { "✓" } else { "✗" };
        say!("{}", wrapped(&format!("{mark} {:<36} ", finding.name), finding.promise))?;
        for offender in &finding.offenders {
            say!("    {}", plain(offender))?;
        }
        if finding.more {
            say!("    … and more: --limit shows them")?;
        }
    }
    // What `--fix-totals` counts anew: the checks of jobs, dead letters and stored bytes.
    if findings.iter().any(|finding| finding.name.contains("recount") && !finding.offenders.is_empty()) {
        note!("try: listen verify --fix-totals --reason …");
    }
    Ok(())
}

fn to_json(finding: &Finding) -> Value {
    json!({ "check": finding.name, "promise": finding.promise, "ok": finding.offenders.is_empty(),
        "offenders": finding.offenders, "more": finding.more })
}
