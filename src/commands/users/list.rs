//! `listen users list`: who there is, without names.

use std::{cmp::Ordering, collections::HashMap};

use operations::{Operations, UserLine};
use records::Timestamp;
use serde_json::{Value, json};

use crate::{
    commands::{
        paging::Paging,
        table::{Column, List, id, word},
        times::{ago, time},
    },
    over_shards::merged,
};

/// Who, and whether anything about them is unusual.
pub(crate) const COLUMNS: [Column; 5] =
    [id("user", 0), word("age", 2), word("time zone", 4), word("own keys", 3), word("deleting since", 1)];

/// Prints a page, in the order of the ids.
pub(super) async fn run(shards: &[Operations], paging: &Paging, as_json: bool) -> anyhow::Result<()> {
    let read =
        |shard: Operations| async move { anyhow::Ok(shard.users(paging.id(), paging.limit + 1).await?) };
    let mut users = merged(shards, read, |_, _| Ordering::Equal).await?;
    if let Some(first) = users.first.as_ref().filter(|_| shards.len() > 1) {
        // The order of texts is the database's.
        let ids: Vec<String> = users.rows.iter().map(|user| user.user_id.clone()).collect();
        let ids = first.in_order(&ids).await?;
        let places: HashMap<&str, usize> = ids.iter().map(String::as_str).zip(0..).collect();
        users.rows.sort_by_key(|user| places.get(user.user_id.as_str()).copied());
    }
    let next = users.cut(paging.limit).map(|user| user.user_id.clone());
    let none = "no users; `listen users create` makes one";
    List { name: "users", none, columns: &COLUMNS, to_json, row }.print(&users, next.as_deref(), as_json)
}

fn to_json(user: &UserLine) -> Value {
    json!({
        "id": user.user_id, "time_zone": user.time_zone, "requires_byok": user.requires_byok,
        "deleting_since": user.deleting_since.map(time), "created_at": time(user.created_at),
    })
}

fn row(user: &UserLine, now: Timestamp) -> Vec<String> {
    vec![
        user.user_id.clone(),
        ago(user.created_at, now),
        user.time_zone.clone(),
        if user.requires_byok { "required" } else { "" }.to_owned(),
        user.deleting_since.map(|since| ago(since, now)).unwrap_or_default(),
    ]
}
