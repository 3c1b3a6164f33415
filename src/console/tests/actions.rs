//! Operator actions: what they change, who may take them, and what is refused.

use axum::http::StatusCode;
use operations::{ActionFilter, Operations};

use super::world::{SECRET, Who, World};
use crate::console::session::Sessions;

#[tokio::test]
async fn operator_replays_a_dead_letter_with_a_reason() {
    let world = World::with_keys().await;
    let (job, cookie) = (world.dead("c").await, world.cookie("olga's").await);
    let olga = Who { cookie: &cookie, ..Who::default() };
    let path = format!("/console/jobs/{job}/replay");
    let form = world.get(&path, olga).await;

    let silent = world.post(&path, &[("token", form.token()), ("reason", " ")], olga).await;
    assert_eq!((silent.status, world.status(&job).await), (StatusCode::UNPROCESSABLE_ENTITY, "dead_letter"));
    let fields = [("token", form.token()), ("reason", "the cause is fixed")];
    let done = world.post(&path, &fields, olga).await;
    assert_eq!(done.location(), format!("/console/jobs/{job}?done=replayed"));
    assert_eq!(world.status(&job).await, "queued");
    let page = world.get(done.location(), olga).await;
    assert!(page.text.contains("Replayed. The job is queued again.") && page.text.contains("by olga"));

    let again = world.post(&path, &fields, olga).await;
    assert_eq!(again.status, StatusCode::CONFLICT, "it is no dead letter any more");
    let filter = ActionFilter { limit: 9, ..ActionFilter::default() };
    let actions = Operations::new(&world.ledger).actions(&filter).await.unwrap();
    assert_eq!(actions.len(), 1);
    assert_eq!((actions[0].operator.as_str(), actions[0].reason.as_str()), ("olga", "the cause is fixed"));
}

#[tokio::test]
async fn reason_has_3_to_500_characters() {
    let world = World::with_keys().await;
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };
    for (id, refused, taken) in
        [("c", "éé".to_owned(), "ééé".to_owned()), ("d", "é".repeat(501), "é".repeat(500))]
    {
        let job = world.dead(id).await;
        let path = format!("/console/jobs/{job}/replay");
        let form = world.get(&path, olga).await;
        let token = ("token", form.token());

        let answer = world.post(&path, &[token, ("reason", &refused)], olga).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{refused}: {}", answer.text);
        assert_eq!(world.status(&job).await, "dead_letter", "{refused}");
        let answer = world.post(&path, &[token, ("reason", &taken)], olga).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{taken}: {}", answer.text);
    }
}

#[tokio::test]
async fn form_without_a_valid_token_changes_nothing() {
    let world = World::with_keys().await;
    let job = world.dead("c").await;
    let (olga, other) = (world.cookie("olga's").await, world.cookie("ron's").await);
    let path = format!("/console/jobs/{job}/discard");
    let form = world.get(&path, Who { cookie: &olga, ..Who::default() }).await;
    let sent = |token: &str| {
        vec![("reason".to_owned(), "a test".to_owned()), ("token".to_owned(), token.to_owned())]
    };
    for (token, cookie) in [("", &olga), ("AAAA", &olga), (form.token(), &other)] {
        let fields = sent(token);
        let fields: Vec<(&str, &str)> =
            fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let answer = world.post(&path, &fields, Who { cookie, ..Who::default() }).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{token}");
    }
    let view = world.ledger.job(&job).await.unwrap().unwrap();
    assert_eq!(view.job.settled_at, None);
}

#[tokio::test]
async fn reader_sees_everything_and_no_actions() {
    let world = World::with_keys().await;
    let (job, cookie) = (world.dead("c").await, world.cookie("ron's").await);
    let ron = Who { cookie: &cookie, ..Who::default() };
    for page in ["", "/jobs?code=invalid_job", "/replays", "/webhooks", "/audit"] {
        let answer = world.get(&format!("/console{page}"), ron).await;
        assert_eq!(answer.status, StatusCode::OK, "{page}");
        for way in ["Replay…", "Replay what", "Pause…", "Dismiss…", "selected…", "Replay all"] {
            assert!(!answer.text.contains(way), "{page} offers {way}");
        }
    }
    let token = format!("/console/jobs/{job}/replay");
    assert!(!world.get(&token, ron).await.text.contains("name=\"token\""));
}

