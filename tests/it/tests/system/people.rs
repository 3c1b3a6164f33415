//! People, as an operator makes and changes them.

use crate::binary::{command, told};
use crate::world::World;

/// The exit code, and the complaint.
fn ends(world: &World, words: &[&str]) -> (Option<i32>, String) {
    let output = command(&world.url, words);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[tokio::test]
async fn a_name_that_the_api_would_refuse_is_refused_here() {
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
async fn the_last_app_can_be_switched_off_and_a_change_of_nothing_is_none() {
    let world = World::new().await;
    let apps = "select coalesce(array_length(apps, 1), 0)::bigint from users";
    assert_eq!(world.count(apps).await, 1);

    assert_eq!(ends(&world, &["users", "set", "u1", "--no-apps", "--apps", "minutes"]).0, Some(2));
    told(&world.url, &["users", "set", "u1", "--no-apps"]);

    assert_eq!(world.count(apps).await, 0);
    let (code, said) = ends(&world, &["users", "set", "u1"]);
    assert!(code == Some(2) && said.contains("--no-apps"), "{code:?} {said}");
}
