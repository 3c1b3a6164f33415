//! Lists of keys and endpoints, and escaping of texts that users chose.

use crate::binary::{ends, printed};
use crate::world::World;

/// The words of the row that has `name` in its second column.
fn row<'a>(table: &'a str, name: &str) -> Vec<&'a str> {
    let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.find(|row| row.get(1) == Some(&name)).unwrap_or_else(|| panic!("no row {name}: {table}"))
}

#[tokio::test]
async fn key_list_shows_all_for_a_key_with_every_scope() {
    let world = World::new().await;
    let words = ["keys", "create", "--user", "u1", "--scopes", "conversations:read", "--name", "reader"];
    printed(&world.url, &words);

    let shown = printed(&world.url, &["keys", "list", "--user", "u1"]);

    let ends_with = |words: &str| shown.lines().filter(|line| line.trim_end().ends_with(words)).count();
    assert_eq!((ends_with(" all"), ends_with(" conversations:read")), (1, 1), "{shown}");
    assert!(!shown.contains(world.key()), "a key is told once");
}

#[tokio::test]
async fn key_list_shows_live_keys_until_expiry_or_revocation() {
    let world = World::new().await;
    for name in ["lasting", "passing", "expired", "revoked", "both"] {
        printed(&world.url, &["keys", "create", "--user", "u1", "--name", name]);
    }
    world
        .run(
            "update developer_keys set expires_at = '2100-01-01T00:00:00Z' where name = 'passing'; \
             update developer_keys set expires_at = '2020-01-01T00:00:00Z' where name in ('expired', 'both'); \
             update developer_keys set revoked_at = now() where name in ('revoked', 'both')",
        )
        .await;

    let shown = printed(&world.url, &["keys", "list", "--user", "u1"]);

    // The columns are: id, name, key, state, expires, last used, scopes.
    for (name, state, expires) in [
        ("lasting", "live", "never"),
        ("passing", "live", "in"),
        ("expired", "expired", "d"),
        ("revoked", "revoked", "never"),
        ("both", "revoked", "d"),
    ] {
        let row = row(&shown, name);
        assert!(row[3] == state && row[4].ends_with(expires), "{name}: {shown}");
    }
}

#[tokio::test]
async fn webhook_list_distinguishes_no_endpoints_from_none_failing() {
    let world = World::new().await;
    let lists = |words: &[&str]| ends(&world.url, &[&["webhooks", "list"], words].concat());
    let none = (Some(0), String::new());
    let (code, shown, said) = lists(&["--user", "u1"]);
    assert_eq!(((code, shown), said.as_str()), (none.clone(), "the user has no endpoints\n"));
    let (code, shown, said) = lists(&[]);
    assert_eq!((code, shown), none);
    assert_eq!(said, "no endpoint fails or is slow, and none was disabled because it failed\n");
    let document: serde_json::Value =
        serde_json::from_str(&lists(&["--user", "u1", "--json"]).1).expect("a document");
    assert_eq!(document, serde_json::json!({ "endpoints": [], "next": null }));
}

#[tokio::test]
async fn key_list_escapes_control_characters_in_names() {
    let world = World::new().await;
    printed(&world.url, &["keys", "create", "--user", "u1", "--name", "old"]);
    // As older versions took it.
    world.run("update developer_keys set name = e'a\\x1b[2Jb\\rc\\nd' where name = 'old'").await;

    let shown = printed(&world.url, &["keys", "list", "--user", "u1"]);

    assert!(shown.contains("a\u{fffd}[2Jb\u{fffd}c\u{fffd}d"), "{shown:?}");
    assert!(!shown.contains(['\u{1b}', '\r']), "{shown:?}");
    assert_eq!(shown.lines().count(), 3, "the headings and two keys: {shown:?}");
    let document = printed(&world.url, &["keys", "list", "--user", "u1", "--json"]);
    assert!(document.contains(r"a\u001b[2Jb\rc\nd"), "a document says what is there: {document}");
}
