//! Live updates of pages: scripts, and the parts that are sent.

use axum::http::{StatusCode, header};
use ledger::OperatorAction;
use operations::Operations;

use super::world::{Answer, SAID, Who, World};

#[tokio::test]
async fn scripts_have_content_hashed_names_and_are_cached() {
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
async fn live_update_sends_the_changed_part_only() {
    let world = World::with_keys().await;
    let job = world.dead("c").await;
    let action = OperatorAction::new("<i>olga</i>", "why not");
    Operations::new(&world.ledger).pause(job::Queue::Creation, &action).await.unwrap();
    let (olga, ron) = (world.cookie("olga's").await, world.cookie("ron's").await);
    let ron = Who { cookie: &ron, ..Who::default() };
    for (path, words) in [
        ("/console".to_owned(), "dead letters wait for an operator"),
        ("/console/jobs?status=dead_letter".to_owned(), job.as_str()),
        (format!("/console/jobs/{job}"), "invalid_job"),
        ("/console/replays".to_owned(), "No bulk replay yet"),
        ("/console/sessions".to_owned(), "There are no live conversations"),
        ("/console/webhooks".to_owned(), "No endpoint fails"),
    ] {
        let part = world.part(&path, None, ron).await;
        assert_eq!(part.status, StatusCode::OK, "{path}");
        assert!(part.text.contains(words) && !part.text.contains("<html"), "{path}: {}", part.text);
        assert!(!part.text.contains("…</a>") && !part.text.contains(SAID), "{path}: {}", part.text);
        assert!(!part.text.contains("<i>olga") && !part.text.contains("<script"), "{path}: {}", part.text);
        // What was a second ago when it was read may be two by now, where the machine is slow: then the newest is asked about.
        let mut shown = part;
        let mut again = world.part(&path, Some(digest(&shown)), ron).await;
        for _ in 0..10 {
            if again.status == StatusCode::NOT_MODIFIED {
                break;
            }
            shown = again;
            again = world.part(&path, Some(digest(&shown)), ron).await;
        }
        assert_eq!((again.status, again.text.as_str()), (StatusCode::NOT_MODIFIED, ""), "{path}");
    }
    let part = world.part("/console", None, Who { cookie: &olga, ..Who::default() }).await;
    assert!(part.text.contains("Resume…"), "an operator sees what they may do: {}", part.text);
}

fn digest(part: &Answer) -> &str {
    part.headers[header::ETAG].to_str().unwrap()
}

#[tokio::test]
async fn live_update_without_a_session_is_401_and_unknown_paths_404() {
    let world = World::with_keys().await;
    for path in ["", "/jobs", "/jobs/x", "/replays", "/replays/x", "/webhooks", "/webhooks/endpoint"] {
        let answer = world.part(&format!("/console{path}"), None, Who::default()).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
    }
    let cookie = world.cookie("ron's").await;
    let ron = Who { cookie: &cookie, ..Who::default() };
    for path in ["jobs/fj_0", "replays/none", "webhooks/delivery?user=a&endpoint=b&delivery=c"] {
        let answer = world.part(&format!("/console/{path}"), None, ron).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
    }
}
