//! Installs of apps: removed with their app, whether its owner, an operator or an erasure changes it; and users'
//! locations.

use std::{collections::HashMap, time::Duration};

use job::{Queue, WorkerId};
use ledger::{ClaimRequest, NewContent, NewConversation, OperatorAction};
use operations::Operations;
use records::{ConversationId, Geolocation, Source, Timestamp};
use store::{AppVisibility, InstallRefusal, Stored};

use crate::world::{APP, World, fields, manifest};

fn action() -> OperatorAction {
    OperatorAction::new("op", "it misbehaves")
}

#[tokio::test]
async fn app_switched_off_private_or_deleted_is_uninstalled() {
    let world = World::new().await;
    world.app().await;
    let ledger = &world.ledger;
    let installed = || async {
        let apps = ledger.store().installed_apps(&world.bob).await.unwrap();
        let names = ledger.store().installed_app_names(&world.bob).await.unwrap();
        let of_apps: Vec<_> = apps.into_iter().map(|app| (app.id, app.name)).collect();
        assert_eq!(names, of_apps, "the same apps");
        names.len()
    };
    let hooks = "select count(*) from webhook_endpoints where user_id = 'bob'";
    assert_eq!((installed().await, world.count(hooks).await), (1, 1));

    assert!(Operations::new(ledger).switch_app(APP, false, &action()).await.unwrap());
    ledger.store().follow_apps(Some(APP)).await.unwrap();
    assert_eq!((installed().await, world.count(hooks).await), (0, 0));
    assert_eq!(ledger.store().install_app(&world.bob, APP).await.unwrap(), Err(InstallRefusal::SwitchedOff));
    assert!(Operations::new(ledger).switch_app(APP, true, &action()).await.unwrap());
    assert_eq!(installed().await, 1);
    assert_eq!(world.count("select count(*) from operator_actions where subject is not null").await, 2);

    ledger.store().install_app(&world.bob, APP).await.unwrap().unwrap();
    let app = ledger.store().app(&world.ann, APP).await.unwrap().unwrap();
    let private = store::AppFields { visibility: AppVisibility::Private, ..fields() };
    let stored = ledger
        .store()
        .store_app(&world.ann, (APP, app.version), &private, None, Some(&manifest()))
        .await
        .unwrap();
    assert!(matches!(stored, Stored::Stored(_)));
    assert_eq!(
        ledger.store().store_app(&world.ann, (APP, app.version), &fields(), None, None).await.unwrap(),
        Stored::Changed,
        "an outdated version is refused"
    );
    let (_, pruned) = Operations::new(ledger).prune(Duration::from_secs(86_400), 100).await;
    pruned.unwrap();
    assert_eq!((installed().await, world.count(hooks).await), (0, 0), "the prune round does it, too");

    assert!(!ledger.store().delete_app(&world.bob, APP).await.unwrap(), "another user's app");
    assert!(ledger.store().delete_app(&world.ann, APP).await.unwrap());
    let (_, pruned) = Operations::new(ledger).prune(Duration::from_secs(86_400), 100).await;
    pruned.unwrap();
    assert_eq!(world.count("select count(*) from app_installs").await, 0);
}

#[tokio::test]
async fn webhook_url_added_later_does_not_apply_to_earlier_installs() {
    let world = World::new().await;
    world.app().await;
    let app = world.ledger.store().app(&world.ann, APP).await.unwrap().unwrap();
    let without = store::AppFields { webhook_url: None, ..fields() };
    world
        .ledger
        .store()
        .store_app(&world.ann, (APP, app.version), &without, None, Some(&manifest()))
        .await
        .unwrap();
    world.ledger.store().follow_apps(Some(APP)).await.unwrap();
    world
        .ledger
        .store()
        .store_app(&world.ann, (APP, app.version + 1), &fields(), None, Some(&manifest()))
        .await
        .unwrap();
    world.ledger.store().follow_apps(None).await.unwrap();
    assert_eq!(world.count("select count(*) from webhook_endpoints").await, 0);
    world.ledger.store().install_app(&world.bob, APP).await.unwrap().unwrap();
    assert_eq!(
        world.count("select count(*) from webhook_endpoints").await,
        1,
        "installed again, with the URL"
    );
}

#[tokio::test]
async fn webhook_that_moves_with_its_app_leaves_the_failures_of_the_old_address_behind() {
    let world = World::new().await;
    world.app().await;
    world
        .run(
            "update webhook_endpoints set failing_since = now() - interval '4 days', consecutive_failures = 9, \
                 open_until = now() + interval '1 minute'",
        )
        .await;
    let app = world.ledger.store().app(&world.ann, APP).await.unwrap().unwrap();
    let moved = store::AppFields { webhook_url: Some("https://moved.example/".to_owned()), ..fields() };
    world
        .ledger
        .store()
        .store_app(&world.ann, (APP, app.version), &moved, None, Some(&manifest()))
        .await
        .unwrap();
    assert_eq!(world.ledger.store().follow_apps(Some(APP)).await.unwrap(), 1);
    let healthy = "select count(*) from webhook_endpoints where url = 'https://moved.example/' \
         and failing_since is null and consecutive_failures = 0 and open_until is null";
    assert_eq!(world.count(healthy).await, 1);
}

