//! `listen jobs run-now`, `cancel` and `dismiss`: what operators order of jobs, by name or by a filter.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    process::ExitCode,
};

use clap::Args;
use job::{JobId, Why};
use operations::{JobFilter, Operations, OrderOfMany};
use records::UserId;
use serde_json::{Value, json};

use super::{
    but,
    filter::{OF_MANY, Which},
    given::{Results, answer, by_filter, command, each_named, field, jobs_of, question, verbs},
    granted, several,
};
use crate::{
    commands::{
        consent::{Cause, Consent},
        ids,
        over_shards::{each, label},
        stderr::note,
        stdout::{plain, reply, say},
        table::{CommonArgs, print_json},
    },
    exit::{Exit, PARTLY},
};

/// So often live jobs are looked for at most: where new ones come all the time, the order is for those that were found.
const PASSES: usize = 10;

/// Jobs by name, or all waiting ones that a filter finds.
#[derive(Args, Debug)]
pub(super) struct RunNow {
    /// Ids of jobs; without any, all waiting jobs that the filter finds.
    #[arg(conflicts_with_all = OF_MANY)]
    pub(super) ids: Vec<String>,
    #[command(flatten)]
    pub(super) which: Which,
    /// Select all waiting jobs; required without a filter.
    #[arg(long)]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) cause: Cause,
    #[command(flatten)]
    pub(super) consent: Consent,
}

/// Jobs by name, or all live ones that a filter finds: there is no word for those of everybody.
#[derive(Args, Debug)]
pub(super) struct Cancel {
    /// Ids of jobs; without any, all live jobs that the filter finds.
    #[arg(conflicts_with_all = &OF_MANY[1..])]
    pub(super) ids: Vec<String>,
    #[command(flatten)]
    pub(super) which: Which,
    #[command(flatten)]
    pub(super) cause: Cause,
    #[command(flatten)]
    pub(super) consent: Consent,
}

/// Dead letters by name, or all that a filter finds.
#[derive(Args, Debug)]
pub(super) struct Dismiss {
    /// Ids of jobs; without any, all dead letters that the filter finds.
    #[arg(conflicts_with_all = OF_MANY)]
    pub(super) ids: Vec<String>,
    #[command(flatten)]
    pub(super) which: Which,
    /// Select all dead letters; required without a filter.
    #[arg(long)]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) cause: Cause,
    #[command(flatten)]
    pub(super) consent: Consent,
}

/// Jobs with their shards.
type Named = [(Operations, String)];

/// Ids of jobs that a filter finds, with their users.
type Found = Vec<(String, UserId)>;

/// Gives an order to jobs by name, or to all that a filter finds: those of everybody are meant only where that is said.
pub(super) async fn run(
    common: &CommonArgs,
    order: OrderOfMany,
    (ids, which, all): (&[String], &Which, bool),
    how: (&Cause, Consent),
) -> anyhow::Result<ExitCode> {
    if !ids.is_empty() {
        return named(&ids::jobs(common, ids).await?, order, how, common.json).await;
    }
    if which.is_empty() && !all {
        let words = match order {
            OrderOfMany::Cancel => "name jobs, or a filter such as --user",
            OrderOfMany::RunNow | OrderOfMany::Dismiss => "name jobs, a filter, or --all",
        };
        return Err(Exit::Usage(words.to_owned()).into());
    }
    let shards = ids::shards_of(common, which.user.as_deref()).await?;
    of_filter(&shards, order, which, how, common.json).await
}

