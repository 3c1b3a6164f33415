//! Apps created on the command line, and disabled apps.

use std::io::Write;

use mock_model::{Mock, Options};
use serde_json::{Value, json};
use testbed::AppServer;

use crate::binary::{command, printed};
use crate::process::Process;
use crate::world::{GARDEN, World};

const PROMPT: &str = "Name everything that has a roof.";

/// Makes an app for the user of the world; answers its id.
fn made(world: &World, words: &[&str]) -> String {
    let create = [&["apps", "create", "--json", "--user", "u1"], words].concat();
    let answer: Value = serde_json::from_str(&printed(&world.url, &create)).expect("a document");
    answer["app"].as_str().expect("an app has an id").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mcp_app_is_created_on_the_command_line_and_its_token_never_shown() {
    let (world, server) = (World::new().await, AppServer::start().await);
    let mut token = tempfile();
    writeln!(token.1, "t0ken-from-a-file").expect("the file can be written");
    let url = server.url("/mcp/json");
    let options =
        ["--mcp-url", &url, "--mcp-token-file", &token.0, "--allow-outgoing", "127.0.0.0/8", "Notes"];
    let id = tokio::task::block_in_place(|| made(&world, &options));
    let sent = server.take_received();
    assert!(!sent.is_empty(), "its tools were listed");
    for request in sent {
        assert_eq!(request.headers["authorization"], "Bearer t0ken-from-a-file");
    }
    let shown = printed(&world.url, &["apps", "show", &id]);
    assert!(shown.contains("add_note"), "{shown}");
    assert!(!shown.contains("t0ken"), "{shown}");

    let refused = server.url("/mcp/refuses");
    let options = ["--mcp-url", &refused, "--allow-outgoing", "127.0.0.0/8", "Other"];
    let create = [&["apps", "create", "--user", "u1"], &options[..]].concat();
    let output = tokio::task::block_in_place(|| command(&world.url, &create));
    assert_eq!(output.status.code(), Some(4));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("--mcp-url") && words.contains("refused to list its tools"), "{words}");
    assert!(!words.contains("sk-live"), "{words}");
    assert_eq!(world.count("select count(*) from apps").await, 1, "nothing was made of it");
}

#[tokio::test]
async fn prompt_apps_run_and_stop_while_apps_are_disabled() {
    let (world, model) = (World::new().await, Mock::start(Options::default()).await.expect("a port is free"));
    let id = made(&world, &["--summary-prompt", PROMPT, "Roofs"]);
    printed(&world.url, &["apps", "install", "--user", "u1", &id]);
    let base = model.base_url();
    let engine = [
        ("LISTEN_TEXT_ENGINE", "openai"),
        ("LISTEN_OPENAI_BASE_URL", base.as_str()),
        ("LISTEN_OPENAI_MODEL", "fake"),
    ];
    for (apps, is_followed) in [("private", true), ("off", false), ("private", true)] {
        model.forget();
        let settings = [engine.as_slice(), &[("LISTEN_APPS", apps)]].concat();
        let process = Process::serve(&world.url, &settings).await;
        let client = world.client(&process);
        let conversation = client.admit(GARDEN).await;
        assert_eq!(client.finished(&conversation).await["outcome"], "kept", "{apps}");
        let asked = model.calls().iter().any(|call| call.body.to_string().contains(PROMPT));
        assert_eq!(asked, is_followed, "the model was shown the prompt, LISTEN_APPS={apps}");
        let results = client.conversation(&conversation).await["apps_results"].clone();
        let of_the_app =
            results.as_array().expect("a list").iter().any(|result| result["app_id"] == json!(id));
        assert_eq!(of_the_app, is_followed, "LISTEN_APPS={apps}: {results}");
        process.kill().await;
    }
}

#[tokio::test]
async fn invalid_app_is_refused_on_the_command_line() {
    let world = World::new().await;
    let (long, prompt) = ("d".repeat(1_001), "p".repeat(4_001));
    let url = format!("https://apps.example/{}", "u".repeat(2_048));
    for (words, code) in [
        (["--description", &long], 2),
        (["--summary-prompt", &prompt], 2),
        (["--summary-prompt", "  "], 2),
        (["--webhook-url", &url], 2),
        (["--setup-completed-url", "http://10.0.0.1/"], 2),
        (["--visibility", "public"], 4),
        (["--apps", "off"], 4),
    ] {
        let create = [&["apps", "create", "--user", "u1", "Tasks"], &words[..]].concat();
        let output = command(&world.url, &create);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{}: {said}", words[0]);
    }
    assert_eq!(world.count("select count(*) from apps").await, 0);
    let asked = ["--setup-completed-url", "https://apps.example/done", "--apps", "public"];
    let public = ["--visibility", "public", "--description", "It notes", "--summary-prompt", "Note", "Tasks"];
    made(&world, &[&asked[..], &public[..]].concat());
    let kept = "select count(*) from apps where setup_completed_url = 'https://apps.example/done'";
    assert_eq!(world.count(kept).await, 1);
}

/// A file that goes away with the temporary folder of the test's process.
fn tempfile() -> (String, std::fs::File) {
    let path = std::env::temp_dir().join(format!("listen-mcp-token-{}", std::process::id()));
    let file = std::fs::File::create(&path).expect("a file can be made");
    (path.to_str().expect("its path is text").to_owned(), file)
}
