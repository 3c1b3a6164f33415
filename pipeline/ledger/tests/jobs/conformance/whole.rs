//! The commands about a conversation, a user, or a queue.

use ledger::ReprocessRefusal;

use super::*;

impl Walk {
    pub(super) async fn finalize(&mut self, index: usize) {
        let person = self.people[self.talks[index].user].id.clone();
        let id = self.talks[index].id.clone();
        let newest = self.talks[index].jobs.last().map(|mirror| mirror.job.clone());
        let keys = self.keys();
        let finalized = match keys.as_ref().map(Keys::with) {
            None => self.world.ledger.finalize(&person, &id, None).await.unwrap(),
            Some(with) => self.world.ledger.finalize_with_keys(&person, &id, None, with).await.unwrap(),
        };
        let finalized = finalized.map(|finalized| finalized.job);
        if let Some(job) = &newest {
            match decide(job, Command::Admit, job.admitted_at, &Policy::default()) {
                Ok(_) => self.seen.granted(job.state.status(), &Command::Admit, "anew"),
                Err(refusal) => self.seen.refused(job.state.status(), &Command::Admit, refusal),
            }
        }
        match self.talks[index].status {
            None => assert_eq!(finalized, Err(ledger::AdmitRefusal::NoConversation)),
            Some("in_progress" | "failed") => {
                let job = finalized.unwrap();
                let mut talk = self.talks.remove(index);
                self.admitted(&mut talk, Origin::Finalize, keys).await;
                assert_eq!(job.as_ref(), talk.jobs.last().map(|mirror| &mirror.job.id));
                self.talks.insert(index, talk);
            }
            Some(status) => {
                let view =
                    self.world.ledger.store().conversation(&person, &id, false).await.unwrap().unwrap();
                assert_eq!(view.conversation.status.as_str(), status);
                assert_eq!(finalized.unwrap(), newest.map(|job| job.id));
            }
        }
    }

    /// The next revision of what is completed or failed; a repeat while a job lives; a refusal otherwise.
    pub(super) async fn reprocess(&mut self, index: usize) {
        let talk = &self.talks[index];
        let (person, id) = (self.people[talk.user].id.clone(), talk.id.clone());
        let live = talk.jobs.iter().map(|mirror| &mirror.job).find(|job| !job.state.is_terminal()).cloned();
        let reprocessed = self.world.ledger.reprocess(&person, &id, None).await.unwrap();
        match (self.talks[index].status, live) {
            (None, _) => assert_eq!(reprocessed, Err(ReprocessRefusal::NoConversation)),
            (_, Some(job)) if job.state == State::BlockedByok => {
                assert_eq!(reprocessed, Err(ReprocessRefusal::KeysRequired));
            }
            (Some(status), Some(job)) => {
                let repeat = reprocessed.unwrap();
                assert_eq!((repeat.fresh, repeat.job_id), (false, job.id));
                assert_eq!(repeat.conversation.status.as_str(), status);
            }
            (Some("completed" | "failed"), None) if self.people[self.talks[index].user].marked => {
                assert_eq!(reprocessed, Err(ReprocessRefusal::KeysRequired));
            }
            (Some("completed" | "failed"), None) => {
                let admitted = reprocessed.unwrap();
                assert!(admitted.fresh);
                let mut talk = self.talks.remove(index);
                let met = if talk.status == Some("completed") { "completed" } else { "failed" };
                self.seen.met_whole(met, "Reprocess");
                self.admitted(&mut talk, Origin::Reprocess, None).await;
                assert_eq!(Some(&admitted.job_id), talk.jobs.last().map(|mirror| &mirror.job.id));
                assert_eq!(Some(admitted.conversation.status.as_str()), talk.status);
                self.talks.insert(index, talk);
            }
            (Some(_), None) => assert_eq!(reprocessed, Err(ReprocessRefusal::NotFinished)),
        }
    }

    pub(super) async fn delete(&mut self, index: usize) {
        let talk = &self.talks[index];
        let live = talk.jobs.iter().position(|mirror| !mirror.job.state.is_terminal());
        let (person, id) = (self.people[talk.user].id.clone(), talk.id.clone());
        let there = talk.status.is_some();
        let now = self.world.ledger.db().now().await.unwrap();
        assert_eq!(self.world.ledger.delete_conversation(&person, &id).await.unwrap(), there);
        self.talks[index].status = None;
        if let Some(which) = live {
            self.settle(index, which, &Command::Withdraw, now).await.unwrap();
        }
    }

