//! Everything that a run uses.

use std::sync::Arc;

use sqlx::PgPool;

use crate::client::Client;
use crate::fleet::Fleet;
use crate::journal::Journal;
use crate::model::Model;
use crate::people::Person;
use crate::plan::Plan;
use crate::postgres::Postgres;
use crate::queue::TaskQueue;
use crate::receiver::Receivers;

/// Everything that a run consists of.
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) postgres: Arc<Postgres>,
    /// The kit's own sessions.
    pub(crate) pool: PgPool,
    pub(crate) journal: Arc<Journal>,
    pub(crate) model: Model,
    pub(crate) receivers: Arc<Receivers>,
    pub(crate) fleet: Fleet,
    /// What carries jobs in `cloud_tasks` mode.
    pub(crate) queue: Option<TaskQueue>,
    pub(crate) people: Vec<Person>,
    /// Whose writes are read back one by one.
    pub(crate) writers: Vec<Person>,
    /// Who speaks into live sockets.
    pub(crate) speakers: Vec<Person>,
    pub(crate) client: Client,
    /// The moment at which the kit's time was 0, in seconds of the database's epoch.
    pub(crate) origin: f64,
}
