//! The take of the `inline` carrier: no bells; a free slot takes the oldest due rows from the job table itself,
//! each under its own generation, so any process with a free slot owns waiting jobs and back-offs.

use std::time::Instant;

use job::{Command, Queue, Timestamp, WorkerId};
use sqlx::PgConnection;

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
        let limit = i64::from(slots);
        let mut first = None;
        until_stored!(self, "taking queued jobs", |bell| self
            .try_take_rows(queue, worker, limit, bell, &mut first))
    }

    /// Takes the row that comes first, alone; one that cannot be stored is passed by from now on.
    pub(super) async fn take_next_row(&self, queue: Queue, worker: &WorkerId) -> Result<Taken, Error> {
        let mut met = None;
        match until_stored!(self, "taking a queued job", |bell| self
            .try_take_rows(queue, worker, 1, bell, &mut met))
        {
            Err(error @ (Error::Refused { .. } | Error::Contended { .. })) => {
                let job_id = met.ok_or(error)?;
                tracing::error!(job_id, "a job cannot be stored; it is passed by");
                self.passed_by.add(job_id, Instant::now());
                Ok(Taken::error())
            }
            other => other,
        }
    }

    /// `first` is told which job came first, also when the take fails.
    async fn try_take_rows(
        &self,
        queue: Queue,
        worker: &WorkerId,
        limit: i64,
        bell: Bell,
        first: &mut Option<String>,
    ) -> Result<Taken, Stumble> {
        let (mut transaction, now) = self.begin("taking queued jobs").await?;
        match self.take_rows_within(&mut transaction, queue, worker, limit, bell, now, first).await {
            Ok(taken) => {
                transaction.commit().await.doing("taking queued jobs")?;
                Ok(taken)
            }
            Err(stumble) => {
                // Told to end, and not left to the driver, as when bells are taken: whoever tries next passes locked ones by.
                let _ = transaction.rollback().await;
                Err(stumble)
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what a take is told, and the transaction that it has begun")]
    async fn take_rows_within(
        &self,
        connection: &mut PgConnection,
        queue: Queue,
        worker: &WorkerId,
        limit: i64,
        bell: Bell,
        now: Timestamp,
        first: &mut Option<String>,
    ) -> Result<Taken, Stumble> {
        let rows: Vec<JobRow> = sqlx::query_as(
            "select * from finalization_jobs where queue = $1 and status = 'queued' and ready_at <= $2 \
                 and not exists (select from queue_pauses where queue = $1) and job_id <> all($4) \
             order by ready_at, job_id limit $3 for no key update skip locked",
        )
        .bind(queue.as_str())
        .bind(now)
        .bind(limit)
        .bind(self.passed_by.at(Instant::now()))
        .fetch_all(&mut *connection)
        .await
        .doing("taking queued jobs")?;
        *first = rows.first().map(|row| row.job_id.clone());
        let mut taken = Taken::default();
        for row in rows {
            let (user_id, job_id) = (row.user_id.clone(), row.job_id.clone());
            let Ok(stored) = Stored::try_from(row) else {
                tracing::error!(job_id, "a job cannot be read; it is put off");
                taken.answers.push("error");
                super::put_off(connection, &user_id, &job_id).await?;
                continue;
            };
            let claim =
                Command::Claim { generation: stored.job.generation, worker: worker.clone(), keys: false };
            match self.decide_and_write(connection, &stored, claim, now, bell).await? {
                Ok(written) => taken.granted(written),
                Err(refusal) => taken.answers.push(answer(refusal, &stored.job.state)),
            }
        }
        Ok(taken)
    }
}
