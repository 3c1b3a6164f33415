//! User commands: create, update, delete.

use rustix::process::Signal;

use crate::binary::{command, printed};
use crate::process::Process;
use crate::world::{GARDEN, World};

/// The exit code, and the complaint.
fn ends(world: &World, words: &[&str]) -> (Option<i32>, String) {
    let output = command(&world.url, words);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[tokio::test]
async fn invalid_person_name_is_refused_by_the_command() {
    let world = World::new().await;
    let (long, far) = ("a".repeat(101), "a".repeat(129));
    for words in [
        &["users", "set", "u1", "--name", ""][..],
        &["users", "set", "u1", "--name", &long],
        &["users", "create", "--name", &long],
        &["users", "create", "--id", ""],
        &["users", "create", "--id", &far],
        &["users", "create", "--id", "a\tb"],
        &["users", "create", "--id", ".."],
        &["keys", "create", "--user", "u1", "--name", &long],
        &["keys", "create", "--user", "u1", "--name", " "],
    ] {
        let (code, said) = ends(&world, words);
        assert_eq!(code, Some(2), "{words:?}: {said}");
    }
    assert_eq!(world.count("select count(*) from users").await, 1);
    assert_eq!(world.count("select count(*) from developer_keys").await, 1);
}

#[tokio::test]
async fn user_update_switches_off_the_last_app_and_an_unchanged_update_is_no_change() {
    let world = World::new().await;
    let apps = "select coalesce(array_length(apps, 1), 0)::bigint from users";
    assert_eq!(world.count(apps).await, 1);

    assert_eq!(ends(&world, &["users", "set", "u1", "--no-apps", "--apps", "minutes"]).0, Some(2));
    printed(&world.url, &["users", "set", "u1", "--no-apps"]);

    assert_eq!(world.count(apps).await, 0);
    let (code, said) = ends(&world, &["users", "set", "u1"]);
    assert!(code == Some(2) && said.contains("--no-apps"), "{code:?} {said}");
}

#[tokio::test]
async fn users_delete_erases_a_user_and_the_id_can_be_used_again() {
    let world = World::new().await;
    let mut process = Process::serve(&world.url, &[]).await;
    let client = world.client(&process);
    client.finished(&client.admit(GARDEN).await).await;
    let delete = ["users", "delete", "u1", "--reason", "the user asked for it", "--operator", "olga"];

    let (code, said) = ends(&world, &delete);
    assert!(code == Some(2) && said.contains("--yes"), "it asks: {code:?} {said}");
    let (code, said) = ends(&world, &["users", "delete", "nobody", "--yes", "--reason", "a mistake"]);
    assert!(code == Some(3) && said.contains("nobody"), "{code:?} {said}");
    printed(&world.url, &[&delete[..], &["--dry-run"]].concat());
    assert_eq!(world.count("select count(*) from conversations").await, 1);

    let document = printed(&world.url, &[&delete[..], &["--yes", "--json"]].concat());
    let document: serde_json::Value = serde_json::from_str(&document).expect("one document");
    assert_eq!(
        (&document["deleted"], &document["rows"]["conversations"]),
        (&true.into(), &1.into()),
        "{document}"
    );

    assert_eq!(world.count("select count(*) from users").await, 0);
    assert_eq!(world.count("select count(*) from conversations").await, 0);
    assert_eq!(ends(&world, &delete).0, Some(3), "it is gone");
    let audit = printed(&world.url, &["audit", "list", "--action", "delete_user"]);
    assert!(audit.contains("olga") && audit.contains("u1"), "{audit}");
    printed(&world.url, &["verify"]);
    printed(&world.url, &["users", "create", "--id", "u1"]);
    process.signal(Signal::TERM);
    process.ended().await;
}
