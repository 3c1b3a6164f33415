//! What a user may use up, and how much of it is used: `listen users set --limits`, `listen users show`.

use ledger::Ledger;
use records::{Budget, UserId};
use serde_json::{Value, json};
use store::{Budgets, LimitsChange, User, UserBudget};

use crate::commands::ids::no_such_user;
use crate::{
    commands::{
        stdout::say,
        table::{field, print_json},
    },
    config::Size,
};

/// One limit to be set; `None` gives it back to the service's setting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit(Budget, Option<i64>);

/// Reads `NAME=N`, `bytes=SIZE` or `NAME=default`.
pub(super) fn limit(text: &str) -> Result<Limit, String> {
    let named = text.split_once('=');
    let found = named.and_then(|(name, value)| Some((Budget::from_name(name)?, value)));
    let Some((budget, value)) = found else {
        return Err("a limit is conversations-per-day=N, bytes=SIZE or waiting-jobs=N".to_owned());
    };
    if value == "default" {
        return Ok(Limit(budget, None));
    }
    let number = match budget {
        Budget::Bytes => {
            let size: Size = value.parse().map_err(|error| format!("{error}"))?;
            i64::try_from(size.bytes()).ok()
        }
        _ => value.parse().ok().filter(|number| *number >= 0),
    };
    let number = number.ok_or_else(|| format!("{} takes a whole number, or `default`", budget.as_str()))?;
    Ok(Limit(budget, Some(number)))
}

/// The change that sets these; of two of one name, the last counts.
pub(super) fn change(limits: &[Limit]) -> LimitsChange {
    let mut change = LimitsChange::default();
    for Limit(budget, value) in limits {
        let place = match budget {
            Budget::ConversationsPerDay => &mut change.conversations_per_day,
            Budget::Bytes => &mut change.bytes,
            Budget::WaitingJobs => &mut change.waiting_jobs,
        };
        *place = Some(*value);
    }
    change
}

/// Prints one user. Limits that are not the user's own are settings of the service, which this command does not know.
pub(super) async fn show(ledger: &Ledger, id: &UserId, is_json: bool) -> anyhow::Result<()> {
    let (Some(user), Some(budget)) = (ledger.store().user(id).await?, ledger.store().user_budget(id).await?)
    else {
        return Err(no_such_user(id).into());
    };
    match is_json {
        true => print_json(&to_json(&user, &budget)),
        false => print(&user, &budget),
    }
}

fn to_json(user: &User, budget: &UserBudget) -> Value {
    let own = &budget.own;
    json!({
        "id": user.id.as_str(), "time_zone": user.time_zone, "language": user.language,
        "requires_byok": user.requires_byok, "apps": user.apps,
        "limits": {
            "conversations_per_day": own.conversations_per_day, "bytes": own.bytes, "waiting_jobs": own.waiting_jobs,
        },
        "used": {
            "conversations_today": budget.conversations_today, "bytes": budget.bytes,
            "waiting_jobs": budget.waiting_jobs,
        },
    })
}

/// Of which limit something is used.
fn of(own: Option<i64>) -> String {
    match own {
        None => "of the service's limit".to_owned(),
        Some(0) => "without limit".to_owned(),
        Some(limit) => format!("of {limit}"),
    }
}

fn of_bytes(own: Option<i64>) -> String {
    match own.and_then(|limit| usize::try_from(limit).ok()) {
        Some(limit) if limit > 0 => format!("of {}", Size::of(limit)),
        _ => of(own),
    }
}

fn print(user: &User, budget: &UserBudget) -> anyhow::Result<()> {
    say!("{}", user.id)?;
    field("time zone", &user.time_zone)?;
    field("own keys", if user.requires_byok { "required" } else { "not required" })?;
    field("apps", &if user.apps.is_empty() { "none".to_owned() } else { user.apps.join(", ") })?;
    let own = &budget.own;
    field(
        "conversations",
        &format!("{} today, {}", budget.conversations_today, of(own.conversations_per_day)),
    )?;
    field("bytes", &format!("{}, {}", budget.bytes, of_bytes(own.bytes)))?;
    field("waiting jobs", &format!("{}, {}", budget.waiting_jobs, of(own.waiting_jobs)))
}

/// The same in one line, against the limits of this process, for an operator's page.
pub(crate) fn words(budget: &UserBudget) -> String {
    let Budgets { conversations_per_day, bytes, waiting_jobs } = budget.limits;
    let of = |used: i64, limit: i64| match limit {
        0 => format!("{used}"),
        _ => format!("{used} of {limit}"),
    };
    let of_bytes = usize::try_from(bytes).ok().filter(|limit| *limit > 0);
    let of_bytes = of_bytes.map(|limit| format!(" of {}", Size::of(limit))).unwrap_or_default();
    format!(
        "{} conversations today, {} bytes{of_bytes}, {} jobs waiting",
        of(budget.conversations_today, conversations_per_day),
        budget.bytes,
        of(budget.waiting_jobs, waiting_jobs),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_of_bytes_is_shown_as_it_was_set() {
        let shown = |bytes| of_bytes(Some(bytes));
        assert_eq!((shown(2 << 30), shown(1_025)), ("of 2GiB".to_owned(), "of 1025B".to_owned()));
        assert_eq!((shown(0), of_bytes(None)), (of(Some(0)), of(None)));
    }

    #[test]
    fn limits_are_parsed_by_name_and_reset_by_default() {
        let read = |texts: &[&str]| {
            let limits: Result<Vec<Limit>, String> = texts.iter().map(|text| limit(text)).collect();
            limits.map(|limits| change(&limits))
        };
        let set = read(&["conversations-per-day=5", "bytes=2KiB", "waiting-jobs=0"]);
        let expected = LimitsChange {
            conversations_per_day: Some(Some(5)),
            bytes: Some(Some(2_048)),
            waiting_jobs: Some(Some(0)),
        };
        assert_eq!(set, Ok(expected));
        assert_eq!(
            read(&["bytes=default"]),
            Ok(LimitsChange { bytes: Some(None), ..LimitsChange::default() })
        );
        for wrong in [
            "bytes",
            "bytes=",
            "bytes=-1",
            "waiting-jobs=-1",
            "waiting-jobs=x",
            "conversations=5",
            "waiting-jobs=2KiB",
        ] {
            assert!(limit(wrong).is_err(), "{wrong}");
        }
    }
}
