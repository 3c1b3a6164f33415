//! Ids as people type them: whole, or by an end that is unique, as a narrow list shows it.

use std::collections::HashSet;

use futures::future::join_all;
use job::JobId;
use ledger::{Ledger, Shards};
use operations::{IdKind, Operations};
use records::UserId;

use super::table::{CommonArgs, there};
use crate::exit::{Exit, of_shard};

/// So many candidates are named.
const NAMED: i64 = 6;
/// So many characters of a job's id are those of one job alone: shards that do not answer need not be asked, too.
const UNMISTAKABLE: usize = 12;

/// The shard in which `typed` is meant, once it has answered: the one of `--shard`, or the only one; else where that user or job
/// belongs, or the only shard in which an id of that kind begins or ends so.
///
/// # Errors
/// When several shards have such an id, or one does not answer that would have to be asked: none has the whole id, or at least
/// [`UNMISTAKABLE`] characters of a job's.
pub(crate) async fn place(common: &CommonArgs, kind: IdKind, typed: &str) -> anyhow::Result<Operations> {
    let shards = common.shards()?;
    let chosen = common.chosen_of(&shards)?;
    match chosen.as_slice() {
        [only] => there(only).await,
        _ => place_among(&shards, kind, typed, &mut HashSet::new()).await,
    }
}

/// `answered` are the numbers of the shards whose servers have answered before.
async fn place_among(
    shards: &Shards,
    kind: IdKind,
    typed: &str,
    answered: &mut HashSet<u16>,
) -> anyhow::Result<Operations> {
    let text = typed.trim_matches('…');
    let own = Operations::new(match kind {
        IdKind::Job => shards.of_job(&JobId::from_text(text)),
        _ => shards.of_user(&UserId::new(text)),
    });
    let has = async |operations: &Operations| {
        let found = operations.find_ids(Some(kind), None, text, NAMED).await;
        found.map(|ids| (ids.iter().any(|found| found.id == text), !ids.is_empty()))
    };
    if kind == IdKind::User || kind == IdKind::Job && text.starts_with("fj_") {
        if answered.insert(own.db().shard().number) {
            there(&own).await?;
        }
        if has(&own).await?.0 {
            return Ok(own);
        }
    }
    let all: Vec<Operations> = shards.iter().map(Operations::new).collect();
    let (answers, mut found, mut failure) = (join_all(all.iter().map(has)).await, Vec::new(), None);
    for (operations, has) in all.into_iter().zip(answers) {
        match has {
            Ok((true, _)) => return Ok(operations),
            Ok((false, true)) => found.push(operations),
            Ok((false, false)) => {}
            Err(error) => failure = failure.or(Some(of_shard(error.into(), operations.db().shard()))),
        }
    }
    let is_unmistakable = kind == IdKind::Job && text.len() >= UNMISTAKABLE;
    if let Some(failure) = failure
        && !(is_unmistakable && found.len() == 1)
    {
        return Err(failure);
    }
    match (found.pop(), found.is_empty()) {
        (None, _) => Ok(own),
        (Some(one), true) => Ok(one),
        _ => Err(Exit::Usage(format!("{text} is not unique: ids of several shards begin or end so")).into()),
    }
}

/// The shard in which `typed` is meant, and the whole id.
pub(crate) async fn find(
    common: &CommonArgs,
    kind: IdKind,
    typed: &str,
) -> anyhow::Result<(Operations, String)> {
    let operations = place(common, kind, typed).await?;
    let id = whole(&operations, kind, None, typed).await?;
    Ok((operations, id))
}

/// The same of a user who is looked at, perhaps by an end of their id.
pub(crate) async fn find_user(common: &CommonArgs, typed: &str) -> anyhow::Result<(Operations, UserId)> {
    let (operations, id) = find(common, IdKind::User, typed).await?;
    Ok((operations, UserId::new(id)))
}

/// The same of a user for whom something is changed, who is named by the whole id.
pub(crate) async fn place_user(common: &CommonArgs, id: String) -> anyhow::Result<(Operations, UserId)> {
    Ok((place(common, IdKind::User, &id).await?, UserId::new(id)))
}

/// The same with something of that user's, whose id is `typed`.
pub(crate) async fn place_of_user(
    common: &CommonArgs,
    user: String,
    kind: IdKind,
    typed: &str,
) -> anyhow::Result<(Operations, UserId, String)> {
    let (operations, user) = place_user(common, user).await?;
    let id = whole(&operations, kind, Some(&user), typed).await?;
    Ok((operations, user, id))
}

/// The jobs that are named, each by its whole id and with its shard, as [`place`] finds it.
pub(crate) async fn jobs(common: &CommonArgs, typed: &[String]) -> anyhow::Result<Vec<(Operations, String)>> {
    let shards = common.shards()?;
    let chosen = common.chosen_of(&shards)?;
    let only = match chosen.as_slice() {
        [only] => Some(there(only).await?),
        _ => None,
    };
    let (mut found, mut answered) = (Vec::new(), HashSet::new());
    for id in typed {
        let operations = match &only {
            Some(only) => only.clone(),
            None => place_among(&shards, IdKind::Job, id, &mut answered).await?,
        };
        let id = whole(&operations, IdKind::Job, None, id).await?;
        found.push((operations, id));
    }
    Ok(found)
}

/// The shards that an order goes through: that of the user who is named by their whole id; else that of `--shard`, or all.
pub(crate) async fn shards_of(common: &CommonArgs, user: Option<&str>) -> anyhow::Result<Vec<Operations>> {
    let Some(user) = user else { return common.chosen() };
    let shard = place(common, IdKind::User, user).await?;
    must_exist(&shard, &UserId::new(user)).await?;
    Ok(vec![shard])
}

/// The shards that a list goes through, and the user who is named, perhaps by an end of their id.
pub(crate) async fn shards_and_user(
    common: &CommonArgs,
    typed: Option<&str>,
) -> anyhow::Result<(Vec<Operations>, Option<UserId>)> {
    let Some(typed) = typed else { return Ok((common.chosen()?, None)) };
    let (shard, user) = find_user(common, typed).await?;
    must_exist(&shard, &user).await?;
    Ok((vec![shard], Some(user)))
}

/// The id that is `typed`, or that alone begins or ends so; what finds nothing is returned as it is, and what it was for
/// says that it is not there.
pub(crate) async fn whole(
    operations: &Operations,
    kind: IdKind,
    user: Option<&UserId>,
    typed: &str,
) -> anyhow::Result<String> {
    let text = typed.trim_matches('…');
    let found = operations.find_ids(Some(kind), user, text, NAMED + 1).await?;
    let mut ids: Vec<String> = found.into_iter().map(|found| found.id).collect();
    ids.dedup();
    match ids.as_slice() {
        [] => Ok(text.to_owned()),
        [id] => Ok(id.clone()),
        ids => {
            let more = if ids.len() > NAMED as usize { ", …" } else { "" };
            let named: Vec<&str> = ids.iter().take(NAMED as usize).map(String::as_str).collect();
            let words = format!("{text} is not unique, type more of it: {}{more}", named.join(", "));
            Err(Exit::Usage(words).into())
        }
    }
}

/// Fails unless the user exists.
pub(super) async fn must_exist(ledger: &Ledger, user: &UserId) -> anyhow::Result<()> {
    ledger.store().user(user).await?.map(drop).ok_or_else(|| no_such_user(user).into())
}

/// The error for a user who does not exist.
pub(super) fn no_such_user(user: &UserId) -> Exit {
    Exit::NotFound(format!("there is no user {user}"))
}
