//! Verbs that only read: each is said to a database that refuses to be written to.

use db::{Error, RequestKey};
use job::Generation;
use ledger::{CheckpointKey, Claimed, Ledger, Settings};
use operations::{ActionFilter, CHECKS, DeliveryFilter, JobFilter, Operations};
use outbox::PushPolicy;
use records::{FolderId, GoalId, MemoryId, UserId};
use store::{AppFilter, ConversationFilter, GoalFilter, ItemFilter, MemoryFilter, SearchQuery, TaskFilter};

use crate::{
    words::name,
    world::{World, conversation},
};

/// What the readers are asked about.
struct About {
    user: UserId,
    claimed: Claimed,
    name: RequestKey,
}

macro_rules! reads {
    ($db:ident, $store:ident, $outbox:ident, $ledger:ident, $operations:ident, $about:ident:
        $($room:ident.$verb:ident($($given:expr),*);)+) => {
        /// Every verb that is said below.
        pub(crate) const READS: &[&str] = &[$(stringify!($verb)),+];

        /// Says each of them; those that answered anything but their answer, with it.
        async fn say_all($ledger: &Ledger, $about: &About) -> Vec<(&'static str, Error)> {
            let ($db, $store, $outbox) = ($ledger.db(), $ledger.store(), $ledger.outbox());
            let $operations = Operations::new($ledger);
            let mut failed = Vec::new();
            $(if let Err(error) = $room.$verb($($given),*).await {
                failed.push((stringify!($verb), error));
            })+
            failed
        }
    };
}

reads! { db, store, outbox, ledger, operations, about:
    outbox.oldest_unhanded(); outbox.due_tasks(None, 9);
    db.is_migrated(); db.now(); db.locate(); db.found_shards(); ledger.is_job_due(job::Queue::Creation); operations.backlog(); operations.health(); operations.gauges(); operations.overview(); operations.examine(); operations.workers(); operations.pauses();
    store.goals(&about.user, &GoalFilter { limit: 9, ..GoalFilter::default() });
    store.goal(&about.user, &GoalId::new("g"));
    store.goal_history(&about.user, &GoalId::new("g"), 9);
    store.folders(&about.user); store.has_folder(&about.user, &FolderId::new("f"));
    store.conversations(&about.user, &ConversationFilter::default());
    store.conversations_within(&about.user, &ConversationFilter::default(), |_| Ok::<(), ()>(()));
    store.conversation(&about.user, &conversation(&about.user), true);
    store.conversation_within(&about.user, &conversation(&about.user), |_| Ok::<(), ()>(()));
    store.in_progress(&about.user); store.list_live(None, 9); store.parked_jobs(&about.user, 9);
    store.photos_within(&about.user, &conversation(&about.user), |_| Ok::<(), ()>(())); store.undescribed_photos(&about.user, &conversation(&about.user));
    store.photo_descriptions(&about.user, &conversation(&about.user)); store.due_live(std::time::Duration::ZERO, None, 9);
    store.action_items(&about.user, &ItemFilter::default());
    store.action_items_named(&about.user, &["i".to_owned()]);
    store.memories(&about.user, &MemoryFilter::default());
    store.memories_named(&about.user, &["m".to_owned()]);
    store.memory_to_tell(&about.user, &MemoryId::new("m"));
    store.search(&about.user, &search_query()); store.tasks(&about.user, &TaskFilter { limit: 9, ..TaskFilter::default() });
    store.conversations_between(&about.user, None, None, 9);
    store.chat_messages(&about.user, "main", None, 9); store.chat_message(&about.user, REPLY);
    store.user(&about.user); store.user_budget(&about.user); operations.user_rows(&about.user); store.keys(&about.user);
    store.known_people(&about.user, 9, 0); store.known_person(&about.user, "b");
    outbox.subscriptions(&about.user);
    outbox.endpoints(&about.user); outbox.endpoint(&about.user, "hook-Reader");
    outbox.deliveries(&about.user, "hook-Reader", &outbox::DeliveryPage::first(9));
    outbox.audio_webhook(&about.user); outbox.audio_receiver(&about.user);
    outbox.next_delivery_in(); outbox.next_push_in(&PushPolicy::default());
    ledger.poll(&about.user, &conversation(&about.user));
    store.apps(&about.user, &AppFilter { limit: 9, ..AppFilter::default() }); store.app(&about.user, "a");
    store.installed_apps(&about.user); store.installed_app(&about.user, "a"); store.app_keys(&about.user, "a"); store.app_mcp_token(&about.user, "a");
    operations.operator_apps(None, None, None, 9); operations.model_servers(); store.location(&about.user); operations.sealed_secrets();
    ledger.run_input(&about.claimed);
    ledger.recall(&about.claimed.lease_token(), &CheckpointKey { stage: "describe", version: 1, digest: [7; 32] });
    db.repeat_of(&about.name);
    ledger.abandoned_page(None, 9);
    ledger.job(&about.claimed.job.id); operations.job_page(&about.claimed.job.id);
    operations.jobs_page(&filter()); operations.causes(&filter()); operations.preview_replay(&filter());
    operations.find_ids(None, None, "fj_0", 9); operations.users(None, 9); operations.in_order(&["b".to_owned()]); operations.activity(6); operations.export_user(&about.user, |_, _| Ok::<(), ()>(()));
    operations.replay_operations(9); operations.replay_operation("r"); operations.replay_items("r", 0, 9);
    operations.endpoint_views(Some(&about.user), None, 9); operations.given_up_deliveries(None, None, 9);
    operations.endpoint_deliveries(&about.user, "hook-Reader", &DeliveryFilter { limit: 9, ..DeliveryFilter::default() });
    operations.delivery_line(&about.user, "hook-Reader", "d");
    operations.actions(&ActionFilter { limit: 9, ..ActionFilter::default() });
    operations.verify(&CHECKS[0], 9);
}

const REPLY: &str = "0199c0de-0000-7000-8000-00000000000b";

fn search_query() -> SearchQuery {
    SearchQuery {
        words: "fence".to_owned(),
        language: "en".to_owned(),
        limit: 9,
        conversations: true,
        memories: true,
        action_items: true,
        ..SearchQuery::default()
    }
}

fn filter() -> JobFilter {
    JobFilter { limit: 9, ..JobFilter::default() }
}

#[tokio::test]
async fn what_is_said_to_read_writes_nothing() {
    let world = World::new().await;
    let user = world.person("Reader").await;
    let claimed = world.claimed(&user).await;
    let about = About { name: name(&user), user, claimed };
    let options = world.database.options().options([("default_transaction_read_only", "on")]);
    let ledger = Ledger::new(options, Settings { connections: 3, ..Settings::default() });
    let refused = ledger.store().create_user(&UserId::new("nobody"), &Default::default()).await;
    assert!(refused.is_err(), "a session that may not write");
    let failed = say_all(&ledger, &about).await;
    assert!(failed.is_empty(), "{failed:?}");
    let claim =
        ledger.claim_delivery(&about.claimed.job.id, Generation(1), &job::WorkerId("w".to_owned())).await;
    assert!(claim.is_err(), "and it still may not");
}