/// Shows how many jobs are meant, asks, and orders it.
async fn of_filter(
    shards: &[Operations],
    order: OrderOfMany,
    which: &Which,
    (cause, consent): (&Cause, Consent),
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let looks = each(shards, async |shard: &Operations| found(shard, order, which).await).await?;
    let count: i64 = looks.of.iter().map(|(_, found)| found.len() as i64).sum();
    let users: HashSet<&UserId> =
        looks.of.iter().flat_map(|(_, found)| found).map(|(_, user)| user).collect();
    let ([one, many], (_, done)) = (jobs_of(order), verbs(order));
    let (jobs, users) = (several(count, one, many), several(users.len() as i64, "user", "users"));
    if count == 0 || !consent.given(&question(order, &format!("{jobs} of {users}")))? {
        let (was, were) = (format!("{one} was found"), format!("{many} were found"));
        reply!(as_json, { "found": count, field(done): 0 }, "{}", several(count, &was, &were))?;
        return looks.complete().map(|()| ExitCode::SUCCESS);
    }
    let words = format!("{many}, {}", which.words("all"));
    let mut all = Results::default();
    for (shard, found) in looks.of.iter().filter(|(_, found)| !found.is_empty()) {
        let ids = found.iter().map(|(id, _)| id.as_str());
        let results = by_filter(shard, order, (&words, ids), cause).await;
        if looks.of.len() > 1 && !as_json {
            say!("{}{}", label(shard), results.words(order, found.len() as u64))?;
        }
        all.add(results);
    }
    let code = answer(order, count.unsigned_abs(), all, as_json)?;
    if matches!(order, OrderOfMany::RunNow) {
        note_pauses(shards.iter()).await;
    }
    looks.complete()?;
    Ok(code)
}

/// Names paused queues, which keep what was ordered waiting. The order is done: that a shard does not tell changes nothing.
async fn note_pauses(shards: impl Iterator<Item = &Operations>) {
    let mut paused = BTreeSet::new();
    for shard in shards {
        paused.extend(shard.pauses().await.unwrap_or_default().into_iter().map(|pause| pause.queue));
    }
    for queue in paused {
        note!("{queue} is paused, and its jobs wait; `listen jobs resume {queue} --reason …` opens it");
    }
}

/// The jobs that an order is for.
async fn found(shard: &Operations, order: OrderOfMany, which: &Which) -> anyhow::Result<Found> {
    let filter = async |status: &str| which.filter(shard, Some(status.to_owned()), 500).await;
    match order {
        OrderOfMany::RunNow => {
            let now = shard.db().now().await?;
            pages(shard, JobFilter { waits_at: Some(now), ..filter("queued").await? }).await
        }
        OrderOfMany::Cancel => live(async |status: &str| pages(shard, filter(status).await?).await).await,
        OrderOfMany::Dismiss => {
            pages(shard, JobFilter { unsettled: true, ..filter("dead_letter").await? }).await
        }
    }
}

/// Live jobs, each status's newest first: what waits is cancelled before what runs, or the slots that are freed would be
/// taken by what is to be cancelled next. Statuses are read one after the other, so that a job that is claimed and released meanwhile
/// may be in none of them: they are read again until nothing more is found.
async fn live(read: impl AsyncFn(&str) -> anyhow::Result<Found>) -> anyhow::Result<Found> {
    let (mut jobs, mut seen) = (Vec::new(), HashSet::new());
    for pass in 0..PASSES {
        let before = jobs.len();
        for status in ["blocked_byok", "queued", "leased"] {
            let found = read(status).await?;
            jobs.extend(found.into_iter().filter(|(id, _)| seen.insert(id.clone())));
        }
        if pass > 0 && jobs.len() == before {
            break;
        }
    }
    Ok(jobs)
}

/// All jobs that a filter finds, as they are listed.
async fn pages(operations: &Operations, mut filter: JobFilter) -> anyhow::Result<Found> {
    let mut found = Vec::new();
    loop {
        let page = operations.jobs_page(&filter).await?;
        found.extend(page.jobs.into_iter().map(|view| (view.job.id.to_string(), view.stored.user_id)));
        match page.next {
            Some(next) => filter.after = Some(next),
            None => return Ok(found),
        }
    }
}

