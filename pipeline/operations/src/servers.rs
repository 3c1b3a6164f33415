//! The model and speech servers as the living processes know them, and how many jobs wait for one.

use db::{Error, query, query_as, query_scalar};
use job::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::types::Json;

use crate::{Operations, processes::LIVING};

/// One answer of a server, or its silence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelAnswer {
    /// Seconds before the report.
    pub seconds_ago: i64,
    /// What was wrong, as a word of the closed list; `None`: it was answered.
    pub class: Option<String>,
    /// The status, where it was not a good answer and there was one. With no class: the server has no list of models, so
    /// that a check says nothing of the key.
    pub http_status: Option<u16>,
}

/// What a server is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerKind {
    /// To understand text: jobs wait for it.
    #[default]
    Model,
    /// To recognize speech: live sockets use it.
    Speech,
}

/// A model server or a speech server, as a process knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelServer {
    #[serde(default)]
    pub kind: ServerKind,
    /// The engine that asks it: model and host, never a key.
    pub engine: String,
    /// For how many seconds its circuit is still open, if it is.
    pub open_for: Option<i64>,
    /// The last call of a run or of the assistant.
    pub called: Option<ModelAnswer>,
    /// The last time it was asked whether it is there and takes the key.
    pub checked: Option<ModelAnswer>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerReport {
    pub process: String,
    pub at: Timestamp,
    pub servers: Vec<ModelServer>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelServers {
    /// By process.
    pub reports: Vec<ServerReport>,
    /// Jobs that wait because a model server ended their last run, counted to 1,000.
    pub waiting: i64,
}

impl ModelServers {
    /// The same of two shards. A process reports to each of them: it is listed once.
    pub fn add(&mut self, other: Self) {
        for report in other.reports {
            match self.reports.iter_mut().find(|known| known.process == report.process) {
                Some(known) if known.at < report.at => *known = report,
                Some(_) => {}
                None => self.reports.push(report),
            }
        }
        self.waiting += other.waiting;
    }
}

impl Operations {
    /// Keeps what a process knows of its model servers, beside its report.
    ///
    /// # Errors
    /// When the database does not answer: the next report says it again.
    pub async fn report_servers(&self, process: &str, servers: &[ModelServer]) -> Result<(), Error> {
        query!("servers/report.sql", process, Json(servers)).execute(self.db.pool()).await?;
        Ok(())
    }

    /// What the living processes know of their model servers. A report that cannot be read is left out: another version wrote it.
    pub async fn model_servers(&self) -> Result<ModelServers, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let rows: Vec<(String, Timestamp, serde_json::Value)> =
            query_as!("servers/read.sql", now, LIVING).fetch_all(&mut *transaction).await?;
        let waiting: i64 = query_scalar!("servers/waiting.sql", now).fetch_one(&mut *transaction).await?;
        let report = |(process, at, servers): (String, Timestamp, serde_json::Value)| {
            let servers = serde_json::from_value(servers).ok()?;
            Some(ServerReport { process, at, servers })
        };
        Ok(ModelServers { reports: rows.into_iter().filter_map(report).collect(), waiting })
    }
}
