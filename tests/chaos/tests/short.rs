//! A short seeded run, as the gate makes it: some of the faults, and every rule of the checker.

use std::time::Duration;

use chaos::Plan;

#[tokio::test]
async fn chaos_run_loses_and_doubles_nothing() {
    let seed = std::env::var("CHAOS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    let plan = Plan { max_attempts: 1, ..Plan::new(Duration::from_secs(25), seed) };

    let report = chaos::run(&plan).await;

    println!("{report}");
    assert!(report.is_clean(), "seed {seed}: {:?}", report.breaches());
}
