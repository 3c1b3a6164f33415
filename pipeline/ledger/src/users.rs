//! A change of a person, which may park the person's jobs in the same transaction.

use db::{Error, query_scalar};
use job::{Command, Timestamp};
use records::UserId;
use sqlx::PgConnection;
use store::{User, UserChange, users::write_change};

use crate::{
    Ledger,
    effects::Abort,
    history::Detail,
    retry_conflicts,
    row::{self, StoredJob},
};

/// How many of a person's jobs are read and stored at once.
const AT_ONCE: usize = 500;

impl Ledger {
    /// Changes a person (and, when marked, parks queued jobs). `None`: no such person.
    pub async fn change_user(&self, id: &UserId, change: &UserChange) -> Result<Option<User>, Error> {
        let changed = retry_conflicts!("changing a person", async {
            let (mut transaction, now) = self.db.begin().await?;
            // The person's row is locked first: an admission that reads the mark waits for this one, or is seen by it.
            let user = write_change(&mut transaction, id, change, now).await?;
            if user.is_some() && change.requires_byok == Some(true) {
                self.require_keys(&mut transaction, id, now).await?;
            }
            transaction.commit().await?;
            Ok(user)
        })
        .await;
        if change.requires_byok == Some(true) {
            // A request that waits for a job that was parked looks at its row.
            self.db.waker().job_settled();
        }
        changed
    }

    /// Says `RequireKeys` to each live job of a person who was just marked, in the marking transaction, which holds
    /// the person's row: no admission can slip in between. A person may have very many: only their names are held all
    /// at once.
    async fn require_keys(
        &self,
        connection: &mut PgConnection,
        user: &UserId,
        now: Timestamp,
    ) -> Result<(), Abort> {
        let jobs: Vec<String> =
            query_scalar!("jobs/live_of_user.sql", user).fetch_all(&mut *connection).await?;
        for some in jobs.chunks(AT_ONCE) {
            let ids: Vec<&str> = some.iter().map(String::as_str).collect();
            let mut rows = row::read_locked(connection, &ids).await?;
            let read = ids.iter().filter_map(|id| rows.remove(*id));
            // Every live job grants this; one that refuses became terminal before it was locked. No other effect follows.
            let granted =
                read.filter_map(|read| self.step(&read, Command::RequireKeys, now, Detail::default()).ok());
            let granted: Vec<StoredJob> = granted.map(|(marked, _)| marked).collect();
            let marked: Vec<&StoredJob> = granted.iter().collect();
            if row::store(connection, &marked, now, &self.policy).await?.len() < granted.len() {
                return Err(Abort::Conflict);
            }
        }
        Ok(())
    }
}
