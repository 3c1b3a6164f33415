//! Recovery times per kind of fault, from the kit's log and the history.

use std::collections::BTreeMap;

use crate::world::World;

/// Samples of one kind of fault, in seconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    /// From the moment the fault was lifted until a client was answered 200 to a write.
    pub(crate) answered: Vec<f64>,
    /// From that moment until a job was completed.
    pub(crate) completed: Vec<f64>,
    /// From the fault's beginning until a run that it cut off was claimed again.
    pub(crate) taken_over: Vec<f64>,
}

/// Measures every fault of the run.
pub(crate) async fn measure(world: &World) -> BTreeMap<String, Samples> {
    let rows: Vec<(String, Option<f64>, Option<f64>)> = sqlx::query_as(
        "select b.name, \
             (select extract(epoch from min(a.at) - b.lifted)::float8 from chaos.answers a where a.status = 200 \
                 and a.sent >= b.lifted and a.verb in ('ingest', 'finalize')), \
             (select extract(epoch from min(h.at) - b.lifted)::float8 from chaos.history h where h.status = 'completed' \
                 and h.outcome <> 'withdrawn' and h.at >= b.lifted) \
         from chaos.broken b order by b.began",
    )
    .fetch_all(&world.pool)
    .await
    .expect("the kit can read its own tables");
    let mut all: BTreeMap<String, Samples> = BTreeMap::new();
    for (name, answered, completed) in rows {
        let samples = all.entry(name).or_default();
        samples.answered.extend(answered);
        samples.completed.extend(completed);
    }
    for (name, taken_over) in taken_over(world).await {
        all.entry(name).or_default().taken_over.push(taken_over);
    }
    all
}

/// Of every run that a process held when it was hit and that was counted as crashed: when its job was claimed again.
/// Without runs that held a person's own key: their jobs are parked, and wait for the person, not for the service.
async fn taken_over(world: &World) -> Vec<(String, f64)> {
    sqlx::query_as(
        "select b.name, extract(epoch from n.at - b.began)::float8 from chaos.broken b \
         join lateral (select distinct on (h.job_id) h.* from chaos.history h where h.at <= b.began \
             order by h.job_id, h.version desc) h on h.status = 'leased' and h.worker like '%:' || b.pid || '-%' \
                 and not h.requires_keys \
         join lateral (select c.* from chaos.history c where c.job_id = h.job_id and c.version > h.version \
             and c.crashes > h.crashes order by c.version limit 1) crashed on true \
         join lateral (select c.at from chaos.history c where c.job_id = h.job_id and c.version >= crashed.version \
             and c.epoch > h.epoch and c.status = 'leased' order by c.version limit 1) n on true \
         where b.pid is not null and b.name in ('sigkill', 'sigstop')",
    )
    .fetch_all(&world.pool)
    .await
    .expect("the kit can read its own tables")
}
