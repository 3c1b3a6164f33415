//! A console over two shards: what pages say of one that is absent, and forms that act on both.

use axum::http::StatusCode;
use job::{FailureCode, JobId};
use operations::{ActionFilter, Operations};

use super::world::{Who, World, user_in};

/// A dead letter in a shard.
async fn dead(world: &World, shard: u16, id: &str) -> JobId {
    world.failed(&user_in(shard), id, FailureCode::InvalidJob).await
}

/// The page to which sending the form of `path` leads, and its address.
async fn ordered(world: &World, (path, more): (&str, &[(&str, &str)]), who: Who<'_>) -> (String, String) {
    let form = world.get(path, who).await;
    let fields = [&[("token", form.token()), ("reason", "a test")], more].concat();
    let sent = world.post(path.split('?').next().unwrap(), &fields, who).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.text);
    let address = sent.location().to_owned();
    (world.get(&address, who).await.text, address)
}

/// Dismisses the selected jobs.
async fn dismissed(world: &World, jobs: &[&JobId], who: Who<'_>) -> (String, String) {
    let query: String = jobs.iter().map(|job| format!("&job={job}")).collect();
    let jobs = jobs.iter().map(|job| job.as_str()).collect::<Vec<_>>().join(" ");
    let path = format!("/console/jobs/selected?act=dismiss{query}");
    ordered(world, (&path, &[("act", "dismiss"), ("jobs", &jobs)]), who).await
}

#[tokio::test]
async fn shard_without_an_answer_is_asked_once_and_its_selected_jobs_are_named_apart_from_refused_ones() {
    let world = World::of_two_shards().await;
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };
    let here = dead(&world, 0, "a").await;
    let live = world.admitted_of(&user_in(0), "b").await;
    let [asked, next, last] =
        [dead(&world, 1, "a").await, dead(&world, 1, "b").await, dead(&world, 1, "c").await];
    world.shards.numbered(1).unwrap().db().close().await;

    let (page, address) = dismissed(&world, &[&asked, &here, &next, &live, &last], olga).await;

    assert!(page.contains("<h1>1 dismissed, 1 refused, 3 without an answer</h1>"), "{page}");
    assert!(page.contains(&format!("{live}: only a dead letter can be")), "{page}");
    assert!(page.contains(&format!("{asked}: The database does not answer.")), "{page}");
    assert!(page.contains(&format!("Not tried, as the order ended before: {next}, {last}.")), "{page}");
    // Loading it again shows the same.
    assert_eq!(world.get(&address, olga).await.text.matches(next.as_str()).count(), 1);
}

#[tokio::test]
async fn shards_carry_out_an_order_for_selected_jobs_side_by_side() {
    let world = World::of_two_shards().await;
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };
    let jobs = [dead(&world, 0, "a").await, dead(&world, 1, "a").await];
    // No job can be changed until orders wait for both.
    let lock = "lock table listen_0000.finalization_jobs, listen_0001.finalization_jobs in share mode";
    let held = world.database.hold_locks(lock).await;
    let both = async {
        world.database.until_as_many_wait(2).await;
        drop(held);
    };
    let both_jobs = [&jobs[0], &jobs[1]];
    let ((page, _), ()) = tokio::join!(dismissed(&world, &both_jobs, olga), both);
    assert!(page.contains("<h1>2 dismissed, 0 refused</h1>"), "{page}");
}

#[tokio::test]
async fn page_says_whether_a_shard_gives_no_answer_an_error_or_has_another_schema() {
    let world = World::of_two_shards().await;
    let cookie = world.cookie("ron's").await;
    let ron = Who { cookie: &cookie, ..Who::default() };
    let apps = async || world.get("/console/apps", ron).await.text;

    world.run("alter table listen_0001.apps alter column created_at type text").await;
    let page = apps().await;
    assert!(
        page.contains("An error, not an answer, from shard 1 (see the log): nothing of it is here."),
        "{page}"
    );
    assert!(!page.contains("No answer from shard"), "{page}");

    world.run("alter table listen_0001.apps rename to apps_of_before").await;
    let page = apps().await;
    assert!(page.contains("Not this program&#39;s schema in shard 1: nothing of it is here."), "{page}");

    world.shards.numbered(1).unwrap().db().close().await;
    let page = apps().await;
    assert!(page.contains("No answer from shard 1: nothing of it is here."), "{page}");
    let overview = world.get("/console", ron).await.text;
    assert!(overview.contains("No answer from shard 1: nothing of it is counted here."), "{overview}");
}

