//! Folder commands.

use serde_json::Value;

use crate::binary::{command, printed};
use crate::world::World;

fn folders(world: &World) -> Vec<Value> {
    let page: Value =
        serde_json::from_str(&printed(&world.url, &["folders", "list", "--user", "u1", "--json"]))
            .expect("a document");
    page["folders"].as_array().expect("an array").clone()
}

/// The exit code, and the first line of the complaint.
fn refused(world: &World, words: &[&str]) -> (i32, String) {
    let output = command(&world.url, words);
    let complaint = String::from_utf8_lossy(&output.stderr);
    let first = complaint.lines().next().unwrap_or_default().to_owned();
    (output.status.code().expect("an exit code"), first)
}

#[tokio::test]
async fn folders_are_created_updated_and_deleted_by_commands() {
    let world = World::new().await;
    let id = printed(
        &world.url,
        &["folders", "create", "--user", "u1", "House", "--description", "Repairs", "--color", "3b82f6"],
    );
    let made = folders(&world);
    let names: Vec<&str> = made.iter().filter_map(|folder| folder["name"].as_str()).collect();
    assert_eq!(names, ["Work", "Personal", "Social", "House"]);
    assert_eq!((&made[3]["id"], &made[3]["color"]), (&Value::from(id.as_str()), &Value::from("#3B82F6")));

    let words = ["folders", "update", "--user", "u1", &id, "--order", "0", "--no-description", "--json"];
    let changed: Value = serde_json::from_str(&printed(&world.url, &words)).expect("a folder");
    assert_eq!((&changed["order"], &changed["description"]), (&Value::from(0), &Value::Null));

    let words = ["folders", "delete", "--user", "u1", &id, "--json"];
    let deleted: Value = serde_json::from_str(&printed(&world.url, &words)).expect("an object");
    assert_eq!((&deleted["deleted"], &deleted["conversations_taken_out"]), (&true.into(), &0.into()));
    assert_eq!(folders(&world).len(), 3);
}

#[tokio::test]
async fn folder_command_failures_have_their_exit_codes() {
    let world = World::new().await;
    let work = folders(&world)[0]["id"].as_str().expect("an id").to_owned();
    for (words, code) in [
        (&["folders", "list", "--user", "nobody"][..], 3),
        (&["folders", "create", "--user", "nobody", "House"], 3),
        (&["folders", "update", "--user", "u1", "none", "--name", "House"], 3),
        (&["folders", "delete", "--user", "u1", "none"], 3),
        (&["folders", "delete", "--user", "u1", &work], 4),
        (&["folders", "update", "--user", "u1", &work], 2),
        (&["folders", "create", "--user", "u1", ""], 2),
        (&["folders", "create", "--user", "u1", "House", "--color", "blue"], 2),
    ] {
        let (ended, complaint) = refused(&world, words);
        assert_eq!(ended, code, "{words:?}: {complaint}");
        assert!(complaint.starts_with("error:"), "{complaint}");
    }
    assert_eq!(folders(&world).len(), 3);
}
