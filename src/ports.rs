//! Ties what runs jobs, takes audio, understands text and delivers to the ports that `api`, `reconciler` and `worker` declare for it.

use api::NotInvoker;
use engines::Embedded;
use futures::future::{BoxFuture, FutureExt};
use job::{Dispatch, Generation, JobId, WorkerId, shard_of_user};
use ledger::{Delivered, StoredJob};
use outbox::{ClaimedDelivery, ClaimedPush};
use records::{ActionItem, Memory, UserId};
use secrecy::SecretString;
use store::ConversationView;
use tasks::{Refusal, TaskQueue, Verifier};
use worker::DeliveredRuns;

/// The audio webhooks of this process, as its live sessions reach them.
pub(crate) struct Audio(pub(crate) worker::AudioWebhooks);

struct Tap(worker::AudioTap);

impl api::AudioWebhooks for Audio {
    fn open(&self, user: &UserId, rate: u32) -> Box<dyn api::AudioTap> {
        Box::new(Tap(self.0.open(user, rate)))
    }
}

impl api::AudioTap for Tap {
    fn hear(&mut self, samples: &[i16]) {
        self.0.hear(samples);
    }
}

/// The keyed runs of this process, of each shard by its number, as its API reaches them.
pub(crate) struct Keyed(pub(crate) Vec<worker::ByokRuns>);

struct Permit(worker::Reservation);

impl api::ByokRuns for Keyed {
    fn permit(&self, user: &UserId) -> Option<Box<dyn api::ByokPermit>> {
        let shards = u16::try_from(self.0.len()).unwrap_or(u16::MAX);
        let runs = self.0.get(usize::from(shard_of_user(user.as_str(), shards)))?;
        Some(Box::new(Permit(runs.reserve(user)?)))
    }
}

impl api::ByokPermit for Permit {
    fn claimant(&self) -> Option<WorkerId> {
        self.0.claimant().cloned()
    }

    fn run(self: Box<Self>, claimed: StoredJob, key: SecretString) {
        self.0.run(claimed, key);
    }

    fn wait(self: Box<Self>, job: JobId, key: SecretString) {
        self.0.wait(job, key);
    }
}

/// Who may deliver, as the API asks.
pub(crate) struct Invokers(pub(crate) Verifier);

/// The delivered runs of this process, of each shard by its number, as its API reaches them.
pub(crate) struct Deliveries(pub(crate) Vec<DeliveredRuns>);

/// The task queue, as the reconciler asks it.
#[derive(Debug)]
pub(crate) struct ReconcilerQueue(pub(crate) TaskQueue);

impl api::Invokers for Invokers {
    fn check<'a>(&'a self, token: Option<&'a str>) -> BoxFuture<'a, Result<(), NotInvoker>> {
        let check = self.0.check(token).map(|checked| {
            checked.map_err(|refusal| match refusal {
                Refusal::NoKeys => NotInvoker::NoKeys,
                refusal if refusal.is_forbidden() => NotInvoker::Forbidden,
                _ => NotInvoker::NotAuthenticated,
            })
        });
        Box::pin(check)
    }
}

impl api::Deliveries for Deliveries {
    fn deliver(&self, job: JobId, generation: Generation) -> BoxFuture<'_, Delivered> {
        Box::pin(async move {
            let shards = u16::try_from(self.0.len()).unwrap_or(u16::MAX);
            match self.0.get(usize::from(job.shard(shards))) {
                Some(runs) => runs.deliver(&job, generation).await,
                None => Delivered::Busy,
            }
        })
    }
}

impl reconciler::TaskQueue for ReconcilerQueue {
    fn holds<'a>(
        &'a self,
        job: &'a JobId,
        generation: Generation,
        dispatch: Dispatch,
    ) -> BoxFuture<'a, Option<bool>> {
        Box::pin(self.0.holds(job, generation, dispatch))
    }
}

/// The embedded engine finds the categories of memories: no client waits for a model server.
pub(crate) struct Categories(pub(crate) Embedded);

impl api::Categorize for Categories {
    fn memory(&self, content: &str) -> records::MemoryCategory {
        stages::CategorizeMemory::category_of(&self.0, content)
    }
}

/// What receivers are sent has the shapes of `api`.
pub(crate) struct Bodies;

impl worker::Render for Bodies {
    fn body(
        &self,
        delivery: &ClaimedDelivery,
        conversation: Option<&ConversationView>,
        memory: Option<&Memory>,
        item: Option<&ActionItem>,
    ) -> Option<Vec<u8>> {
        api::shapes::WebhookBodies.body(delivery, conversation, memory, item)
    }

    fn push(&self, push: &ClaimedPush) -> Vec<u8> {
        api::shapes::push_body(push)
    }
}
