//! A change of a person, which may park the person's jobs in the same transaction.

use db::Error;
use records::UserId;
use store::{User, UserChange, users::write_change};

use crate::{Ledger, effects::Abort, retry_conflicts};

impl Ledger {
    /// Changes a person (and, when marked, parks queued jobs). `None`: no such person.
    pub async fn change_user(&self, id: &UserId, change: &UserChange) -> Result<Option<User>, Error> {
        let changed = retry_conflicts!("changing a person", self.try_change_user(id, change));
        if change.requires_byok == Some(true) {
            // A request that waits for a job that was parked looks at its row.
            self.db.waker().job_settled();
        }
        changed
    }

    /// The person's row is locked first: an admission that reads the mark waits for this one, or is seen by it.
    async fn try_change_user(&self, id: &UserId, change: &UserChange) -> Result<Option<User>, Abort> {
        let (mut transaction, now) = self.db.begin().await?;
        let user = write_change(&mut transaction, id, change, now).await?;
        if user.is_some() && change.requires_byok == Some(true) {
            self.require_keys(&mut transaction, id, now).await?;
        }
        transaction.commit().await?;
        Ok(user)
    }
}
