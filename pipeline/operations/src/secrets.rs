//! Sealing anew what another key sealed, or none: `listen secrets rotate`, page by page.

use db::{
    Error, query_as,
    secrets::{Context, Secrets},
    sql,
};

use crate::Operations;

/// Rows of one transaction.
const PAGE: i64 = 200;

/// How many secrets are stored, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct SealedSecrets {
    pub stored: i64,
    /// Those that some key sealed.
    pub sealed: i64,
    /// Those that the newest key of this process sealed.
    pub newest: i64,
    /// Those that no key of this process opens.
    pub unopened: i64,
}

impl SealedSecrets {
    /// Adds those of another shard.
    pub fn add(&mut self, other: Self) {
        self.stored += other.stored;
        self.sealed += other.sealed;
        self.newest += other.newest;
        self.unopened += other.unopened;
    }
}

/// What one pass over all secrets did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resealed {
    /// Rows whose secrets the newest key has sealed now.
    pub sealed: u64,
    /// Rows whose secrets no key that is set can open: they were left as they are.
    pub unreadable: u64,
}

impl Resealed {
    /// Adds what was done in another shard.
    pub fn add(&mut self, other: Self) {
        self.sealed += other.sealed;
        self.unreadable += other.unreadable;
    }
}

/// The tables that hold secrets: how a page of one is read, and how a row is written.
const TABLES: [Table; 5] = [
    Table {
        page: sql!("secrets/endpoints.sql"),
        store: sql!("secrets/store_endpoint.sql"),
        context: |row| Context::endpoint(&row.user_id, &row.id),
    },
    Table {
        page: sql!("secrets/subscriptions.sql"),
        store: sql!("secrets/store_subscription.sql"),
        context: |row| Context::subscription(&row.user_id, &row.id),
    },
    Table {
        page: sql!("secrets/apps.sql"),
        store: sql!("secrets/store_app.sql"),
        context: |row| Context::app(&row.user_id, &row.id),
    },
    Table {
        page: sql!("secrets/mcp_tokens.sql"),
        store: sql!("secrets/store_mcp_token.sql"),
        context: |row| Context::mcp_token(&row.user_id, &row.id),
    },
    Table {
        page: sql!("secrets/audio.sql"),
        store: sql!("secrets/store_audio_webhook.sql"),
        context: |row| Context::audio(&row.user_id),
    },
];

struct Table {
    page: &'static str,
    store: &'static str,
    context: fn(&Row) -> Context<'_>,
}

#[derive(sqlx::FromRow)]
struct Row {
    user_id: String,
    id: String,
    secret: String,
    previous_secret: Option<String>,
}

impl Operations {
    /// How many secrets are stored, and how.
    pub async fn sealed_secrets(&self) -> Result<SealedSecrets, Error> {
        Ok(query_as!("secrets/count.sql", self.db.secrets().forms()).fetch_one(self.db.pool()).await?)
    }

    /// Seals every secret with the newest key that another one sealed, or none. Nothing is done without a key. Said again, it
    /// goes on where it was interrupted.
    pub async fn reseal_secrets(&self) -> Result<Resealed, Error> {
        let mut done = Resealed::default();
        if !self.db.secrets().is_set() {
            return Ok(done);
        }
        for table in &TABLES {
            let mut after = (String::new(), String::new());
            loop {
                let (mut transaction, _) = self.db.begin().await?;
                let rows: Vec<Row> = sqlx::query_as(table.page)
                    .bind(self.db.secrets().newest_form())
                    .bind(&after.0)
                    .bind(&after.1)
                    .bind(PAGE)
                    .fetch_all(&mut *transaction)
                    .await?;
                for row in &rows {
                    match reseal(self.db.secrets(), table, row) {
                        Ok((secret, previous)) => {
                            sqlx::query(table.store)
                                .bind(&row.user_id)
                                .bind(&row.id)
                                .bind(secret)
                                .bind(previous)
                                .execute(&mut *transaction)
                                .await?;
                            done.sealed += 1;
                        }
                        Err(_) => done.unreadable += 1,
                    }
                }
                transaction.commit().await?;
                let Some(last) = rows.into_iter().next_back() else { break };
                after = (last.user_id, last.id);
            }
        }
        Ok(done)
    }
}

fn reseal(secrets: &Secrets, table: &Table, row: &Row) -> Result<(String, Option<String>), Error> {
    let again = |stored: &str| {
        let context = (table.context)(row);
        secrets.seal(context, &secrets.open(context, stored)?)
    };
    Ok((again(&row.secret)?, row.previous_secret.as_deref().map(again).transpose()?))
}
