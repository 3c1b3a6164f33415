//! Erasure (`users delete`): all data of a user is deleted, in small steps, and no other user's.

use operations::{ActionFilter, CHECKS, ErasureStep, Operations};
use records::UserId;
use sqlx::AssertSqlSafe;

use crate::{
    constraints::rows::SEED,
    world::{World, olga},
};

/// A world where Ann has a row in every table, and `verify` finds nothing.
async fn filled() -> World {
    let world = World::new().await;
    world.run(SEED).await;
    world.run("update finalization_jobs set dispatch = 1, epoch = 1").await;
    verified(&world).await;
    world
}

/// Every table with a `user_id`, read from the schema, so that later tables are included.
async fn tables(world: &World) -> Vec<String> {
    let tables: Vec<String> = world
        .list(
            "select table_name::text from information_schema.columns \
         where table_schema = 'public' and column_name = 'user_id' order by 1",
        )
        .await;
    assert!(tables.len() >= 24, "the tables were found: {tables:?}");
    tables
}

/// The tables with rows of `user`.
async fn tables_of(world: &World, user: &UserId) -> Vec<String> {
    let mut found = Vec::new();
    for table in tables(world).await {
        let query = format!("select count(*) from {table} where user_id = $1");
        let rows: i64 = sqlx::query_scalar(AssertSqlSafe(query))
            .bind(user.as_str())
            .fetch_one(&world.pool)
            .await
            .unwrap();
        if rows > 0 {
            found.push(table);
        }
    }
    found
}

/// Erases to the end; returns the number of steps.
async fn erase(world: &World, user: &UserId) -> usize {
    let mut emptied = 0;
    for steps in 1..1_000 {
        if world.operations().erase_some(user, &mut emptied).await.unwrap() == ErasureStep::Done {
            return steps;
        }
    }
    panic!("the erasure does not end");
}

async fn verified(world: &World) {
    for check in &CHECKS {
        assert_eq!(
            world.operations().verify(check, 5).await.unwrap().offenders,
            Vec::<String>::new(),
            "{}",
            check.name
        );
    }
}

#[tokio::test]
async fn erasure_removes_the_user_from_every_table() {
    let world = filled().await;
    assert_eq!(tables_of(&world, &world.ann).await, tables(&world).await, "Ann has a row of everything");

    let found = world.operations().user_rows(&world.ann).await.unwrap().unwrap();
    assert!(found.contains(&("memories", 1)), "{found:?}");
    assert!(world.operations().begin_erasure(&world.ann, &found, &olga()).await.unwrap());
    erase(&world, &world.ann).await;

    assert_eq!(tables_of(&world, &world.ann).await, Vec::<String>::new());
    assert_eq!(
        world.count("select count(*) from replay_items where user_id = ''").await,
        1,
        "kept without the user id"
    );
    verified(&world).await;
}

#[tokio::test]
async fn erasure_leaves_other_users_alone() {
    let world = filled().await;
    let before = tables_of(&world, &world.ann).await;
    world.endpoint(&world.bob, "w").await;
    world.pending(&world.bob, "w", 3).await;
    world.operations().begin_erasure(&world.bob, &[], &olga()).await.unwrap();
    erase(&world, &world.bob).await;
    assert_eq!(tables_of(&world, &world.bob).await, Vec::<String>::new());
    assert_eq!(tables_of(&world, &world.ann).await, before);
    assert_eq!(world.count("select count(*) from developer_keys where revoked_at is null").await, 1);
}

#[tokio::test]
async fn erasure_of_an_unknown_user_does_nothing() {
    let world = World::new().await;
    let unknown = UserId::new("unknown");
    assert_eq!(world.operations().user_rows(&unknown).await.unwrap(), None);
    assert!(!world.operations().begin_erasure(&unknown, &[], &olga()).await.unwrap());
    assert_eq!(world.count("select count(*) from operator_actions").await, 0);
}

#[tokio::test]
async fn erasure_revokes_keys_and_stops_webhooks_at_once() {
    let world = filled().await;
    world.run("update webhook_deliveries set next_at = now() - interval '1 minute'").await;
    world.operations().begin_erasure(&world.ann, &[], &olga()).await.unwrap();
    assert_eq!(world.count("select count(*) from developer_keys where revoked_at is null").await, 0);
    let claims =
        world.ledger.outbox().claim_deliveries(10, &outbox::DeliveryPolicy::default(), None).await.unwrap();
    assert_eq!(claims.claimed.len(), 0, "no delivery is sent");
    assert!(
        !world.ledger.store().create_user(&world.ann, &Default::default()).await.unwrap(),
        "the id is taken until the end"
    );
}

#[tokio::test]
async fn erasure_resumes_after_an_interruption_at_any_step() {
    let steps = {
        let world = filled().await;
        world.operations().begin_erasure(&world.ann, &[], &olga()).await.unwrap();
        erase(&world, &world.ann).await
    };
    assert!(steps > 10, "one table after the other: {steps}");
    let world = filled().await;
    // As if each run of the command were interrupted after one step.
    for _ in 1..steps {
        Operations::new(&world.other_process()).begin_erasure(&world.ann, &[], &olga()).await.unwrap();
        let step = Operations::new(&world.other_process()).erase_some(&world.ann, &mut 0).await.unwrap();
        assert!(matches!(step, ErasureStep::Removed(_, 1..)), "{step:?}");
        verified(&world).await;
    }
    Operations::new(&world.other_process()).begin_erasure(&world.ann, &[], &olga()).await.unwrap();
    assert_eq!(
        Operations::new(&world.other_process()).erase_some(&world.ann, &mut 0).await.unwrap(),
        ErasureStep::Done
    );
    assert_eq!(tables_of(&world, &world.ann).await, Vec::<String>::new());
}

