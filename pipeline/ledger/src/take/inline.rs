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

/// A row that a take met.
pub(super) struct Row {
    user_id: String,
    job_id: String,
}

impl Row {
    fn of(row: &JobRow) -> Self {
        Self { user_id: row.user_id.clone(), job_id: row.job_id.clone() }
    }
}

impl Ledger {
    /// `first` is told which row came first, also when the take fails.
    pub(super) async fn take_rows(
        &self,
        queue: Queue,
        worker: &WorkerId,
        slots: u32,
        first: &mut Option<Row>,
    ) -> Result<Taken, Error> {
        let limit = i64::from(slots);
        until_stored!(self, "taking queued jobs", |bell| self
            .try_take_rows(queue, worker, limit, bell, first))
    }

    async fn try_take_rows(
        &self,
        queue: Queue,
        worker: &WorkerId,
        limit: i64,
        bell: Bell,
        first: &mut Option<Row>,
    ) -> Result<Taken, Stumble> {
        let (mut transaction, now) = self.begin("taking queued jobs").await?;
        let rows = due_rows(&mut transaction, queue, now, limit, self.passed_by.at(Instant::now())).await?;
        *first = rows.first().map(Row::of);
        match self.take_of(&mut transaction, rows, worker, now, bell).await {
            Ok(taken) => {
                transaction.commit().await.doing("taking queued jobs")?;
                Ok(taken)
            }
            Err(stumble) => {
                // As with bells: whoever tries next passes locked rows by, so the locks end here and not when the driver
                // comes to it.
                let _ = transaction.rollback().await;
                Err(stumble)
            }
        }
    }

    /// Decides and stores one row after the other, inside of the caller's transaction.
    async fn take_of(
        &self,
        connection: &mut PgConnection,
        rows: Vec<JobRow>,
        worker: &WorkerId,
        now: Timestamp,
        bell: Bell,
    ) -> Result<Taken, Stumble> {
        let mut taken = Taken::default();
        for row in rows {
            let (user_id, job_id) = (row.user_id.clone(), row.job_id.clone());
            let Ok(stored) = Stored::try_from(row) else {
                tracing::error!(job_id, "a job cannot be read; it is put off");
                taken.answers.push("error");
                super::put_off(&mut *connection, &user_id, &job_id).await?;
                continue;
            };
            let claim =
                Command::Claim { generation: stored.job.generation, worker: worker.clone(), keys: false };
            match self.decide_and_write(&mut *connection, &stored, claim, now, bell).await? {
                Ok(written) => taken.granted(written),
                Err(refusal) => taken.answers.push(answer(refusal, &stored.job.state)),
            }
        }
        Ok(taken)
    }

    /// Puts off the row that could not be taken. What refuses its claim may refuse this too: then it stays the first, and
    /// this process passes it by as long.
    pub(super) async fn put_off_row(&self, row: Row) -> Result<(), Error> {
        tracing::error!(job_id = row.job_id, "a job cannot be stored; it is put off");
        match self.try_put_off_row(&row).await {
            Err(Error::Refused { .. }) => {
                self.passed_by.add(row.job_id, Instant::now());
                Ok(())
            }
            done => done,
        }
    }

    async fn try_put_off_row(&self, row: &Row) -> Result<(), Error> {
        let (mut transaction, _) = self.begin("putting a job off").await?;
        super::put_off(&mut transaction, &row.user_id, &row.job_id).await?;
        transaction.commit().await.doing("putting a job off")
    }
}

/// The due rows of `queue` but for those that are `passed_by`, oldest first, held until the commit; what somebody else
/// holds is left to them.
async fn due_rows(
    connection: &mut PgConnection,
    queue: Queue,
    now: Timestamp,
    limit: i64,
    passed_by: Vec<String>,
) -> Result<Vec<JobRow>, Error> {
    sqlx::query_as(
        "select * from finalization_jobs where queue = $1 and status = 'queued' and ready_at <= $2 \
             and not exists (select from queue_pauses where queue = $1) and job_id <> all($4) \
         order by ready_at, job_id limit $3 for no key update skip locked",
    )
    .bind(queue.as_str())
    .bind(now)
    .bind(limit)
    .bind(passed_by)
    .fetch_all(connection)
    .await
    .doing("taking queued jobs")
}
