//! Ids as people type them: whole, or by an end that is unique, as a narrow list shows it.

use ledger::Ledger;
use operations::{IdKind, Operations};
use records::UserId;

use crate::exit::Exit;

/// So many candidates are named.
const NAMED: i64 = 6;

/// The id that is `typed`, or that alone begins or ends so; what finds nothing is returned as it is, and what it was for
/// says that it is not there.
///
/// # Errors
/// When several ids begin or end so, or the database does not answer.
pub(crate) async fn whole(
    ledger: &Ledger,
    kind: IdKind,
    user: Option<&UserId>,
    typed: &str,
) -> anyhow::Result<String> {
    let text = typed.trim_matches('…');
    let found = Operations::new(ledger).find_ids(Some(kind), user, text, NAMED + 1).await?;
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

/// The user that is meant.
///
/// # Errors
/// As [`whole`].
pub(crate) async fn user(ledger: &Ledger, typed: &str) -> anyhow::Result<UserId> {
    Ok(UserId::new(whole(ledger, IdKind::User, None, typed).await?))
}

/// The user that is meant, where one is.
///
/// # Errors
/// As [`whole`].
pub(crate) async fn any_user(ledger: &Ledger, typed: Option<&str>) -> anyhow::Result<Option<UserId>> {
    match typed {
        Some(typed) => user(ledger, typed).await.map(Some),
        None => Ok(None),
    }
}