#[tokio::test]
async fn loading_the_result_of_a_form_again_gives_no_order_again() {
    let world = World::of_two_shards().await;
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };

    let (page, address) = ordered(&world, ("/console/queues/creation/pause", &[]), olga).await;
    assert!(page.contains("<h1>The queue creation is paused</h1>"), "{page}");
    assert_eq!(page.matches("<td>paused</td>").count(), 2, "{page}");
    let (resumed, _) = ordered(&world, ("/console/queues/creation/resume", &[]), olga).await;
    assert_eq!(resumed.matches("<td>resumed</td>").count(), 2, "{resumed}");
    assert_eq!(world.get(&address, olga).await.text, page, "what was done then");
    for shard in world.shards.iter() {
        assert_eq!(Operations::new(shard).pauses().await.unwrap(), []);
    }

    for shard in [0, 1] {
        world.failed(&user_in(shard), "a", FailureCode::ModelUnavailable).await;
    }
    let (page, address) = ordered(&world, ("/console/run-now?status=queued", &[]), olga).await;
    assert!(page.contains("<h1>2 due now, 0 refused</h1>"), "{page}");
    // Others that wait since then are left alone.
    for shard in [0, 1] {
        world.failed(&user_in(shard), "b", FailureCode::ModelUnavailable).await;
    }
    assert!(world.get(&address, olga).await.text.contains("<h1>2 due now, 0 refused</h1>"));
    let filter = ActionFilter { limit: 9, ..ActionFilter::default() };
    for shard in world.shards.iter() {
        let actions = Operations::new(shard).actions(&filter).await.unwrap();
        let orders = actions.iter().filter(|action| action.action == "bulk_run_now");
        assert_eq!(orders.count(), 1);
    }
}

#[tokio::test]
async fn result_page_needs_no_process_that_knows_of_it_and_shows_words_of_its_own_alone() {
    let world = World::with_keys().await;
    let cookie = world.cookie("ron's").await;
    let ron = Who { cookie: &cookie, ..Who::default() };
    let shown = world.get("/console/outcome?order=run-now&shards=0:3.1.0", ron).await;
    assert!(shown.text.contains("<h1>3 due now, 1 refused</h1>"), "{}", shown.text);
    for made_up in [
        "order=run-now&shards=1:3.1.0",
        "order=run-now&shards=0:all",
        "order=run-now&shards=0:-1.0.0",
        "order=run-now&shards=",
        "order=run-now&shards=0:3.1",
        "order=pause.everything&shards=0:1.0.0",
        "order=replay.x&shards=0:1.0.0",
        "order=run-now",
    ] {
        let answer = world.get(&format!("/console/outcome?{made_up}"), ron).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{made_up}: {}", answer.text);
    }
    let selected = "/console/jobs/selected/outcome";
    let words = world.get(&format!("{selected}?act=dismiss&done=1&refused=%3Cb%3E:made-up"), ron).await.text;
    assert!(words.contains("&#60;b&#62;: its state does not allow that."), "{words}");
    let answer = world.get(&format!("{selected}?act=dismiss&failed=fj_1:made-up"), ron).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", answer.text);
}