    /// Marks or unmarks a person; to mark says `RequireKeys` to each of the person's live jobs.
    pub(super) async fn mark(&mut self, index: usize) {
        let user = self.talks[index].user;
        let marked = !self.people[user].marked && self.chance.percent(60);
        let change = UserChange { requires_byok: Some(marked), ..UserChange::default() };
        let now = self.world.ledger.db().now().await.unwrap();
        self.world.ledger.change_user(&self.people[user].id, &change).await.unwrap().unwrap();
        self.people[user].marked = marked;
        if !marked {
            return;
        }
        for index in 0..TALKS {
            let talk = &self.talks[index];
            let live = talk.jobs.iter().position(|mirror| !mirror.job.state.is_terminal());
            if let Some(which) = live.filter(|_| talk.user == user) {
                self.settle(index, which, &Command::RequireKeys, now).await.unwrap();
            }
        }
    }

    /// A checkpoint is written exactly under the present lease, and changes no job.
    pub(super) async fn record(&mut self, index: usize, which: usize) {
        let mirror = &self.talks[index].jobs[which];
        let epoch = Epoch(mirror.job.epoch.0 + self.chance.offset());
        let token = ledger::LeaseToken {
            user_id: self.people[self.talks[index].user].id.clone(),
            job_id: mirror.job.id.clone(),
            epoch,
        };
        let key = ledger::CheckpointKey { stage: "structure", version: 1, digest: [0; 32] };
        let kept = self.world.ledger.record(&token, &key, &serde_json::json!(1), false, &[]).await.unwrap();
        assert_eq!(kept, epoch == mirror.job.epoch);
        assert_same(&self.world.view(&mirror.job.id).await, mirror, &"record");
    }

    /// A claim of a few slots is a `Claim` of the present dispatch for each of the oldest due jobs.
    pub(super) async fn claim(&mut self) {
        let queue = *self.chance.one_of(&[Queue::Finalization, Queue::Creation]);
        let now = self.world.ledger.db().now().await.unwrap();
        let due = self.due(queue, now).await;
        // One that becomes due while the claim is made would be claimed as well.
        if self.due(queue, now + chrono::Duration::seconds(5)).await.len() > due.len() {
            return;
        }
        let claims = self.world.ledger.claim(&wanted(queue, SLOTS)).await.unwrap();
        assert_eq!(claims.deferred, 0);
        assert_eq!(claims.claims.iter().map(|claimed| claimed.job.id.to_string()).collect::<Vec<_>>(), due);
        for claimed in &claims.claims {
            let (index, which) = self.find(&claimed.job.id).unwrap();
            let generation = self.talks[index].jobs[which].job.generation;
            let claim = Command::Claim { generation, worker: worker("w"), keys: false };
            let State::Leased(lease) = &claimed.job.state else { panic!("{claimed:?}") };
            self.decide(index, which, &claim, lease.claimed_at).unwrap();
            let mirror = &self.talks[index].jobs[which];
            assert_same(&self.world.view(&mirror.job.id).await, mirror, &claim);
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
        self.talks.iter().enumerate().find_map(|(index, talk)| {
            talk.jobs.iter().position(|mirror| mirror.job.id == *id).map(|which| (index, which))
        })
    }

    /// What the walk did is what the books say: finished jobs, operators' actions, one live job per conversation.
    pub(super) async fn check_totals(&self) {
        for status in ["completed", "dead_letter"] {
            let jobs = self.talks.iter().chain(&self.retired).flat_map(|talk| &talk.jobs);
            let expected = jobs.filter(|mirror| mirror.job.state.status() == status).count();
            let total: i64 =
                sqlx::query_scalar("select sum(jobs)::bigint from finalization_totals where status = $1")
                    .bind(status)
                    .fetch_one(&self.world.pool)
                    .await
                    .unwrap();
            assert_eq!(total, expected as i64, "{status}");
        }
        assert_eq!(self.world.count("select count(*) from operator_actions").await, self.actions);
        for talk in &self.talks {
            let live: Vec<&Job> =
                talk.jobs.iter().map(|mirror| &mirror.job).filter(|job| !job.state.is_terminal()).collect();
            match (&live[..], talk.status) {
                ([_], Some("processing")) | ([], _) => {
                    assert_ne!((live.len(), talk.status), (0, Some("processing")))
                }
                ([job], Some("completed")) => assert_eq!(job.origin, Origin::Reprocess),
                other => panic!("{other:?} of {}", talk.id),
            }
        }
    }
}

const SLOTS: u32 = 4;
