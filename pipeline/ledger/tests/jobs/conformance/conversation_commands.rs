//! The commands on a conversation, a user or a queue.

use ledger::ReprocessRefusal;

use super::*;

impl RandomRun {
    pub(super) async fn finalize(&mut self, index: usize) {
        let user_id = self.users[self.conversations[index].user].id.clone();
        let id = self.conversations[index].id.clone();
        let newest = self.conversations[index].jobs.last().map(|expected| expected.job.clone());
        let keys = self.keys();
        let finalized = match keys.as_ref().map(Keys::with) {
            None => self.world.ledger.finalize(&user_id, &id, None, None).await.unwrap(),
            Some(with) => self.world.ledger.finalize(&user_id, &id, None, Some(with)).await.unwrap(),
        };
        let finalized = finalized.map(|finalized| finalized.job);
        match self.conversations[index].status {
            None => assert_eq!(finalized, Err(ledger::AdmitRefusal::NoConversation)),
            Some("in_progress" | "failed") => {
                let job = finalized.unwrap();
                let mut conversation = self.conversations.remove(index);
                self.admitted(&mut conversation, Origin::Finalize, keys).await;
                assert_eq!(job.as_ref(), conversation.jobs.last().map(|expected| &expected.job.id));
                self.conversations.insert(index, conversation);
            }
            Some(status) => {
                let view =
                    self.world.ledger.store().conversation(&user_id, &id, false).await.unwrap().unwrap();
                assert_eq!(view.conversation.status.as_str(), status);
                assert_eq!(finalized.unwrap(), newest.map(|job| job.id));
            }
        }
    }

    /// Admits the next revision of a completed or failed conversation, repeats while a job lives, and is refused
    /// otherwise.
    pub(super) async fn reprocess(&mut self, index: usize) {
        let conversation = &self.conversations[index];
        let (user_id, id) = (self.users[conversation.user].id.clone(), conversation.id.clone());
        let live = conversation
            .jobs
            .iter()
            .map(|expected| &expected.job)
            .find(|job| !job.state.is_terminal())
            .cloned();
        let reprocessed = self.world.ledger.reprocess(&user_id, &id, None).await.unwrap();
        match (self.conversations[index].status, live) {
            (None, _) => assert_eq!(reprocessed, Err(ReprocessRefusal::NoConversation)),
            (_, Some(job)) if job.state == State::BlockedByok => {
                assert_eq!(reprocessed, Err(ReprocessRefusal::KeysRequired));
            }
            (Some(status), Some(job)) => {
                let repeat = reprocessed.unwrap();
                assert_eq!((repeat.fresh, repeat.job_id), (false, job.id));
                assert_eq!(repeat.conversation.status.as_str(), status);
            }
            (Some("completed" | "failed"), None)
                if self.users[self.conversations[index].user].requires_keys =>
            {
                assert_eq!(reprocessed, Err(ReprocessRefusal::KeysRequired));
            }
            (Some("completed" | "failed"), None) => {
                let admitted = reprocessed.unwrap();
                assert!(admitted.fresh);
                let mut conversation = self.conversations.remove(index);
                let met = if conversation.status == Some("completed") { "completed" } else { "failed" };
                self.coverage.reprocessed(met, "Reprocess");
                self.admitted(&mut conversation, Origin::Reprocess, None).await;
                assert_eq!(Some(&admitted.job_id), conversation.jobs.last().map(|expected| &expected.job.id));
                assert_eq!(Some(admitted.conversation.status.as_str()), conversation.status);
                self.conversations.insert(index, conversation);
            }
            (Some(_), None) => assert_eq!(reprocessed, Err(ReprocessRefusal::NotFinished)),
        }
    }

    pub(super) async fn delete(&mut self, index: usize) {
        let conversation = &self.conversations[index];
        let withdrawn =
            |expected: &ExpectedJob| !expected.job.state.is_terminal() || expected.is_unsettled_dead_letter();
        let jobs = conversation.jobs.iter().enumerate();
        let withdrawn: Vec<usize> =
            jobs.filter(|(_, expected)| withdrawn(expected)).map(|(which, _)| which).collect();
        let (user_id, id) = (self.users[conversation.user].id.clone(), conversation.id.clone());
        let there = conversation.status.is_some();
        let now = self.world.ledger.db().now().await.unwrap();
        assert_eq!(self.world.ledger.delete_conversation(&user_id, &id).await.unwrap(), there);
        self.conversations[index].status = None;
        for which in withdrawn {
            self.settle(index, which, &Command::Withdraw, now).await.unwrap();
        }
    }