async fn named(
    jobs: &Named,
    order: OrderOfMany,
    (cause, consent): (&Cause, Consent),
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    if consent.dry_run {
        return foresee_each(jobs, order, as_json).await;
    }
    // To end a wait, or what has ended, harms nothing; to end a job is asked for.
    let question = question(order, &several(jobs.len() as i64, "job", "jobs"));
    if matches!(order, OrderOfMany::Cancel) && !consent.given(&question)? {
        return Ok(ExitCode::SUCCESS);
    }
    let [(operations, id)] = jobs else {
        let code = answer(order, jobs.len() as u64, each_named(order, jobs, cause).await, as_json)?;
        if matches!(order, OrderOfMany::RunNow) {
            let shards: HashMap<u16, &Operations> =
                jobs.iter().map(|(shard, _)| (shard.db().shard().number, shard)).collect();
            note_pauses(shards.into_values()).await;
        }
        return Ok(code);
    };
    let answer =
        operations.operate(&JobId::from_text(id.as_str()), order.operation(), &cause.action()).await?;
    let job = granted(operations, id, answer).await?;
    let (_, done) = verbs(order);
    let paused = match order {
        OrderOfMany::RunNow => super::pause_of(operations, id).await,
        OrderOfMany::Cancel | OrderOfMany::Dismiss => None,
    };
    reply!(as_json, { "job_id": id, "done": done, "status": job.state.status(),
            "dispatch_generation": job.generation.0, "guard": paused.as_ref().map(Why::guard) },
        "{done}: {id}{}", but(paused.as_ref()))?;
    Ok(ExitCode::SUCCESS)
}

/// What the order would come to: it is refused here as it would be there. Of several jobs, one that refuses hides no other.
async fn foresee_each(jobs: &Named, order: OrderOfMany, as_json: bool) -> anyhow::Result<ExitCode> {
    let (verb, done) = verbs(order);
    if let [(operations, id)] = jobs {
        let why = foresee(operations, order, id).await?;
        reply!(as_json, { "job_id": id, "guard": why.guard() }, "would {verb} {id}: {}", plain(&why))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut foreseen = Vec::new();
    for (operations, id) in jobs {
        match foresee(operations, order, id).await {
            Ok(why) => foreseen.push((id, why)),
            Err(error) => match error.downcast_ref() {
                Some(Exit::Refused(words) | Exit::NotFound(words)) => note!("{words}"),
                _ => return Err(error),
            },
        }
    }
    let refused = jobs.len() - foreseen.len();
    let of_job = |(id, why): &(&String, Why)| json!({ "job_id": id, "guard": why.guard() });
    match as_json {
        true => print_json(&json!({ "found": jobs.len(), field(done): 0, "refused": refused,
            "jobs": foreseen.iter().map(of_job).collect::<Value>() })),
        false => foreseen.iter().try_for_each(|(id, why)| say!("would {verb} {id}: {}", plain(why))),
    }?;
    Ok(if refused == 0 { ExitCode::SUCCESS } else { ExitCode::from(PARTLY) })
}

/// Why a job waits that the order would be granted for.
async fn foresee(operations: &Operations, order: OrderOfMany, id: &str) -> anyhow::Result<Why> {
    let page = super::page(operations, id).await?;
    super::foreseen(operations, &page, command(order)).await?;
    Ok(page.why)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::cell::Cell;

    use super::*;

    fn of_ann(id: &str) -> (String, UserId) {
        (id.to_owned(), UserId::new("ann"))
    }

    #[tokio::test]
    async fn cancel_finds_a_job_that_changes_its_status_while_statuses_are_read() {
        // It runs while the queue is read, and waits in the queue again while runs are read.
        let reads = Cell::new(0);
        let read = async |status: &str| {
            reads.set(reads.get() + 1);
            let status_now = if reads.get() == 2 { "leased" } else { "queued" };
            Ok(if status == status_now { vec![of_ann("fj_1")] } else { Vec::new() })
        };
        assert_eq!(live(read).await.unwrap(), [of_ann("fj_1")]);
    }

    #[tokio::test]
    async fn cancel_stops_to_look_where_new_jobs_come_all_the_time() {
        let reads = Cell::new(0);
        let read = async |status: &str| {
            reads.set(reads.get() + 1);
            Ok(if status == "queued" { vec![of_ann(&reads.get().to_string())] } else { Vec::new() })
        };
        assert_eq!(live(read).await.unwrap().len(), PASSES);
    }
}
