//! What the server gives at best: `pgbench` inserting a row per transaction, and taking one per transaction as a queue
//! in two lines of SQL would.

use tokio::process::Command;

use crate::setup::{Setup, WIDTH};

const INSERT: &str = "insert into floor (word) values ('one row');\n";
const TAKE: &str = "with taken as (select id from floor order by id limit 1 for update skip locked) \
                    delete from floor using taken where floor.id = taken.id;\n";

/// (inserts, takes) a second; the takes find `jobs` rows.
pub(crate) async fn measure(setup: &Setup, jobs: usize) -> (f64, f64) {
    let url = setup.empty_database("floor").await;
    setup.run_on("floor", "create table floor (id bigserial primary key, word text not null)").await;
    let inserts = pgbench(setup, &url, INSERT, "--time=3").await;
    setup.run_on("floor", "vacuum analyze floor").await;
    let each = jobs.min(20_000) / WIDTH;
    let takes = pgbench(setup, &url, TAKE, &format!("--transactions={each}")).await;
    setup.drop_database("floor").await;
    (inserts, takes)
}

async fn pgbench(setup: &Setup, url: &str, script: &str, length: &str) -> f64 {
    let file = std::env::temp_dir().join(format!("listen-bench-{}.sql", std::process::id()));
    std::fs::write(&file, script).unwrap();
    let ran = Command::new(setup.running().bin_dir().join("pgbench"))
        .args(["--no-vacuum", "--protocol=prepared", "--jobs=2", length])
        .arg(format!("--client={WIDTH}"))
        .arg("--file")
        .arg(&file)
        .arg(url)
        .output()
        .await
        .expect("pgbench comes with the server's programs");
    std::fs::remove_file(file).unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let rate = said.lines().find_map(|line| line.strip_prefix("tps = "));
    rate.and_then(|rate| rate.split(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("pgbench said: {said}{}", String::from_utf8_lossy(&ran.stderr)))
}
