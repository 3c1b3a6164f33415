//! The commands that are said of a conversation, of a person, or of a queue's bells.

use ledger::ReprocessRefusal;

use super::*;

impl Walk {
    pub(super) async fn finalize(&mut self, place: usize) {
        let person = self.people[self.talks[place].user].id.clone();
        let id = self.talks[place].id.clone();
        let newest = self.talks[place].jobs.last().map(|mirror| mirror.job.clone());
        let keys = self.keys();
        let finalized = match keys.as_ref().map(Keys::with) {
            None => self.world.ledger.finalize(&person, &id, None).await.unwrap(),
            Some(with) => {
                let finalized = self.world.ledger.finalize_with_keys(&person, &id, None, with).await.unwrap();
                finalized.map(|finalized| finalized.job)
            }
        };
        if let Some(job) = &newest {
            match decide(job, Command::Admit, job.admitted_at, &Policy::default()) {
                Ok(_) => self.seen.granted(job.state.status(), &Command::Admit, "anew"),
                Err(refusal) => self.seen.refused(job.state.status(), &Command::Admit, refusal),
            }
        }
        match self.talks[place].status {
            None => assert_eq!(finalized, Err(ledger::AdmitRefusal::NoConversation)),
            Some("in_progress" | "failed") => {
                let job = finalized.unwrap();
                let mut talk = self.talks.remove(place);
                self.admitted(&mut talk, Origin::Finalize, keys).await;
                assert_eq!(job.as_ref(), talk.jobs.last().map(|mirror| &mirror.job.id));
                self.talks.insert(place, talk);
            }
            Some(status) => {
                let view = self.world.ledger.conversation(&person, &id, false).await.unwrap().unwrap();
                assert_eq!(view.conversation.status.as_str(), status);
                assert_eq!(finalized.unwrap(), newest.map(|job| job.id));
            }
        }
    }

    /// The next revision of what is completed or failed; a repeat while a job lives; a refusal otherwise.
    pub(super) async fn reprocess(&mut self, place: usize) {
        let talk = &self.talks[place];
        let (person, id) = (self.people[talk.user].id.clone(), talk.id.clone());
        let live = talk.jobs.iter().map(|mirror| &mirror.job).find(|job| !job.state.is_terminal()).cloned();
        let reprocessed = self.world.ledger.reprocess(&person, &id, None).await.unwrap();
        match (self.talks[place].status, live) {
            (None, _) => assert_eq!(reprocessed, Err(ReprocessRefusal::NoConversation)),
            (_, Some(job)) if job.state == State::BlockedByok => {
                assert_eq!(reprocessed, Err(ReprocessRefusal::KeysRequired));
            }
            (Some(status), Some(job)) => {
                let repeat = reprocessed.unwrap();
                assert_eq!((repeat.fresh, repeat.job_id), (false, job.id));
                assert_eq!(repeat.conversation.status.as_str(), status);
            }
            (Some("completed" | "failed"), None) if self.people[self.talks[place].user].marked => {
                assert_eq!(reprocessed, Err(ReprocessRefusal::KeysRequired));
            }
            (Some("completed" | "failed"), None) => {
                let admitted = reprocessed.unwrap();
                assert!(admitted.fresh);
                let mut talk = self.talks.remove(place);
                let met = if talk.status == Some("completed") { "completed" } else { "failed" };
                self.seen.met_whole(met, "Reprocess");
                self.admitted(&mut talk, Origin::Reprocess, None).await;
                assert_eq!(Some(&admitted.job_id), talk.jobs.last().map(|mirror| &mirror.job.id));
                assert_eq!(Some(admitted.conversation.status.as_str()), talk.status);
                self.talks.insert(place, talk);
            }
            (Some(_), None) => assert_eq!(reprocessed, Err(ReprocessRefusal::NotFinished)),
        }
    }

    pub(super) async fn delete(&mut self, place: usize) {
        let talk = &self.talks[place];
        let live = talk.jobs.iter().position(|mirror| !mirror.job.state.is_terminal());
        let (person, id) = (self.people[talk.user].id.clone(), talk.id.clone());
        let there = talk.status.is_some();
        let now = self.world.ledger.now().await.unwrap();
        assert_eq!(self.world.ledger.delete_conversation(&person, &id).await.unwrap(), there);
        self.talks[place].status = None;
        if let Some(which) = live {
            self.settle(place, which, &Command::Withdraw, now).await.unwrap();
        }
    }

