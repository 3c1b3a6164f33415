//! Users, keys, endpoints, subscriptions, audio webhooks; and the records of operators' actions.

use chrono::{DateTime, TimeDelta};
use db::Error;
use job::Queue;
use ledger::Ledger;
use operations::{Operations, Process, RunCounts};
use outbox::{EndpointChange, Health, NewAudioWebhook, NewEndpoint, deliveries::recover::RECOVERS_FOR};
use records::{EventKind, UserId, WebhookFormat};
use secrecy::SecretString;
use store::NewKey;

use crate::{
    CrashOperation,
    job_operations::{complete, dead_letter},
    keyed_requests::request_key,
    pushes::{remind, subscription},
    world::{World, action},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Account {
    CreateUser,
    CreateKey,
    AddKey,
    UseKey,
    RevokeKey,
    CreateEndpoint,
    ChangeEndpoint,
    RotateSecret,
    DeleteEndpoint,
    EnableEndpoint,
    TestDelivery,
    Redeliver,
    RedeliverForOperator,
    Recover,
    RecoverForOperator,
    TryDelivery,
    TryEndpoint,
    Subscribe,
    Unsubscribe,
    PauseQueue,
    ResumeQueue,
    Recount,
    Report,
    ForgetProcess,
    SetAudioWebhook,
    SwitchAudioWebhook,
    NoteAudioOutcome,
}

/// A user, and the id of one of the user's deliveries or subscriptions.
pub(crate) struct Setup {
    user: UserId,
    of: String,
}

const GIVEN_UP: &str = "update webhook_deliveries set status = 'exhausted', next_at = null, \
     finished_at = clock_timestamp() - interval '1 minute' where user_id = $1";
const BACKING_OFF: &str = "update webhook_deliveries set next_at = clock_timestamp() + interval '1 hour' \
     where user_id = $1 and status = 'pending'";
const SWITCHED_OFF: &str =
    "update webhook_endpoints set enabled = false, disabled_reason = 'failing' where user_id = $1";
/// A state that no operation leaves behind; a recount repairs it.
const MISCOUNTED: &str = "update finalization_totals set jobs = jobs + 1 where ctid = (select min(ctid) from \
     finalization_totals) and $1 <> ''";

impl CrashOperation for Account {
    type Setup = Setup;

    /// Operators' recoveries are recorded each time, and an audio webhook's version is raised each time.
    fn is_idempotent(self) -> bool {
        let recorded = matches!(self, Self::RedeliverForOperator | Self::Recount);
        !recorded && !matches!(self, Self::SetAudioWebhook | Self::SwitchAudioWebhook)
    }

    fn keeps_job_rules(self) -> bool {
        self != Self::Recount
    }

    async fn prepare(self, world: &World, user_id: &str) -> Setup {
        let ledger = world.ledger();
        let mut setup = Setup { user: UserId::new(user_id), of: String::new() };
        if matches!(self, Self::CreateUser | Self::Report | Self::ForgetProcess) {
            if self == Self::ForgetProcess {
                Self::Report.execute(&ledger, &setup).await.unwrap();
            }
            return setup;
        }
        setup.user = world.user(user_id).await;
        let user = &setup.user;
        match self {
            Self::SwitchAudioWebhook | Self::NoteAudioOutcome => {
                Self::SetAudioWebhook.execute(&ledger, &setup).await.unwrap();
            }
            Self::UseKey | Self::RevokeKey => Self::CreateKey.execute(&ledger, &setup).await.unwrap(),
            Self::EnableEndpoint => world.run(SWITCHED_OFF, user).await,
            Self::Redeliver | Self::RedeliverForOperator | Self::Recover | Self::RecoverForOperator => {
                complete(world, &ledger, user).await;
                world.run(GIVEN_UP, user).await;
                let all = ledger
                    .outbox()
                    .deliveries(user, &hook(user), &outbox::DeliveryPage::first(9))
                    .await
                    .unwrap();
                let delivery = all.into_iter().find(|delivery| delivery.event == "conversation.completed");
                setup.of = delivery.expect("the delivery exists").id;
            }
            Self::TryDelivery | Self::TryEndpoint => {
                complete(world, &ledger, user).await;
                world.run(BACKING_OFF, user).await;
                setup.of = ledger
                    .outbox()
                    .deliveries(user, &hook(user), &outbox::DeliveryPage::first(1))
                    .await
                    .unwrap()
                    .remove(0)
                    .id;
            }
            Self::Unsubscribe => {
                remind(&ledger, user).await;
                setup.of = ledger.outbox().subscriptions(user).await.unwrap().remove(0).id;
            }
            Self::PauseQueue | Self::ResumeQueue => {
                Operations::new(&ledger).resume(Queue::Finalization, &action(user)).await.unwrap();
                sqlx::query("delete from operator_actions").execute(&world.pool).await.unwrap();
                if self == Self::ResumeQueue {
                    Self::PauseQueue.execute(&ledger, &setup).await.unwrap();
                }
            }
            Self::Recount => {
                dead_letter(world, &ledger, user).await;
                world.run(MISCOUNTED, user).await;
            }
            _ => {}
        }
        setup
    }

    async fn execute(self, ledger: &Ledger, setup: &Setup) -> Result<(), Error> {
        let (user, of) = (&setup.user, setup.of.as_str());
        let (hook, named) = (hook(user), || ledger.under_key(request_key(user)));
        let secret = SecretString::from("whsec_bmV3");
        match self {
            Self::CreateUser => ledger.store().create_user(user, &Default::default()).await.map(drop),
            Self::CreateKey => named().store().create_key(user, &key(user)).await.map(drop),
            Self::AddKey => named().store().add_key(user, &key(user)).await.map(drop),
            Self::UseKey => ledger.store().key_owner(&key(user).sha256).await.map(drop),
            Self::RevokeKey => ledger.store().revoke_key(user, &key(user).id).await.map(drop),
            Self::CreateEndpoint => named().outbox().create_endpoint(user, &endpoint(user)).await.map(drop),
            Self::ChangeEndpoint => {
                let change = EndpointChange { enabled: Some(false), ..Default::default() };
                ledger.outbox().change_endpoint(user, &hook, &change).await.map(drop)
            }
            Self::RotateSecret => ledger.outbox().rotate_secret(user, &hook, &secret).await.map(drop),
            Self::DeleteEndpoint => ledger.outbox().delete_endpoint(user, &hook).await.map(drop),
            Self::EnableEndpoint => {
                Operations::new(ledger).enable_endpoint(user, &hook, &action(user)).await.map(drop)
            }
            Self::TestDelivery => {
                named().outbox().test_delivery(user, &hook, &format!("test-{user}")).await.map(drop)
            }
            Self::Redeliver => ledger.outbox().redeliver(user, &hook, of).await.map(drop),
            Self::RedeliverForOperator => {
                Operations::new(ledger).redeliver_for_operator(user, &hook, of, &action(user)).await.map(drop)
            }
            Self::Recover => {
                ledger.outbox().recover(user, &hook, DateTime::UNIX_EPOCH, RECOVERS_FOR).await.map(drop)
            }
            Self::RecoverForOperator => {
                let (since, begun) = (DateTime::UNIX_EPOCH, DateTime::UNIX_EPOCH + TimeDelta::days(40_000));
                Operations::new(ledger)
                    .recover_deliveries(user, &hook, since, begun, 9, &action(user))
                    .await
                    .map(drop)
            }
            Self::TryDelivery => {
                Operations::new(ledger).try_delivery_now(user, &hook, of, &action(user)).await.map(drop)
            }
            Self::TryEndpoint => {
                Operations::new(ledger).try_endpoint_now(user, &hook, &action(user)).await.map(drop)
            }
            Self::Subscribe => named().outbox().subscribe(user, &subscription(user)).await.map(drop),
            Self::Unsubscribe => ledger.outbox().unsubscribe(user, of).await.map(drop),
            Self::PauseQueue => {
                Operations::new(ledger).pause(Queue::Finalization, &action(user)).await.map(drop)
            }
            Self::ResumeQueue => {
                Operations::new(ledger).resume(Queue::Finalization, &action(user)).await.map(drop)
            }
            Self::Recount => Operations::new(ledger).recount(&action(user)).await.map(drop),
            Self::Report => {
                let ended = RunCounts { completed: 1, ..Default::default() };
                Operations::new(ledger).report_process(&process(user), &ended).await
            }
            Self::ForgetProcess => Operations::new(ledger).forget_process(&process(user).id).await,
            Self::SetAudioWebhook => {
                ledger.outbox().set_audio_webhook(user, &audio_webhook()).await.map(drop)
            }
            Self::SwitchAudioWebhook => ledger.outbox().switch_audio_webhook(user, false).await.map(drop),
            Self::NoteAudioOutcome => ledger.outbox().note_audio_outcome(user, 1, Health::Gone).await,
        }
    }
}

fn hook(user: &UserId) -> String {
    format!("hook-{user}")
}

fn key(user: &UserId) -> NewKey {
    // A digest that differs for each user.
    let mut sha256 = [0; 32];
    for (index, byte) in user.as_str().bytes().enumerate() {
        sha256[index % 32] ^= byte.rotate_left(u32::try_from(index / 32).unwrap());
    }
    NewKey {
        id: format!("key-{user}"),
        name: "phone".to_owned(),
        prefix: "lsk_".to_owned(),
        sha256,
        scopes: vec!["profile:read".to_owned()],
        expires_at: None,
    }
}

fn endpoint(user: &UserId) -> NewEndpoint {
    NewEndpoint {
        force: true,
        id: format!("second-{user}"),
        url: "https://example.com/second".to_owned(),
        events: vec![EventKind::ConversationCompleted],
        format: WebhookFormat::Full,
        secret: SecretString::from("whsec_c2VjcmV0"),
    }
}

fn audio_webhook() -> NewAudioWebhook {
    NewAudioWebhook {
        url: "https://example.com/audio".to_owned(),
        seconds: 5,
        secret: SecretString::from("whsec_c2VjcmV0"),
        replace_secret: false,
    }
}

fn process(user: &UserId) -> Process {
    Process {
        id: user.to_string(),
        version: "1".to_owned(),
        roles: vec!["worker".to_owned()],
        dispatch_mode: "postgres".to_owned(),
        finalization_slots: 1,
        creation_slots: 1,
        stopping: false,
    }
}
