//! The take of the `inline` carrier: no bells; a free slot takes the oldest due rows from the job table itself,
//! each under its own generation, so any process with a free slot owns waiting jobs and back-offs.

use job::{Command, Queue, WorkerId};

use super::{Taken, answer};
use crate::{
    Ledger,
    effects::{Bell, Stumble, until_stored},
    error::{Doing, Error},
    row::{JobRow, Stored},
};

impl Ledger {
    pub(super) async fn take_rows(
        &self,
        queue: Queue,
        worker: &WorkerId,
        slots: u32,
    ) -> Result<Taken, Error> {
        until_stored!(self, "taking queued jobs", |bell| self.try_take_rows(
            queue,
            worker,
            i64::from(slots),
            bell
        ))
    }

    async fn try_take_rows(
        &self,
        queue: Queue,
        worker: &WorkerId,
        limit: i64,
        bell: Bell,
    ) -> Result<Taken, Stumble> {
        let (mut transaction, now) = self.begin("taking queued jobs").await?;
        let rows: Vec<JobRow> = sqlx::query_as(
            "select * from finalization_jobs where queue = $1 and status = 'queued' and ready_at <= $2 \
                 and not exists (select from queue_pauses where queue = $1) \
             order by ready_at, job_id limit $3 for no key update skip locked",
        )
        .bind(queue.as_str())
        .bind(now)
        .bind(limit)
        .fetch_all(&mut *transaction)
        .await
        .doing("taking queued jobs")?;
        let mut taken = Taken::default();
        for row in rows {
            let (user_id, job_id) = (row.user_id.clone(), row.job_id.clone());
            let Ok(stored) = Stored::try_from(row) else {
                tracing::error!(job_id, "a job cannot be read; it is put off");
                taken.answers.push("error");
                super::put_off(&mut transaction, &user_id, &job_id).await?;
                continue;
            };
            let claim =
                Command::Claim { generation: stored.job.generation, worker: worker.clone(), keys: false };
            match self.decide_and_write(&mut transaction, &stored, claim, now, bell).await? {
                Ok(written) => taken.granted(written),
                Err(refusal) => taken.answers.push(answer(refusal, &stored.job.state)),
            }
        }
        transaction.commit().await.doing("taking queued jobs")?;
        Ok(taken)
    }
}