    /// Marks or unmarks a person; to mark says `RequireKeys` to each of the person's live jobs.
    pub(super) async fn mark(&mut self, place: usize) {
        let user = self.talks[place].user;
        let marked = !self.people[user].marked && self.chance.percent(60);
        let change = UserChange { requires_byok: Some(marked), ..UserChange::default() };
        let now = self.world.ledger.now().await.unwrap();
        self.world.ledger.change_user(&self.people[user].id, &change).await.unwrap().unwrap();
        self.people[user].marked = marked;
        if !marked {
            return;
        }
        for place in 0..TALKS {
            let talk = &self.talks[place];
            let live = talk.jobs.iter().position(|mirror| !mirror.job.state.is_terminal());
            if let Some(which) = live.filter(|_| talk.user == user) {
                self.settle(place, which, &Command::RequireKeys, now).await.unwrap();
            }
        }
    }

    /// A checkpoint is written exactly under the present lease, and changes no job.
    pub(super) async fn record(&mut self, place: usize, which: usize) {
        let mirror = &self.talks[place].jobs[which];
        let epoch = Epoch(mirror.job.epoch.0 + self.chance.offset());
        let holding = ledger::Holding {
            user_id: self.people[self.talks[place].user].id.clone(),
            job_id: mirror.job.id.clone(),
            epoch,
        };
        let key = ledger::CheckpointKey { stage: "structure", version: 1, digest: [0; 32] };
        let kept = self.world.ledger.record(&holding, &key, &serde_json::json!(1), &[]).await.unwrap();
        assert_eq!(kept, epoch == mirror.job.epoch);
        assert_same(&self.world.view(&mirror.job.id).await, mirror, &"record");
    }

    /// A take of a few bells is a claim per bell, in the order of their times.
    pub(super) async fn take(&mut self) {
        let queue = *self.chance.one_of(&[Queue::Finalization, Queue::Creation]);
        // A process that knows of no bell whose time was moved by hand; connected before the clock is read, so that none
        // becomes due meanwhile.
        let process = self.world.other_process();
        process.poll(&self.world.ann, &records::ConversationId::new("nothing")).await.unwrap();
        let now = self.world.ledger.now().await.unwrap();
        let bells = self.due_bells(queue, now).await;
        // One that becomes due while it is asked for would be answered as well.
        if self.due_bells(queue, now + chrono::Duration::seconds(5)).await.len() > bells.len() {
            process.close().await;
            return;
        }
        let taken = process.take(queue, &worker("w"), SLOTS).await.unwrap();
        process.close().await;
        let now = self.moment_of(&bells).await.unwrap_or(now);
        let (mut expected, mut checks) = (Vec::new(), Vec::new());
        for (id, _, generation) in &bells {
            let id = JobId::from_text(id);
            let claim =
                Command::Claim { generation: Generation(*generation), worker: worker("w"), keys: false };
            expected.push(match self.find(&id) {
                Some((place, which)) => {
                    let job = self.talks[place].jobs[which].job.clone();
                    // A second bell of the same job finds the first one's work done.
                    let decided = self.decide(place, which, &claim, now);
                    checks.push((place, which, claim.clone()));
                    answer(&job, &claim, &decided)
                }
                None => {
                    let retired = self.retired.iter().flat_map(|talk| &talk.jobs);
                    let job = &retired.clone().find(|mirror| mirror.job.id == id).unwrap().job;
                    answer(job, &claim, &decide(job, claim.clone(), now, &Policy::default()))
                }
            });
        }
        let mut answers = taken.answers;
        answers.sort_unstable();
        expected.sort_unstable();
        assert_eq!(answers, expected);
        for (place, which, claim) in checks {
            let mirror = &self.talks[place].jobs[which];
            assert_same(&self.world.view(&mirror.job.id).await, mirror, &claim);
            self.check_row(place, which).await;
        }
        let left = self.due_bells(queue, now).await;
        assert!(bells.iter().all(|bell| !left.contains(bell)), "{bells:?} and then {left:?}");
    }

    /// When a take stored its claims, if it stored any.
    async fn moment_of(&self, bells: &[(String, i64, i64)]) -> Option<Timestamp> {
        for (id, ..) in bells {
            let id = JobId::from_text(id);
            let Some((place, which)) = self.find(&id) else { continue };
            let view = self.world.view(&id).await;
            if view.version != self.talks[place].jobs[which].version {
                return Some(view.updated_at);
            }
        }
        None
    }

    async fn due_bells(&self, queue: Queue, now: Timestamp) -> Vec<(String, i64, i64)> {
        sqlx::query_as(
            "select job_id, ring, dispatch_generation from finalization_bells \
             where queue = $1 and ring_at <= $2 order by ring_at, job_id limit $3",
        )
        .bind(queue.as_str())
        .bind(now)
        .bind(i64::from(SLOTS))
        .fetch_all(&self.world.pool)
        .await
        .unwrap()
    }

    fn find(&self, id: &JobId) -> Option<(usize, usize)> {
        self.talks.iter().enumerate().find_map(|(place, talk)| {
            talk.jobs.iter().position(|mirror| mirror.job.id == *id).map(|which| (place, which))
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
