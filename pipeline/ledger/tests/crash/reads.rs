//! Verbs that only read: each is said to a database that refuses to be written to.

use job::Generation;
use ledger::{
    ActionFilter, AppFilter, CHECKS, CheckpointKey, Claimed, ConversationFilter, DeliveryFilter, Error,
    GoalFilter, ItemFilter, JobFilter, Ledger, MemoryFilter, PushPolicy, RequestKey, SearchQuery, Settings,
    TaskFilter,
};
use records::{FolderId, GoalId, MemoryId, UserId};

use crate::words::name;
use crate::world::{World, conversation};

/// What the readers are asked about.
struct About {
    user: UserId,
    claimed: Claimed,
    name: RequestKey,
}

macro_rules! reads {
    ($ledger:ident, $about:ident: $($verb:ident($($given:expr),*);)+) => {
        /// Every verb that is said below.
        pub(crate) const READS: &[&str] = &[$(stringify!($verb)),+];

        /// Says each of them; those that answered anything but their answer, with it.
        async fn say_all($ledger: &Ledger, $about: &About) -> Vec<(&'static str, Error)> {
            let mut failed = Vec::new();
            $(if let Err(error) = $ledger.$verb($($given),*).await {
                failed.push((stringify!($verb), error));
            })+
            failed
        }
    };
}

reads! { ledger, about:
    oldest_unhanded(); due_tasks(None, 9);
    is_migrated(); now(); backlog(); health(); gauges(); overview(); examine(); workers(); pauses();
    goals(&about.user, &GoalFilter { limit: 9, ..GoalFilter::default() });
    goal(&about.user, &GoalId::new("g"));
    goal_history(&about.user, &GoalId::new("g"), 9);
    folders(&about.user); has_folder(&about.user, &FolderId::new("f"));
    conversations(&about.user, &ConversationFilter::default());
    conversations_within(&about.user, &ConversationFilter::default(), |_| Ok::<(), ()>(()));
    conversation(&about.user, &conversation(&about.user), true);
    in_progress(&about.user); list_live(None, 9); parked_jobs(&about.user, 9);
    photos(&about.user, &conversation(&about.user)); due_live(std::time::Duration::ZERO, None, 9);
    action_items(&about.user, &ItemFilter::default());
    action_items_named(&about.user, &["i".to_owned()]);
    memories(&about.user, &MemoryFilter::default());
    memories_named(&about.user, &["m".to_owned()]);
    memory_to_tell(&about.user, &MemoryId::new("m"));
    search(&about.user, &search_query()); tasks(&about.user, &TaskFilter { limit: 9, ..TaskFilter::default() });
    conversations_between(&about.user, None, None, 9);
    chat_messages(&about.user, "main", None, 9); chat_message(&about.user, REPLY);
    user(&about.user); user_budget(&about.user); user_rows(&about.user); keys(&about.user);
    known_people(&about.user, 9, 0); known_person(&about.user, "b");
    subscriptions(&about.user);
    endpoints(&about.user); endpoint(&about.user, "hook-Reader");
    deliveries(&about.user, "hook-Reader", &ledger::DeliveryPage::first(9));
    next_delivery_in(); next_push_in(&PushPolicy::default());
    poll(&about.user, &conversation(&about.user));
    apps(&about.user, &AppFilter { limit: 9, ..AppFilter::default() }); app(&about.user, "a");
    installed_apps(&about.user); installed_app(&about.user, "a"); app_keys(&about.user, "a");
    operator_apps(None, None, 9); location(&about.user); next_chat_push_in(&PushPolicy::default()); sealed_secrets();
    run_input(&about.claimed);
    recall(&about.claimed.holding(), &CheckpointKey { stage: "describe", version: 1, digest: [7; 32] });
    repeat_of(&about.name);
    abandoned_page(None, 9);
    job(&about.claimed.job.id); job_page(&about.claimed.job.id);
    jobs_page(&filter()); causes(&filter()); preview_replay(&filter());
    replay_operations(9); replay_operation("r"); replay_items("r", 0, 9);
    endpoint_views(Some(&about.user), None, 9); given_up_deliveries(None, None, 9);
    endpoint_deliveries(&about.user, "hook-Reader", &DeliveryFilter { limit: 9, ..DeliveryFilter::default() });
    delivery_line(&about.user, "hook-Reader", "d");
    actions(&ActionFilter { limit: 9, ..ActionFilter::default() });
    verify(&CHECKS[0], 9);
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
    let refused = ledger.create_user(&UserId::new("nobody"), &Default::default()).await;
    assert!(refused.is_err(), "a session that may not write");
    let failed = say_all(&ledger, &about).await;
    assert!(failed.is_empty(), "{failed:?}");
    let claim =
        ledger.claim_delivery(&about.claimed.job.id, Generation(1), &job::WorkerId("w".to_owned())).await;
    assert!(claim.is_err(), "and it still may not");
}
