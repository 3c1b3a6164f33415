//! What operators do with users: find ids by a prefix or suffix, list users, export one user.

use std::collections::BTreeSet;

use operations::{ActionFilter, IdKind};
use records::UserId;

use crate::{
    constraints::rows::SEED,
    world::{World, olga},
};

#[tokio::test]
async fn find_ids_matches_whole_ids_prefixes_and_suffixes() {
    let world = World::new().await;
    let operations = world.operations();
    for id in ["abcd-1111", "abcd-2222"] {
        world.conversation(&world.ann, id, "completed", 0).await;
    }
    let found = async |user, text: &str| {
        let found = operations.find_ids(Some(IdKind::Conversation), user, text, 9).await.unwrap();
        found.into_iter().map(|found| found.id).collect::<Vec<_>>()
    };
    assert_eq!(found(None, "abcd-1111").await, ["abcd-1111"]);
    assert_eq!(found(None, "1111").await, ["abcd-1111"]);
    assert_eq!(found(None, "abcd").await, ["abcd-1111", "abcd-2222"]);
    for nothing in ["", "111", "bcd-", "%", "____", "abcd-3333"] {
        assert_eq!(found(None, nothing).await, Vec::<String>::new(), "{nothing}");
    }
    assert_eq!(found(Some(&world.bob), "1111").await, Vec::<String>::new(), "it is ann's");
    let of_any = operations.find_ids(None, None, "bob", 9).await.unwrap();
    assert_eq!((of_any[0].kind, of_any[0].id.as_str()), (IdKind::User, "bob"));
}

#[tokio::test]
async fn users_are_paged_without_their_names() {
    let world = World::new().await;
    let operations = world.operations();
    let first = operations.users(None, 1).await.unwrap();
    assert_eq!(first[0].user_id, "ann");
    let next = operations.users(Some("ann"), 9).await.unwrap();
    assert_eq!(next.iter().map(|user| user.user_id.as_str()).collect::<Vec<_>>(), ["bob"]);
    assert!(!format!("{first:?}").contains("ANN"));
}

#[tokio::test]
async fn export_user_has_all_tables_without_secrets_and_is_audited() {
    let world = World::new().await;
    let operations = world.operations();
    world.run(SEED).await;
    assert!(operations.begin_export(&world.ann, &olga()).await.unwrap());
    assert!(!operations.begin_export(&UserId::new("unknown"), &olga()).await.unwrap());

    let (mut tables, mut rows) = (BTreeSet::new(), Vec::new());
    let exported = operations.export_user(&world.ann, |table, row| {
        tables.insert(table);
        rows.push(row);
        Ok::<(), ()>(())
    });
    assert_eq!(exported.await.unwrap(), Ok(()));

    let counted = operations.user_rows(&world.ann).await.unwrap().unwrap();
    let derived = ["embeddings", "search_entries", "request_keys", "user_usage"];
    let expected: BTreeSet<&str> = counted
        .iter()
        .map(|(table, _)| *table)
        .chain(["users"])
        .filter(|table| !derived.contains(table))
        .collect();
    assert_eq!(tables, expected);
    for row in &rows {
        assert_eq!(row["user_id"], "ann", "{row}");
        let secrets = ["secret", "token", "key_sha256", "p256dh", "auth"];
        let is_secret = |column: &String| secrets.iter().any(|secret| column.ends_with(secret));
        assert!(!row.as_object().unwrap().keys().any(is_secret), "{row}");
    }
    let filter = ActionFilter { action: Some("export_user".into()), limit: 9, ..ActionFilter::default() };
    assert_eq!(operations.actions(&filter).await.unwrap().len(), 1);
}