#[tokio::test]
async fn order_that_may_have_been_done_is_not_hidden_behind_one_that_was_not() {
    let world = World::of_two_shards().await;
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };
    let form = world.get("/console/queues/creation/pause", olga).await;
    let fields = [("token", form.token()), ("reason", "a test")];
    let pause = async || world.post("/console/queues/creation/pause", &fields, olga).await;
    let ticked = [dead(&world, 0, "a").await, dead(&world, 1, "a").await];

    // The first gives no answer; the second has no such table.
    world
        .run(
            "create function cut() returns trigger language plpgsql as $$ begin \
             raise 'cut' using errcode = 'admin_shutdown'; end $$; \
             create trigger cut before insert or update on listen_0000.queue_pauses \
             for each row execute function public.cut(); \
             create trigger cut before update on listen_0000.finalization_jobs \
             for each row execute function public.cut(); \
             alter table listen_0001.queue_pauses rename to pauses_of_before; \
             alter table listen_0001.finalization_jobs rename to jobs_of_before",
        )
        .await;

    let answer = pause().await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.text.contains("may have been done, or a part of it"), "{}", answer.text);
    let jobs = ticked.each_ref().map(|job| job.as_str()).join(" ");
    let fields = [&fields[..], &[("act", "dismiss"), ("jobs", &jobs)]].concat();
    let answer = world.post("/console/jobs/selected", &fields, olga).await;
    assert!(answer.text.contains("may have been done, or a part of it"), "{}", answer.text);
}

#[tokio::test]
async fn run_now_tells_what_it_did_before_an_error() {
    let world = World::of_two_shards().await;
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };
    for id in ["a", "b", "c"] {
        world.failed(&user_in(0), id, FailureCode::ModelUnavailable).await;
    }
    world
        .run(
            "create sequence changes; \
             create function go_down() returns trigger language plpgsql as $$ begin \
             if nextval('public.changes') > 2 then raise 'going down' using errcode = 'admin_shutdown'; end if; \
             return new; end $$; \
             create trigger go_down before update on listen_0000.finalization_jobs \
             for each row execute function public.go_down()",
        )
        .await;

    let (page, address) = ordered(&world, ("/console/run-now?status=queued", &[]), olga).await;

    assert!(page.contains("<h1>2 due now, 0 refused, but not in every shard</h1>"), "{page}");
    assert!(page.contains("2 due now, 0 refused. The log says what went wrong."), "{page}");
    assert!(page.contains("The database does not answer"), "{page}");
    assert_eq!(world.get(&address, olga).await.text, page);
}

/// One of Ann's jobs cannot be changed: the trigger is another program's.
async fn keep(world: &World, job: &JobId) {
    let table = "listen_0000.finalization_jobs";
    world
        .run(&format!(
            "create function keep() returns trigger language plpgsql as $$ begin \
             if old.job_id = '{job}' then raise 'kept'; end if; return new; end $$; \
             create trigger keep before update on {table} for each row execute function public.keep()"
        ))
        .await;
}

#[tokio::test]
async fn run_now_goes_on_behind_a_job_that_cannot_be_changed_and_names_it() {
    let world = World::of_two_shards().await;
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };
    let mut jobs = Vec::new();
    for id in ["a", "b", "c"] {
        jobs.push(world.failed(&user_in(0), id, FailureCode::ModelUnavailable).await);
    }
    // The newest is the first of the list.
    keep(&world, &jobs[2]).await;

    let (page, address) = ordered(&world, ("/console/run-now?status=queued", &[]), olga).await;

    assert!(page.contains("<h1>2 due now, 0 refused, 1 failed</h1>"), "{page}");
    let named = format!("Failed, and the log says why: {}. The others were done.", jobs[2]);
    assert!(page.contains(&named), "{page}");
    assert_eq!(world.get(&address, olga).await.text, page);
    let audit = world.get("/console/audit", olga).await.text;
    assert!(audit.contains("2 done, 0 refused, 1 failed"), "{audit}");
}

#[tokio::test]
async fn selected_jobs_behind_one_that_cannot_be_changed_are_dismissed() {
    let world = World::of_two_shards().await;
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };
    let jobs = [dead(&world, 0, "a").await, dead(&world, 0, "b").await];
    keep(&world, &jobs[0]).await;

    let (page, _) = dismissed(&world, &[&jobs[0], &jobs[1]], olga).await;

    assert!(page.contains("<h1>1 dismissed, 0 refused, 1 failed</h1>"), "{page}");
    assert!(page.contains(&format!("{}: That did not work.", jobs[0])), "{page}");
}