#[tokio::test]
async fn reader_with_a_valid_token_changes_nothing() {
    let world = World::with_keys().await;
    let (job, cookie) = (world.dead("c").await, world.cookie("ron's").await);
    let (_, visit) = cookie.split_once('=').unwrap();
    let token = Sessions::new(SECRET).token(visit);
    let fields = [("token", token.as_str()), ("reason", "a test")];
    let ron = Who { cookie: &cookie, ..Who::default() };
    let answer = world.post(&format!("/console/jobs/{job}/replay"), &fields, ron).await;
    assert_eq!((answer.status, world.status(&job).await), (StatusCode::FORBIDDEN, "dead_letter"));
    assert!(answer.text.contains("You may read, not act"), "{}", answer.text);
}

#[tokio::test]
async fn bulk_replay_is_reviewed_and_begins_once() {
    let world = World::with_keys().await;
    world.dead("a").await;
    world.dead("b").await;
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };
    let form = world.get("/console/replays/new?code=invalid_job&newer_than=1h", olga).await;
    assert!(form.text.contains("Replay 2 dead letters of 1 user?"), "{}", form.text);
    let nobody = "Not yet: no process works replays off: no living process has the role reconciler; start one \
                  (<code>listen serve --roles reconciler</code>";
    assert!(form.text.contains(nobody), "{}", form.text);
    let hidden = |name: &str| {
        let (_, rest) = form.text.split_once(&format!("name=\"{name}\" value=\"")).unwrap();
        rest.split('"').next().unwrap().replace("&#43;", "+").to_owned()
    };
    let (id, since) = (hidden("id"), hidden("since"));
    assert!(!since.is_empty(), "the age is a moment now");
    let fields = [
        ("token", form.token()),
        ("reason", "the cause is fixed"),
        ("id", id.as_str()),
        ("code", "invalid_job"),
        ("since", since.as_str()),
        ("per_minute", "60"),
        ("in_flight", "2"),
    ];
    for _ in 0..2 {
        let begun = world.post("/console/replays", &fields, olga).await;
        assert_eq!(begun.location(), format!("/console/replays/{id}?done=started"), "{}", begun.text);
    }
    let operations = Operations::new(&world.ledger).replay_operations(9).await.unwrap();
    assert_eq!(operations.len(), 1);
    assert_eq!((operations[0].items, operations[0].per_minute, operations[0].in_flight), (2, 60, 2));
    let page = world.get(&format!("/console/replays/{id}"), olga).await;
    assert!(page.text.contains("Pause…") && page.text.contains("the cause is fixed"));

    let path = format!("/console/replays/{id}/cancel");
    let ask = world.get(&path, olga).await;
    let done = world.post(&path, &[("token", ask.token()), ("reason", "not today")], olga).await;
    assert_eq!(done.location(), format!("/console/replays/{id}?done=cancelled"));
    let refused = world.post(&path, &[("token", ask.token()), ("reason", "not today")], olga).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
}

/// Another operator was faster.
#[tokio::test]
async fn bulk_replay_of_what_is_left_no_more_is_a_page_that_says_so() {
    let world = World::with_keys().await;
    world.dead("c").await;
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };
    let form = world.get("/console/replays/new?code=invalid_job", olga).await;
    world.run("update finalization_jobs set settled_at = now()").await;
    let fields = [
        ("token", form.token()),
        ("reason", "a test"),
        ("id", "6f1c2f34-6f3c-4d0e-9f6e-0b6f5f3b8a11"),
        ("code", "invalid_job"),
        ("per_minute", "60"),
        ("in_flight", "1"),
    ];
    let sent = world.post("/console/replays", &fields, olga).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.text);
    let page = world.get(sent.location(), olga).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text.contains("Nothing is left to be replayed."), "{}", page.text);
    assert!(Operations::new(&world.ledger).replay_operations(9).await.unwrap().is_empty());
}

#[tokio::test]
async fn bulk_replay_without_a_valid_rate_does_not_begin() {
    let world = World::with_keys().await;
    world.dead("c").await;
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };
    let form = world.get("/console/replays/new?code=invalid_job", olga).await;
    let begin = async |per_minute: &str, in_flight: &str| {
        let fields = [
            ("token", form.token()),
            ("reason", "a test"),
            ("id", "6f1c2f34-6f3c-4d0e-9f6e-0b6f5f3b8a11"),
            ("code", "invalid_job"),
            ("per_minute", per_minute),
            ("in_flight", in_flight),
        ];
        world.post("/console/replays", &fields, olga).await
    };
    for (per_minute, in_flight) in [("0", "1"), ("60001", "1"), ("1", "0"), ("1", "10001")] {
        let answer = begin(per_minute, in_flight).await;
        assert_eq!(
            answer.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{per_minute} {in_flight}: {}",
            answer.text
        );
    }
    assert!(Operations::new(&world.ledger).replay_operations(9).await.unwrap().is_empty());
    assert_eq!(begin("60000", "10000").await.status, StatusCode::SEE_OTHER);
}