#[tokio::test]
async fn webhooks_of_a_deleted_app_are_removed_in_parts_while_that_takes_long() {
    let world = World::new().await;
    world
        .run(
            "insert into webhook_endpoints (user_id, endpoint_id, url, events, secret, app_id) \
                 select 'bob', 'e' || n, 'https://app.example/' || n, array['conversation.completed'], 's', 'gone' \
                 from generate_series(1, 150) n; \
             create function stop() returns trigger language plpgsql as \
                 'begin perform pg_advisory_xact_lock_shared(1); return null; end'; \
             create trigger stop before delete on webhook_endpoints for each statement execute function stop()",
        )
        .await;
    let mut holder = world.database.hold_locks("select pg_advisory_xact_lock(1)").await;
    let ledger = world.ledger.clone();
    let following = tokio::spawn(async move { ledger.store().follow_apps(None).await.unwrap() });
    world.database.until_somebody_waits().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(5)).await;
    tokio::time::resume();
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    assert_eq!(following.await.unwrap(), 100, "the rest is the next call's");
    assert_eq!(world.count("select count(*) from webhook_endpoints").await, 50);
    let (pruned, done) = Operations::new(&world.ledger).prune(Duration::from_secs(86_400), 100).await;
    done.unwrap();
    assert_eq!(pruned.webhooks, 50);
}

#[tokio::test]
async fn uninstalled_app_is_pruned_after_an_hour() {
    let world = World::new().await;
    world.app().await;
    world.ledger.store().uninstall_app(&world.bob, APP).await.unwrap();
    let prune =
        || async { Operations::new(&world.ledger).prune(Duration::from_secs(86_400), 100).await.1.unwrap() };
    prune().await;
    assert_eq!(world.count("select count(*) from app_installs").await, 1);
    world.run("update app_installs set removed_at = removed_at - interval '61 minutes'").await;
    prune().await;
    assert_eq!(world.count("select count(*) from app_installs").await, 0);
}

#[tokio::test]
async fn run_input_includes_prompts_of_the_users_installed_apps() {
    let world = World::new().await;
    world.app().await;
    let app = world.ledger.store().app(&world.ann, APP).await.unwrap().unwrap();
    let prompting = store::AppFields { summary_prompt: Some("What was funny?".to_owned()), ..fields() };
    world
        .ledger
        .store()
        .store_app(&world.ann, (APP, app.version), &prompting, None, Some(&manifest()))
        .await
        .unwrap();
    let text = NewContent::Text {
        text: "We laughed a lot today".to_owned(),
        text_source: "other_text".to_owned(),
        text_source_spec: None,
    };
    for user in [&world.ann, &world.bob] {
        let new = NewConversation::new(ConversationId::new("c"), text.clone(), Source::new("phone"));
        world.ledger.create_conversation(user, new, None).await.unwrap();
    }
    let worker = WorkerId("w".to_owned());
    let request =
        ClaimRequest { queue: Queue::Creation, worker, slots: 9, share: 9, most: 9, running: HashMap::new() };
    let claims = world.ledger.claim(&request).await.unwrap().claims;
    assert_eq!(claims.len(), 2);
    for claimed in claims {
        let input = world.ledger.run_input(&claimed).await.unwrap().unwrap();
        let expected = match claimed.user_id == world.bob {
            true => vec![(APP.to_owned(), "What was funny?".to_owned())],
            false => Vec::new(),
        };
        assert_eq!(input.prompt_apps, expected, "{}", claimed.user_id);
    }
}

fn location(latitude: f64) -> Geolocation {
    Geolocation { latitude, longitude: 13.4, address: None, google_place_id: None, location_type: None }
}

#[tokio::test]
async fn location_is_known_for_30_minutes_and_renewed_by_a_repeat() {
    let world = World::new().await;
    world.ledger.store().note_location(&world.bob, &location(1.0), None).await.unwrap();
    world.run("update user_locations set noted_at = noted_at - interval '29 minutes'").await;
    assert_eq!(world.ledger.store().location(&world.bob).await.unwrap(), Some(location(1.0)));
    assert_eq!(world.ledger.store().location(&world.ann).await.unwrap(), None, "another user's");
    world.run("update user_locations set noted_at = noted_at - interval '2 minutes'").await;
    assert_eq!(world.ledger.store().location(&world.bob).await.unwrap(), None);
    assert!(
        world.ledger.store().note_location(&world.bob, &location(1.0), None).await.unwrap(),
        "also when nothing changed"
    );
    assert_eq!(world.ledger.store().location(&world.bob).await.unwrap(), Some(location(1.0)));
}

#[tokio::test]
async fn old_location_is_pruned() {
    let world = World::new().await;
    world.ledger.store().note_location(&world.bob, &location(1.0), None).await.unwrap();
    world.ledger.store().note_location(&world.ann, &location(2.0), None).await.unwrap();
    world
        .run("update user_locations set noted_at = noted_at - interval '31 minutes' where user_id = 'bob'")
        .await;
    let (_, pruned) = Operations::new(&world.ledger).prune(Duration::from_secs(86_400), 100).await;
    pruned.unwrap();
    assert_eq!(world.count("select count(*) from user_locations").await, 1);

    // The clock was set back: a newer place would not take this one's.
    world.run("update user_locations set noted_at = noted_at + interval '1 hour'").await;
    let (_, pruned) = Operations::new(&world.ledger).prune(Duration::from_secs(86_400), 100).await;
    pruned.unwrap();
    assert_eq!(world.count("select count(*) from user_locations").await, 0);
}

#[tokio::test]
async fn older_location_does_not_replace_a_newer_one() {
    let world = World::new().await;
    let now: Timestamp = world.ledger.db().now().await.unwrap();
    world.ledger.store().note_location(&world.bob, &location(2.0), None).await.unwrap();
    let before = now - chrono::TimeDelta::minutes(10);
    assert!(!world.ledger.store().note_location(&world.bob, &location(1.0), Some(before)).await.unwrap());
    assert_eq!(world.ledger.store().location(&world.bob).await.unwrap(), Some(location(2.0)));
}
