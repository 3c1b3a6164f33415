//! Pages: what they show, and what they never show.

use axum::http::StatusCode;
use job::Queue;
use ledger::{Answer, Operation, OperatorAction};
use operations::Operations;

use super::world::{SAID, Who, World};

#[tokio::test]
async fn pages_show_no_user_content_and_escape_markup() {
    let world = World::with_keys().await;
    let job = world.dead("c").await;
    world.admitted("d").await;
    let action = OperatorAction::new("<i>olga</i>", "<script>x</script>");
    let replay = Operation::Replay { from_scratch: false };
    let replayed = world.ledger.operate(&job, replay, &action).await.unwrap();
    assert!(matches!(replayed, Answer::Granted { .. }), "{replayed:?}");
    Operations::new(&world.ledger).pause(Queue::Creation, &action).await.unwrap();
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };
    for page in [
        "/console".to_owned(),
        "/console/jobs".to_owned(),
        "/console/jobs?user=%22%3E%3Cb%3E&generation=1".to_owned(),
        format!("/console/jobs/{job}"),
        "/console/audit?operator=%22%3E%3Cb%3E".to_owned(),
        "/console/audit".to_owned(),
        "/console/webhooks?user=%3Cb%3E".to_owned(),
    ] {
        let answer = world.get(&page, olga).await;
        assert_eq!(answer.status, StatusCode::OK, "{page}");
        assert!(!answer.text.contains(SAID) && !answer.text.contains("orchid"), "{page}");
        for markup in ["<i>olga", "<script>x", "\"><b>", "<b>w</b>"] {
            assert!(!answer.text.contains(markup), "{page} shows {markup}");
        }
    }
}

#[tokio::test]
async fn job_page_shows_timeline_reason_and_audit() {
    let world = World::with_keys().await;
    let (job, cookie) = (world.dead("c").await, world.cookie("ron's").await);
    let ron = Who { cookie: &cookie, ..Who::default() };
    let page = world.get(&format!("/console/jobs/{job}"), ron).await;
    for part in [
        "invalid_job",
        "guard: ",
        "<strong>claim</strong>",
        "<strong>fail</strong>",
        "/console/help/invalid_job",
        "ann",
    ] {
        assert!(page.text.contains(part), "{part} is missing: {}", page.text);
    }
    let none = world.get("/console/jobs/fj_0", ron).await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn job_is_found_by_the_end_of_its_id_and_several_are_listed() {
    let world = World::with_keys().await;
    let (job, other) = (world.admitted("conversation-1").await, world.admitted("conversation-2").await);
    let cookie = world.cookie("ron's").await;
    let ron = Who { cookie: &cookie, ..Who::default() };
    let end = &job.as_str()[job.as_str().len() - 10..];
    for (typed, leads_to) in [
        (job.as_str(), format!("/console/jobs/{job}")),
        (end, format!("/console/jobs/{job}")),
        ("conversation-2", format!("/console/jobs/{other}")),
        ("ation-2", format!("/console/jobs/{other}")),
        ("ann", "/console/jobs?user=ann".to_owned()),
    ] {
        let found = world.get(&format!("/console/find?id={typed}"), ron).await;
        assert_eq!((found.status, found.location()), (StatusCode::SEE_OTHER, &*leads_to), "{typed}");
    }
    let several = world.get("/console/find?id=conversation", ron).await;
    assert!(several.text.contains("conversation-1") && several.text.contains("conversation-2"));
    for nothing in ["gone-for-good", "on"] {
        let none = world.get(&format!("/console/find?id={nothing}"), ron).await;
        assert!(none.text.contains("Nothing has this id"), "{nothing}: {}", none.text);
    }
}

#[tokio::test]
async fn error_page_keeps_the_menu_and_every_page_the_version() {
    let world = World::with_keys().await;
    let cookie = world.cookie("ron's").await;
    let ron = Who { cookie: &cookie, ..Who::default() };
    for path in ["/console/jobs/fj_0", "/console/jobs?status=none", "/console/nothing", "/console"] {
        let page = world.get(path, ron).await;
        assert!(page.text.contains("<a href=\"/console/jobs\""), "{path} has its menu: {}", page.text);
        assert!(page.text.contains(&format!("listen {}", env!("CARGO_PKG_VERSION"))), "{path}");
        assert!(page.text.contains("href=\"https://boards.example\""), "{path}");
    }
    let login = world.get("/console/login", Who::default()).await;
    assert!(!login.text.contains("/console/jobs"), "{}", login.text);
}

#[tokio::test]
async fn status_tabs_have_counts_without_other_filters() {
    let world = World::with_keys().await;
    world.dead("c").await;
    world.admitted("d").await;
    world.admitted("e").await;
    let cookie = world.cookie("ron's").await;
    let ron = Who { cookie: &cookie, ..Who::default() };
    let page = world.get("/console/jobs?status=queued", ron).await.text;
    assert!(page.contains("status=queued\" aria-current=\"true\">queued <small>2</small>"), "{page}");
    assert!(
        page.contains(">dead letter <small>1</small>") && page.contains(">all <small>3</small>"),
        "{page}"
    );
    let filtered = world.get("/console/jobs?user=ann", ron).await.text;
    assert!(filtered.contains("user=ann\">dead letter</a>"), "{filtered}");
}

#[tokio::test]
async fn list_url_carries_filters_and_cursor() {
    let world = World::with_keys().await;
    for place in 0..51 {
        world.admitted(&format!("c{place}")).await;
    }
    let cookie = world.cookie("ron's").await;
    let ron = Who { cookie: &cookie, ..Who::default() };
    let first = world.get("/console/jobs?status=queued&user=ann", ron).await;
    assert_eq!(first.text.matches("<td data-name=\"Job\">").count(), 50);
    let (_, rest) = first.text.split_once("rel=\"next\" href=\"").unwrap();
    let next = rest.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&");
    assert!(next.contains("status=queued&user=ann&after="), "{next}");
    let second = world.get(&next, ron).await;
    assert_eq!(second.text.matches("<td data-name=\"Job\">").count(), 1);
    assert!(!second.text.contains("rel=\"next\""));
    for wrong in ["status=none", "code=none", "newer_than=soon", "after=x"] {
        let answer = world.get(&format!("/console/jobs?{wrong}"), ron).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{wrong}");
    }
}

#[tokio::test]
async fn notice_in_the_url_is_shown_in_fixed_words_only() {
    let world = World::with_keys().await;
    let cookie = world.cookie("ron's").await;
    let ron = Who { cookie: &cookie, ..Who::default() };
    let page = world.get("/console?done=Call+this+number", ron).await;
    assert!(!page.text.contains("Call this") && !page.text.contains("role=\"status\""));
    let other = world.get("/console/nothing/here", ron).await;
    assert_eq!(other.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn migration_under_the_console_costs_one_reload() {
    let world = World::with_keys().await;
    let page = format!("/console/jobs/{}", world.admitted("c").await);
    let cookie = world.cookie("ron's").await;
    let ron = Who { cookie: &cookie, ..Who::default() };
    let load = async || world.get(&page, ron).await.status;
    for _ in 0..8 {
        assert_eq!(load().await, StatusCode::OK);
    }
    world.run("alter table finalization_jobs add column added_later bigint").await;
    let mut refused = 0;
    for _ in 0..40 {
        refused += u32::from(load().await != StatusCode::OK);
    }
    assert_eq!(refused, 1);
}
