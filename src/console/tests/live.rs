//! Pages that refresh by themselves: what they load, and which events they get.

use axum::http::{StatusCode, header};
use ledger::OperatorAction;
use operations::Operations;

use super::world::{SAID, Who, World};

/// The first event of a listener.
async fn first(world: &World, path: &str, who: Who<'_>) -> String {
    let heard = world.listen(path, who).await;
    heard.into_iter().filter_map(|line| line.strip_prefix("data: ").map(str::to_owned)).collect()
}

#[tokio::test]
async fn scripts_are_ours_named_by_their_content_and_kept() {
    let world = World::with_keys().await;
    let cookie = world.cookie("ron's").await;
    let page = world.get("/console", Who { cookie: &cookie, ..Who::default() }).await;
    let policy = page.headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
    let (_, nonce) = policy.split_once("script-src 'nonce-").unwrap();
    let nonce = nonce.split('\'').next().unwrap();
    assert!(policy.contains("require-trusted-types-for 'script'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(page.text.matches("<script").count(), 1);
    let (_, script) = page.text.split_once("<script src=\"").unwrap();
    assert!(script.contains(&format!("nonce=\"{nonce}\" defer></script>")), "it has no text of its own");
    let address = script.split('"').next().unwrap();
    let file = world.get(address, Who::default()).await;
    assert_eq!(file.status, StatusCode::OK);
    assert!(file.headers[header::CACHE_CONTROL].to_str().unwrap().contains("immutable"));
    assert_eq!(file.headers[header::CONTENT_TYPE], "text/javascript; charset=utf-8");

    let again = world.get("/console", Who { cookie: &cookie, ..Who::default() }).await;
    assert!(!again.text.contains(nonce), "every answer has a nonce of its own");
    assert!(again.text.contains(address), "and the same files");
    let other = world.get("/console/assets/live.0000000000000000.js", Who::default()).await;
    assert_eq!(other.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn who_listens_is_told_what_the_page_shows_to_them() {
    let world = World::with_keys().await;
    let job = world.dead("c").await;
    let action = OperatorAction { operator: "<i>olga</i>".into(), reason: "why not".into() };
    Operations::new(&world.ledger).pause(job::Queue::Creation, &action).await.unwrap();
    let (olga, ron) = (world.cookie("olga's").await, world.cookie("ron's").await);
    for (path, words) in [
        ("/console/live/overview".to_owned(), "dead letters wait for an operator"),
        ("/console/live/jobs?status=dead_letter".to_owned(), job.as_str()),
        (format!("/console/live/jobs/{job}"), "invalid_job"),
        ("/console/live/replays".to_owned(), "No bulk replay was ever begun"),
        ("/console/live/webhooks".to_owned(), "None fails, and none was disabled"),
    ] {
        let text = first(&world, &path, Who { cookie: &ron, ..Who::default() }).await;
        assert!(text.contains(words), "{path}: {text}");
        assert!(
            !text.contains("…</a>") && !text.contains(SAID) && !text.contains("<i>olga"),
            "{path}: {text}"
        );
        assert!(
            !text.contains("hx-") && !text.contains("<script"),
            "{path} brings nothing that acts: {text}"
        );
    }
    let text = first(&world, "/console/live/overview", Who { cookie: &olga, ..Who::default() }).await;
    assert!(text.contains("Resume…"), "an operator sees what they may do: {text}");
}

#[tokio::test]
async fn who_is_nobody_hears_nothing_and_what_is_not_there_is_gone() {
    let world = World::with_keys().await;
    for path in ["overview", "jobs", "jobs/x", "replays", "replays/x", "webhooks", "webhooks/endpoint"] {
        let answer = world.get(&format!("/console/live/{path}"), Who::default()).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
    }
    let cookie = world.cookie("ron's").await;
    let ron = Who { cookie: &cookie, ..Who::default() };
    for path in ["jobs/fj_0", "replays/none", "webhooks/delivery?user=a&endpoint=b&delivery=c"] {
        let answer = world.get(&format!("/console/live/{path}"), ron).await;
        assert!(answer.text.contains("event: gone"), "{path} ends by itself: {}", answer.text);
    }
}