/// A commit whose answer was lost looks from here as one that never was.
#[tokio::test]
async fn unanswered_action_is_not_reported_as_unchanged() {
    let world = World::with_keys().await;
    let (job, cookie) = (world.dead("c").await, world.cookie("olga's").await);
    let olga = Who { cookie: &cookie, ..Who::default() };
    let form = world.get(&format!("/console/jobs/{job}/discard"), olga).await;
    world.ledger.db().close().await;
    let read = world.get("/console/jobs", olga).await;
    assert_eq!(read.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(read.text.contains("Nothing was changed"), "{}", read.text);
    let fields = [
        ("token", form.token()),
        ("reason", "a test"),
        ("user", "ann"),
        ("endpoint", "w"),
        ("delivery", "d"),
        ("age", "1d"),
        ("id", "6f1c2f34-6f3c-4d0e-9f6e-0b6f5f3b8a11"),
        ("per_minute", "60"),
        ("in_flight", "2"),
        ("act", "dismiss"),
        ("jobs", "fj_1"),
    ];
    for act in [
        format!("/jobs/{job}/replay"),
        format!("/jobs/{job}/discard"),
        "/jobs/selected".to_owned(),
        "/queues/creation/pause".to_owned(),
        "/replays".to_owned(),
        "/replays/x/pause".to_owned(),
        "/webhooks/redeliver".to_owned(),
        "/webhooks/enable".to_owned(),
        "/webhooks/recover".to_owned(),
    ] {
        let answer = world.post(&format!("/console{act}"), &fields, olga).await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{act}: {}", answer.text);
        let (may, not) = (answer.text.contains("may have been done"), answer.text.contains("Nothing was"));
        assert_eq!((may, not), (true, false), "{act}: {}", answer.text);
    }
}

#[tokio::test]
async fn selected_jobs_are_discarded_together_and_each_refusal_is_named() {
    let world = World::with_keys().await;
    let (one, other, queued) = (world.dead("a").await, world.dead("b").await, world.admitted("c").await);
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };
    let path = format!("/console/jobs/selected?act=dismiss&job={one}&job={other}&job={queued}");
    let form = world.get(&path, olga).await;
    assert!(form.text.contains("Dismiss 3 jobs?") && form.text.contains(one.as_str()), "{}", form.text);
    let jobs = format!("{one} {other} {queued}");
    let fields = [("token", form.token()), ("reason", "of no use"), ("act", "dismiss"), ("jobs", &jobs)];

    let sent = world.post("/console/jobs/selected", &fields, olga).await;

    let done = world.get(sent.location(), olga).await;
    assert!(done.text.contains("<h1>2 dismissed, 1 refused</h1>"), "{}", done.text);
    assert!(done.text.contains(&format!("{queued}: only a dead letter can be")), "{}", done.text);
    for job in [&one, &other] {
        assert!(world.ledger.job(job).await.unwrap().unwrap().job.settled_at.is_some());
    }
    let fields = [("token", form.token()), ("reason", "of use"), ("act", "replay"), ("jobs", one.as_str())];
    world.post("/console/jobs/selected", &fields, olga).await;
    assert_eq!(world.status(&one).await, "queued");
}

#[tokio::test]
async fn confirmation_page_repeats_the_buttons_label() {
    let world = World::with_keys().await;
    let job = world.dead("c").await;
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };
    for path in [
        format!("/jobs/{job}/replay"),
        format!("/jobs/{job}/discard"),
        format!("/jobs/selected?act=replay&job={job}"),
        "/queues/creation/pause".to_owned(),
        "/replays/new".to_owned(),
        "/webhooks/enable?user=ann&endpoint=w".to_owned(),
        "/webhooks/recover?user=ann&endpoint=w".to_owned(),
        "/apps/a/switch-off".to_owned(),
    ] {
        let page = world.get(&format!("/console{path}"), olga).await.text;
        let (_, button) = page.rsplit_once("<button>").unwrap();
        let button = button.split('<').next().unwrap();
        assert!(page.contains(&format!("<h1>{button} ")), "{path} asks with another word than {button}");
        assert!(page.contains("name=\"reason\"") && page.contains(">Go back</a>"), "{path}");
    }
}
