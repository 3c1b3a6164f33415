//! Operations that only read: each is executed on a read-only database.

use db::{Error, RequestKey};
use job::Generation;
use ledger::{CheckpointKey, Ledger, Settings, StoredJob};
use operations::{ActionFilter, CHECKS, JobFilter, Operations};
use outbox::PushPolicy;
use records::{FolderId, GoalId, UserId};
use store::{AppFilter, ConversationFilter, GoalFilter, ItemFilter, MemoryFilter, SearchQuery, TaskFilter};

use crate::{
    keyed_requests::request_key,
    world::{World, conversation},
};

/// The user, run and key that are read.
struct Subject {
    user: UserId,
    claimed: StoredJob,
    name: RequestKey,
}

macro_rules! reads {
    ($db:ident, $store:ident, $outbox:ident, $ledger:ident, $operations:ident, $subject:ident:
        $($handle:ident.$operation:ident($($given:expr),*);)+) => {
        /// Every operation below.
        pub(crate) const READS: &[&str] = &[$(stringify!($operation)),+];

        /// Executes all of them; returns those that failed, with the error.
        async fn execute_all($ledger: &Ledger, $subject: &Subject) -> Vec<(&'static str, Error)> {
            let ($db, $store, $outbox) = ($ledger.db(), $ledger.store(), $ledger.outbox());
            let $operations = Operations::new($ledger);
            let mut failed = Vec::new();
            $(if let Err(error) = $handle.$operation($($given),*).await {
                failed.push((stringify!($operation), error));
            })+
            failed
        }
    };
}

reads! { db, store, outbox, ledger, operations, subject:
    outbox.oldest_unhanded(); outbox.due_tasks(None, 9);
    db.is_migrated(); db.accepts_writes(); db.pooling(); db.now(); db.locate(); db.found_shards(); ledger.is_job_due(job::Queue::Creation); operations.backlog(); operations.health("10s"); operations.gauges(); operations.overview(); operations.examine(); operations.workers(); operations.pauses();
    store.goals(&subject.user, &GoalFilter { limit: 9, ..GoalFilter::default() });
    store.goal(&subject.user, &GoalId::new("g"));
    store.goal_history(&subject.user, &GoalId::new("g"), 9);
    store.folders(&subject.user); store.has_folder(&subject.user, &FolderId::new("f"));
    store.conversations(&subject.user, &ConversationFilter::default());
    store.conversations_within(&subject.user, &ConversationFilter::default(), |_| Ok::<(), ()>(()));
    store.conversation(&subject.user, &conversation(&subject.user), true); store.segment_count(&subject.user, &conversation(&subject.user));
    store.conversation_within(&subject.user, &conversation(&subject.user), |_| Ok::<(), ()>(()));
    store.in_progress(&subject.user); store.list_live(None, 9); store.parked_jobs(&subject.user, 9);
    store.photos_within(&subject.user, &conversation(&subject.user), |_| Ok::<(), ()>(())); store.undescribed_photos(&subject.user, &conversation(&subject.user));
    store.photo_descriptions(&subject.user, &conversation(&subject.user)); store.due_live(std::time::Duration::ZERO, None, 9);
    store.action_items(&subject.user, &ItemFilter::default());
    store.action_items_named(&subject.user, &["i".to_owned()]);
    store.memories(&subject.user, &MemoryFilter::default());
    store.memories_within(&subject.user, &MemoryFilter::default(), |_| Ok::<(), ()>(()));
    store.memories_named(&subject.user, &["m".to_owned()]);
    store.search(&subject.user, &search_query()); store.tasks(&subject.user, &TaskFilter { limit: 9, ..TaskFilter::default() });
    store.conversations_between(&subject.user, None, None, 9);
    store.chat_messages(&subject.user, "main", None, 9); store.chat_message(&subject.user, REPLY);
    store.user(&subject.user); store.user_budget(&subject.user); operations.user_rows(&subject.user); store.keys(&subject.user);
    store.known_people(&subject.user, 9, 0); store.known_person(&subject.user, "b");
    outbox.subscriptions(&subject.user);
    outbox.endpoints(&subject.user); outbox.endpoint(&subject.user, "hook-Reader");
    outbox.deliveries(&subject.user, "hook-Reader", &outbox::DeliveryPage::first(9));
    outbox.delivery(&subject.user, "hook-Reader", "d");
    outbox.audio_webhook(&subject.user); outbox.audio_receiver(&subject.user);
    outbox.next_delivery_in(); outbox.next_push_in(&PushPolicy::default());
    ledger.poll(&subject.user, &conversation(&subject.user));
    store.apps_within(&subject.user, &AppFilter { limit: 9, ..AppFilter::default() }, |_| Ok::<(), ()>(())); store.app(&subject.user, "a");
    store.installed_apps(&subject.user); store.installed_app_names(&subject.user); store.installed_app(&subject.user, "a"); store.app_keys(&subject.user, "a"); store.app_mcp_token(&subject.user, "a");
    operations.operator_apps(None, None, None, 9); operations.model_servers(); store.location(&subject.user); operations.sealed_secrets();
    ledger.run_input(&subject.claimed);
    ledger.recall(&subject.claimed.lease_token(), &CheckpointKey { stage: "describe", version: 1, digest: [7; 32] });
    db.repeat_of(&subject.name);
    ledger.abandoned_page(None, 9);
    ledger.job(&subject.claimed.job.id); operations.job_page(&subject.claimed.job.id);
    operations.jobs_page(&filter()); operations.causes(&filter()); operations.preview_replay(&filter());
    operations.find_ids(None, None, "fj_0", 9); operations.users(None, 9); operations.in_order(&["b".to_owned()]); operations.activity(6); operations.export_user(&subject.user, |_, _| Ok::<(), ()>(()));
    operations.replay_operations(9); operations.replay_operation("r"); operations.due_replay(""); operations.replay_items("r", 0, 9);
    operations.endpoint_views(Some(&subject.user), None, 9); operations.given_up_deliveries(None, None, 9);
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
async fn read_operations_write_nothing() {
    let world = World::new().await;
    let user = world.user("Reader").await;
    let claimed = world.claimed(&user).await;
    let subject = Subject { name: request_key(&user), user, claimed };
    let options = world.database.options().options([("default_transaction_read_only", "on")]);
    let ledger = Ledger::new(options, Settings { connections: 3, ..Settings::default() });
    let refused = ledger.store().create_user(&UserId::new("new"), &Default::default()).await;
    assert!(refused.is_err(), "the session is read-only");
    let failed = execute_all(&ledger, &subject).await;
    assert!(failed.is_empty(), "{failed:?}");
    let claim =
        ledger.claim_delivery(&subject.claimed.job.id, Generation(1), &job::WorkerId("w".to_owned())).await;
    assert!(claim.is_err(), "the session is still read-only");
}
