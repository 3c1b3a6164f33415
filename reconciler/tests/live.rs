//! Live sessions whose process died: the reconciler ends them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod setup;

use std::time::Duration;

use reconciler::LiveWatch;
use records::{ConversationId, Segment, Source};
use setup::{Setup, user};
use store::{LIVE_GRACE, NewLive, SegmentIds};

/// A live conversation with a word in it.
async fn spoken(setup: &Setup, id: &str) {
    let new = NewLive {
        fresh_id: ConversationId::new(id),
        wanted_id: None,
        device_id: Some(id.to_owned()),
        platform: None,
        language: "en".to_owned(),
        source: Source::new("phone"),
        timeout: 2,
        process: "gone".to_owned(),
        is_ending: Default::default(),
    };
    let live = setup.ledger.store().open_live(&user(), &new).await.unwrap().unwrap();
    let said = Segment {
        id: Some(format!("s{id}")),
        text: "Call the dentist.".to_owned(),
        speaker: Some("SPEAKER_00".to_owned()),
        speaker_id: None,
        is_user: true,
        person_id: None,
        start: 0.0,
        end: 1.0,
    };
    setup
        .ledger
        .store()
        .append_live(&user(), &live.id, live.epoch, &[said], Some(1.0), SegmentIds::OfService)
        .await
        .unwrap()
        .unwrap();
}

const ADMITTED: &str = "select count(*) from finalization_jobs where origin = 'live' and not force_process";

#[tokio::test]
async fn expired_live_sessions_are_ended_once_and_others_stay() {
    let setup = Setup::new().await;
    spoken(&setup, "c1").await;
    spoken(&setup, "c2").await;
    let ended = async || reconciler::end_due(&setup.ledger, LIVE_GRACE, &setup.metrics, &setup.stop).await;
    ended().await.unwrap();
    assert_eq!(setup.count(ADMITTED).await, 0, "their sockets may be about to end them");
    setup
        .sql("update conversations set process_after = now() - interval '16 seconds' where conversation_id = 'c1'")
        .await;
    let (one, two) = tokio::join!(ended(), ended());
    one.and(two).unwrap();
    assert_eq!(setup.count(ADMITTED).await, 1);
    assert_eq!(setup.actions("admitted"), "1");
    assert_eq!(setup.count("select count(*) from conversations where status = 'in_progress'").await, 1);
}

/// A user who spoke on during an outage of the database had two conversations when the watch was quicker than the session.
#[tokio::test]
async fn live_sessions_may_renew_before_the_first_look_after_an_outage() {
    let setup = Setup::new().await;
    spoken(&setup, "c1").await;
    setup.sql("update conversations set process_after = now() - interval '1 minute'").await;
    let mut watch = LiveWatch::default();
    let mut look = async || watch.look(&setup.ledger, &setup.metrics, &setup.stop).await;
    setup.sql("alter table conversations rename to away").await;
    assert!(look().await.is_err());
    setup.sql("alter table away rename to conversations").await;
    look().await.unwrap();
    assert_eq!(setup.count(ADMITTED).await, 0);
    look().await.unwrap();
    assert_eq!(setup.count(ADMITTED).await, 1);
}

#[tokio::test]
async fn expired_live_session_that_cannot_be_ended_blocks_no_other() {
    let setup = Setup::new().await;
    for id in ["c1", "c2", "c3"] {
        spoken(&setup, id).await;
    }
    // A job of that id is there already: the first of the three can never be admitted.
    setup.sql("update conversations set process_after = now() - interval '1 minute'").await;
    setup
        .sql(
            "create function never() returns trigger language plpgsql as $$ begin \
                 if new.conversation_id = 'c1' then raise exception 'never'; end if; return new; end $$; \
             create trigger never before insert on finalization_jobs for each row execute function never()",
        )
        .await;
    reconciler::end_due(&setup.ledger, Duration::ZERO, &setup.metrics, &setup.stop).await.unwrap();
    assert_eq!(setup.count(ADMITTED).await, 2);
}

#[tokio::test]
async fn expired_live_sessions_that_are_locked_block_no_other() {
    let setup = Setup::new().await;
    for id in ["c1", "c2", "c3"] {
        spoken(&setup, id).await;
    }
    setup.sql("update conversations set process_after = now() - interval '1 minute'").await;
    setup.refuse_with("55P03", "insert on finalization_jobs", "new.conversation_id in ('c1', 'c2')").await;
    reconciler::end_due(&setup.ledger, Duration::ZERO, &setup.metrics, &setup.stop).await.unwrap();
    assert_eq!(setup.count(ADMITTED).await, 1);
}

#[tokio::test]
async fn expired_live_sessions_are_ended_behind_two_unanswered_ones_that_are_not_in_a_row() {
    let setup = Setup::new().await;
    for id in ["c1", "c2", "c3", "c4"] {
        spoken(&setup, id).await;
    }
    setup.sql("update conversations set process_after = now() - interval '1 minute'").await;
    // A statement that takes too long, a row that is locked, and another statement that takes too long.
    setup
        .sql(
            "create function refuse() returns trigger language plpgsql as $$ begin \
                 raise exception 'no' using errcode = \
                     case new.conversation_id when 'c2' then '55P03' else '57014' end; end $$; \
             create trigger refuse before insert on finalization_jobs for each row \
                 when (new.conversation_id <> 'c4') execute function refuse()",
        )
        .await;
    reconciler::end_due(&setup.ledger, Duration::ZERO, &setup.metrics, &setup.stop).await.unwrap();
    assert_eq!(setup.count(ADMITTED).await, 1);
}