#[tokio::test]
async fn erasure_deletes_at_most_2000_rows_per_step() {
    let world = World::new().await;
    world
        .run(
            "insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, \
                 language, source, status) \
             select 'ann', 'c' || n, now(), now(), now(), now(), 'en', 'phone', 'completed' \
             from generate_series(1, 5000) n",
        )
        .await;
    world.operations().begin_erasure(&world.ann, &[], &olga()).await.unwrap();
    let mut removed = Vec::new();
    while let ErasureStep::Removed(table, rows) =
        world.operations().erase_some(&world.ann, &mut 0).await.unwrap()
    {
        assert!(rows <= 2_000, "{table}: {rows}");
        removed.push((table, rows));
    }
    let conversations: u64 =
        removed.iter().filter(|(table, _)| *table == "conversations").map(|(_, rows)| rows).sum();
    assert_eq!(conversations, 5000);
}

#[tokio::test]
async fn erasure_is_audited_with_counts_and_without_content() {
    let world = filled().await;
    let found = world.operations().user_rows(&world.ann).await.unwrap().unwrap();
    world.operations().begin_erasure(&world.ann, &found, &olga()).await.unwrap();
    erase(&world, &world.ann).await;
    let filter = ActionFilter { action: Some("delete_user".into()), limit: 9, ..ActionFilter::default() };
    let actions = world.operations().actions(&filter).await.unwrap();
    let [action] = actions.as_slice() else { panic!("{actions:?}") };
    assert_eq!((action.operator.as_str(), action.subject.as_deref()), ("olga", Some("ann")));
    let detail = action.detail.as_deref().unwrap();
    assert!(detail.starts_with("done 20") && detail.contains("conversations 1"), "{detail}");
    for word in ["Tom", "tea", "Well", "example.com", "Read"] {
        assert!(!detail.contains(word), "{detail}");
    }
}

#[tokio::test]
async fn erasure_deletes_rows_committed_meanwhile() {
    let world = World::new().await;
    world.operations().begin_erasure(&world.ann, &[], &olga()).await.unwrap();
    // A request that was authorized before its key was revoked.
    let mut late = world.pool.begin().await.unwrap();
    sqlx::query(
        "insert into memories (user_id, memory_id, content, category, created_at, updated_at) \
         values ('ann', 'late', 'Likes tea', 'core', now(), now())",
    )
    .execute(&mut *late)
    .await
    .unwrap();
    let ending = {
        let (ledger, ann) = (world.other_process(), world.ann.clone());
        tokio::spawn(async move {
            loop {
                match Operations::new(&ledger).erase_some(&ann, &mut 0).await {
                    Ok(ErasureStep::Done) => return,
                    Ok(_) => {}
                    Err(error) => assert!(error.is_passing(), "{error}"),
                }
            }
        })
    };
    world.database.until_somebody_waits().await;
    late.commit().await.unwrap();
    ending.await.unwrap();
    assert_eq!(tables_of(&world, &world.ann).await, Vec::<String>::new());
}

/// What is left in a table that was almost all of one user: two rows, on as many pages as before.
#[tokio::test]
async fn erasure_reads_no_emptied_table_for_each_row_that_had_something_in_it() {
    let world = World::new().await;
    world
        .database
        .seed(&[
            "insert into action_items (user_id, action_item_id, description, created_at, updated_at, due_at) \
             select 'ann', 'i' || n, 'Do', now(), now(), now() from generate_series(1, 5000) n \
             union all select 'bob', i, 'Do', now(), now(), now() from unnest(array['i', 'j']) i; \
         insert into reminders (user_id, action_item_id, revision, due_at) \
             select user_id, action_item_id, 1, due_at from action_items order by user_id",
        ])
        .await;
    world.operations().begin_erasure(&world.ann, &[], &olga()).await.unwrap();
    let options = world.database.options().application_name("measured");
    let process = || ledger::Ledger::new(options.clone(), ledger::Settings::default());
    let first = process();
    while world.count("select count(*) from reminders where user_id = 'ann'").await > 0 {
        Operations::new(&first).erase_some(&world.ann, &mut 0).await.unwrap();
    }
    first.db().close().await;
    world.database.until_nobody_is("measured").await;
    world.database.seed(&["vacuum analyze reminders"]).await;
    let before = world.scans("reminders", "reminders_pkey").await;
    let asked_before = world.scans("app_installs", "app_installs_pkey").await;
    let process = process();
    let mut emptied = 0;
    while Operations::new(&process).erase_some(&world.ann, &mut emptied).await.unwrap() != ErasureStep::Done {
    }
    process.db().close().await;
    world.database.until_nobody_is("measured").await;
    let after = world.scans("reminders", "reminders_pkey").await;
    assert!(after.1 - before.1 >= 5_000, "a look-up for each item");
    assert!(after.0 - before.0 < 20, "the table was read {} times", after.0 - before.0);
    let asked = world.scans("app_installs", "app_installs_pkey").await;
    let asked = asked.0 + asked.1 - asked_before.0 - asked_before.1;
    assert!(
        asked <= 3,
        "a table that is empty is asked at the beginning and at the end, and not with every batch: {asked}"
    );
}
