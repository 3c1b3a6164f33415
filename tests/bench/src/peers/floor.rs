//! What the server gives at best: `pgbench` inserting a row per transaction, and taking one per transaction as a queue
//! in two lines of SQL would.

use crate::setup::{INSERT, Setup, WIDTH};

const TAKE: &str = "with taken as (select id from floor order by id limit 1 for update skip locked) \
                    delete from floor using taken where floor.id = taken.id;\n";

/// (inserts, takes) a second; the takes find `jobs` rows.
pub(crate) async fn measure(setup: &Setup, jobs: usize) -> (f64, f64) {
    let url = setup.empty_database("floor").await;
    setup.run_on("floor", "create table floor (id bigserial primary key, word text not null)").await;
    let inserts = setup.pgbench(&url, INSERT, "--time=3").await;
    setup.run_on("floor", "vacuum analyze floor").await;
    let each = jobs.min(20_000) / WIDTH;
    let takes = setup.pgbench(&url, TAKE, &format!("--transactions={each}")).await;
    setup.drop_database("floor").await;
    (inserts, takes)
}
