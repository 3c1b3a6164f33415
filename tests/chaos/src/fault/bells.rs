//! Faults of the bells: they may be lost, doubled, late, or nowhere.

use std::time::Duration;

use crate::run::World;

/// All of them are lost.
pub(super) async fn delete(world: &World) -> Option<u32> {
    for _ in 0..20 {
        let _lost = sqlx::query("delete from finalization_bells").execute(&world.pool).await;
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    None
}

/// Bells ring that nobody rang: of the present dispatch, of older ones, of newer ones, and of jobs at rest.
pub(super) async fn duplicate(world: &World) -> Option<u32> {
    for round in 0..4_i64 {
        let _rung = sqlx::query(
            "insert into finalization_bells (job_id, ring, dispatch_generation, queue, ring_at) \
             select job_id, ring + 1000 + $1, greatest(generation - ($1 % 3) + ($1 / 3), 0), queue, clock_timestamp() \
             from (select * from finalization_jobs order by updated_at desc limit 120) j on conflict do nothing",
        )
        .bind(round)
        .execute(&world.pool)
        .await;
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    None
}

/// Nobody can read or write them.
pub(super) async fn lock(world: &World, hold: Duration) -> Option<u32> {
    let Ok(mut session) = world.pool.begin().await else { return None };
    if sqlx::query("lock table finalization_bells in access exclusive mode")
        .execute(&mut *session)
        .await
        .is_ok()
    {
        tokio::time::sleep(hold).await;
    }
    let _gone_either_way = session.rollback().await;
    None
}

/// The table is not there.
pub(super) async fn rename(world: &World, hold: Duration) -> Option<u32> {
    let away = "alter table finalization_bells rename to finalization_bells_away";
    if sqlx::query(away).execute(&world.pool).await.is_err() {
        return None;
    }
    tokio::time::sleep(hold).await;
    let back = "alter table finalization_bells_away rename to finalization_bells";
    while sqlx::query(back).execute(&world.pool).await.is_err() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    None
}
