//! Installs follow their app, whatever its owner, an operator or an erasure does.

use std::{collections::HashMap, time::Duration};

use job::{Queue, WorkerId};
use ledger::{ClaimRequest, NewContent, NewConversation, OperatorAction};
use operations::Operations;
use records::{ConversationId, Source};
use store::{AppVisibility, InstallRefusal, Stored};

use crate::world::{APP, World, fields, manifest};

fn action() -> OperatorAction {
    OperatorAction { operator: "op".to_owned(), reason: "it misbehaves".to_owned() }
}

#[tokio::test]
async fn an_app_that_is_switched_off_private_or_deleted_is_installed_for_nobody_else() {
    let world = World::new().await;
    world.app().await;
    let ledger = &world.ledger;
    let installed = || async { ledger.store().installed_apps(&world.bob).await.unwrap().len() };
    let hooks = "select count(*) from webhook_endpoints where user_id = 'bob'";
    assert_eq!((installed().await, world.count(hooks).await), (1, 1));

    assert!(Operations::new(ledger).switch_off_app(APP, &action()).await.unwrap());
    ledger.store().follow_apps(Some(APP)).await.unwrap();
    assert_eq!((installed().await, world.count(hooks).await), (0, 0));
    assert_eq!(ledger.store().install_app(&world.bob, APP).await.unwrap(), Err(InstallRefusal::SwitchedOff));
    assert!(Operations::new(ledger).switch_on_app(APP, &action()).await.unwrap());
    assert_eq!(installed().await, 1);
    assert_eq!(world.count("select count(*) from operator_actions where subject is not null").await, 2);

    ledger.store().install_app(&world.bob, APP).await.unwrap().unwrap();
    let app = ledger.store().app(&world.ann, APP).await.unwrap().unwrap();
    let private = store::AppFields { visibility: AppVisibility::Private, ..fields() };
    let stored =
        ledger.store().store_app(&world.ann, APP, app.version, &private, Some(&manifest())).await.unwrap();
    assert!(matches!(stored, Stored::Stored(_)));
    assert_eq!(
        ledger.store().store_app(&world.ann, APP, app.version, &fields(), None).await.unwrap(),
        Stored::Changed,
        "a save over what another one changed"
    );
    let (_, pruned) = Operations::new(ledger).prune(Duration::from_secs(86_400), 100).await;
    pruned.unwrap();
    assert_eq!((installed().await, world.count(hooks).await), (0, 0), "the round does it, too");

    assert!(!ledger.store().delete_app(&world.bob, APP).await.unwrap(), "it is not his");
    assert!(ledger.store().delete_app(&world.ann, APP).await.unwrap());
    let (_, pruned) = Operations::new(ledger).prune(Duration::from_secs(86_400), 100).await;
    pruned.unwrap();
    assert_eq!(world.count("select count(*) from app_installs").await, 0);
}

#[tokio::test]
async fn an_app_that_takes_conversations_later_gets_none_of_those_who_installed_it_before() {
    let world = World::new().await;
    world.app().await;
    let app = world.ledger.store().app(&world.ann, APP).await.unwrap().unwrap();
    let without = store::AppFields { webhook_url: None, ..fields() };
    world.ledger.store().store_app(&world.ann, APP, app.version, &without, Some(&manifest())).await.unwrap();
    world.ledger.store().follow_apps(Some(APP)).await.unwrap();
    world
        .ledger
        .store()
        .store_app(&world.ann, APP, app.version + 1, &fields(), Some(&manifest()))
        .await
        .unwrap();
    world.ledger.store().follow_apps(None).await.unwrap();
    assert_eq!(world.count("select count(*) from webhook_endpoints").await, 0);
    world.ledger.store().install_app(&world.bob, APP).await.unwrap().unwrap();
    assert_eq!(world.count("select count(*) from webhook_endpoints").await, 1, "installed again, knowingly");
}

#[tokio::test]
async fn an_install_that_was_removed_is_remembered_for_its_hour() {
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
async fn a_run_reads_the_prompts_of_the_apps_that_its_user_installed() {
    let world = World::new().await;
    world.app().await;
    let app = world.ledger.store().app(&world.ann, APP).await.unwrap().unwrap();
    let prompting = store::AppFields { summary_prompt: Some("What was funny?".to_owned()), ..fields() };
    world
        .ledger
        .store()
        .store_app(&world.ann, APP, app.version, &prompting, Some(&manifest()))
        .await
        .unwrap();
    let talk = NewContent::Text {
        text: "We laughed a lot today".to_owned(),
        text_source: "other_text".to_owned(),
        text_source_spec: None,
    };
    for user in [&world.ann, &world.bob] {
        let new = NewConversation::new(ConversationId::new("c"), talk.clone(), Source::new("phone"));
        world.ledger.create_conversation(user, new).await.unwrap();
    }
    let worker = WorkerId("w".to_owned());
    let request =
        ClaimRequest { queue: Queue::Creation, worker, slots: 9, share: 9, most: 9, running: HashMap::new() };
    for claimed in world.ledger.claim(&request).await.unwrap().claims {
        let input = world.ledger.run_input(&claimed).await.unwrap().unwrap();
        let expected = match claimed.user_id == world.bob {
            true => vec![(APP.to_owned(), "What was funny?".to_owned())],
            false => Vec::new(),
        };
        assert_eq!(input.prompt_apps, expected, "{}", claimed.user_id);
    }
}