    /// Marks or unmarks a user; marking sends `RequireKeys` to each of the user's live jobs.
    pub(super) async fn set_requires_keys(&mut self, index: usize) {
        let user = self.conversations[index].user;
        let requires_keys = !self.users[user].requires_keys && self.random.percent(60);
        let change = UserChange { requires_byok: Some(requires_keys), ..UserChange::default() };
        let now = self.world.ledger.db().now().await.unwrap();
        self.world.ledger.change_user(&self.users[user].id, &change).await.unwrap().unwrap();
        self.users[user].requires_keys = requires_keys;
        if !requires_keys {
            return;
        }
        for index in 0..CONVERSATIONS {
            let conversation = &self.conversations[index];
            let live = conversation.jobs.iter().position(|expected| !expected.job.state.is_terminal());
            if let Some(which) = live.filter(|_| conversation.user == user) {
                self.settle(index, which, &Command::RequireKeys, now).await.unwrap();
            }
        }
    }

    /// A checkpoint is written under the current epoch only, and changes no job.
    pub(super) async fn record(&mut self, index: usize, which: usize) {
        let expected = &self.conversations[index].jobs[which];
        let epoch = Epoch(expected.job.epoch.0 + self.random.offset());
        let token = ledger::LeaseToken {
            user_id: self.users[self.conversations[index].user].id.clone(),
            job_id: expected.job.id.clone(),
            epoch,
        };
        let key = ledger::CheckpointKey { stage: "structure", version: 1, digest: [0; 32] };
        let kept = self.world.ledger.record(&token, &key, &serde_json::json!(1), false, &[]).await.unwrap();
        assert_eq!(kept, epoch == expected.job.epoch);
        assert_same(&self.world.view(&expected.job.id).await, expected, &"record");
    }

    /// A claim for a few slots is a `Claim` of the current dispatch of each of the oldest due jobs.
    pub(super) async fn claim(&mut self) {
        let queue = *self.random.one_of(&[Queue::Finalization, Queue::Creation]);
        let now = self.world.ledger.db().now().await.unwrap();
        let due = self.due(queue, now).await;
        // A job that becomes due while the claim runs would be claimed as well.
        if self.due(queue, now + chrono::Duration::seconds(5)).await.len() > due.len() {
            return;
        }
        let claims = self.world.ledger.claim(&wanted(queue, SLOTS)).await.unwrap();
        assert_eq!(claims.deferred, 0);
        assert_eq!(claims.claims.iter().map(|claimed| claimed.job.id.to_string()).collect::<Vec<_>>(), due);
        for claimed in &claims.claims {
            let (index, which) = self.find(&claimed.job.id).unwrap();
            let generation = self.conversations[index].jobs[which].job.generation;
            let claim = Command::Claim { generation, worker: worker("w"), keys: false };
            let State::Leased(lease) = &claimed.job.state else { panic!("{claimed:?}") };
            self.decide(index, which, &claim, lease.claimed_at).unwrap();
            let expected = &self.conversations[index].jobs[which];
            assert_same(&self.world.view(&expected.job.id).await, expected, &claim);
            self.check_row(index, which).await;
        }
        let left = self.due(queue, now).await;
        assert!(due.iter().all(|job| !left.contains(job)), "{due:?} and then {left:?}");
    }

    async fn due(&self, queue: Queue, now: Timestamp) -> Vec<String> {
        sqlx::query_scalar(
            "select job_id from finalization_jobs where queue = $1 and status = 'queued' and ready_at <= $2 \
             order by ready_at, job_id limit $3",
        )
        .bind(queue.as_str())
        .bind(now)
        .bind(i64::from(SLOTS))
        .fetch_all(&self.world.pool)
        .await
        .unwrap()
    }

    fn find(&self, id: &JobId) -> Option<(usize, usize)> {
        self.conversations.iter().enumerate().find_map(|(index, conversation)| {
            conversation.jobs.iter().position(|expected| expected.job.id == *id).map(|which| (index, which))
        })
    }

    /// The totals match: finished jobs, operators' actions, one live job per conversation.
    pub(super) async fn check_totals(&self) {
        for status in ["completed", "dead_letter"] {
            let jobs =
                self.conversations.iter().chain(&self.finished).flat_map(|conversation| &conversation.jobs);
            let expected = jobs.filter(|expected| expected.job.state.status() == status).count();
            let total: i64 =
                sqlx::query_scalar("select sum(jobs)::bigint from finalization_totals where status = $1")
                    .bind(status)
                    .fetch_one(&self.world.pool)
                    .await
                    .unwrap();
            assert_eq!(total, expected as i64, "{status}");
        }
        assert_eq!(self.world.count("select count(*) from operator_actions").await, self.actions);
        for conversation in &self.conversations {
            let live: Vec<&Job> = conversation
                .jobs
                .iter()
                .map(|expected| &expected.job)
                .filter(|job| !job.state.is_terminal())
                .collect();
            match (&live[..], conversation.status) {
                ([_], Some("processing")) | ([], _) => {
                    assert_ne!((live.len(), conversation.status), (0, Some("processing")))
                }
                ([job], Some("completed")) => assert_eq!(job.origin, Origin::Reprocess),
                other => panic!("{other:?} of {}", conversation.id),
            }
        }
    }
}

const SLOTS: u32 = 4;
