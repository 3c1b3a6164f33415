//! `listen users list`: who there is, without names.

use operations::Operations;
use serde_json::json;

use crate::commands::{
    paging::Paging,
    table::{self, Column, id, print_page, say_next, word},
    times::{ago, time},
};

/// Who, and whether anything about them is unusual.
pub(crate) const COLUMNS: [Column; 5] =
    [id("user", 0), word("age", 2), word("time zone", 4), word("own keys", 3), word("deleting since", 1)];

/// Prints a page, in the order of the ids.
pub(super) async fn run(operations: &Operations, paging: &Paging, as_json: bool) -> anyhow::Result<()> {
    let mut users = operations.users(paging.id(), paging.limit + 1).await?;
    let follows = i64::try_from(users.len()).is_ok_and(|rows| rows > paging.limit);
    if follows {
        users.pop();
    }
    let next = users.last().filter(|_| follows).map(|user| user.user_id.clone());
    if as_json {
        let items = users.iter().map(|user| {
            json!({
                "id": user.user_id, "time_zone": user.time_zone, "requires_byok": user.requires_byok,
                "deleting_since": user.deleting_since.map(time), "created_at": time(user.created_at),
            })
        });
        return print_page("users", items.collect(), next.as_deref());
    }
    if users.is_empty() {
        anstream::eprintln!("no users; `listen users create` makes one");
        return Ok(());
    }
    let now = operations.db().now().await?;
    let rows = users.into_iter().map(|user| {
        vec![
            user.user_id,
            ago(user.created_at, now),
            user.time_zone,
            if user.requires_byok { "required" } else { "" }.to_owned(),
            user.deleting_since.map(|since| ago(since, now)).unwrap_or_default(),
        ]
    });
    table::print(&COLUMNS, rows.collect())?;
    say_next(next.as_deref());
    Ok(())
}
