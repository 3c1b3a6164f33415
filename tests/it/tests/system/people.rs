//! People, as an operator makes and changes them.

use crate::binary::command;
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
