//! The webhooks of installed apps follow their app: its address, and whether it is still there.

use db::Error;

use crate::Store;

/// Rows of one transaction.
const BATCH: i64 = 500;

impl Store {
    /// Brings webhooks of installed apps up to date with their app, or with all apps: moved to another address, or removed where
    /// the app is gone, takes no conversations any more, is switched off or is another user's private app. Each batch is a
    /// transaction of its own, over rows of the users who installed it; what another transaction holds is left to the next round.
    ///
    /// # Errors
    /// When the database does not answer: the round does it again.
    pub async fn follow_apps(&self, app: Option<&str>) -> Result<u64, Error> {
        let mut changed = 0;
        for statement in [
            include_str!("../../sql/apps/move_endpoints.sql"),
            include_str!("../../sql/apps/orphan_endpoints.sql"),
        ] {
            loop {
                let (mut transaction, _) = self.db.begin().await?;
                let done = sqlx::query(statement).bind(app).bind(BATCH).execute(&mut *transaction).await?;
                transaction.commit().await?;
                changed += done.rows_affected();
                if i64::try_from(done.rows_affected()).unwrap_or(0) < BATCH {
                    break;
                }
            }
        }
        Ok(changed)
    }
}
