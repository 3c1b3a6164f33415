//! What speech took is noted by socket, and shown with the conversation's job.

use ledger::{EndedBy, LiveAdmission};
use operations::Operations;
use store::LiveUsage;

use crate::world::World;

fn usage(seconds: f64, cost: Option<f64>) -> LiveUsage {
    LiveUsage {
        engine: "deepgram".to_owned(),
        received_seconds: seconds,
        recognized_seconds: seconds / 2.0,
        utterances: 3,
        cost,
        ..LiveUsage::default()
    }
}

#[tokio::test]
async fn the_counts_of_two_sockets_add_up_and_a_repeat_or_an_older_count_changes_nothing() {
    let world = World::new().await;
    let (ledger, ann) = (&world.ledger, &world.ann);
    let first = world.spoken("c", None).await;
    for seconds in [30.0, 60.0, 60.0, 30.0] {
        ledger
            .store()
            .note_live_usage(ann, &first.id, first.epoch, &usage(seconds, Some(0.1)))
            .await
            .unwrap();
    }
    let second = world.open("other", None).await;
    assert_eq!(second.id, first.id, "resumed");
    ledger.store().note_live_usage(ann, &second.id, second.epoch, &usage(10.0, None)).await.unwrap();
    let by = EndedBy::Socket { epoch: second.epoch };
    let LiveAdmission::Admitted(admitted) = ledger.admit_live(ann, &second.id, by, None).await.unwrap()
    else {
        panic!("not admitted")
    };
    let page = Operations::new(ledger).job_page(&admitted.job_id).await.unwrap().unwrap();
    let all = LiveUsage { recognized_seconds: 35.0, utterances: 6, ..usage(70.0, Some(0.1)) };
    assert_eq!(page.speech, [all]);
    assert!(ledger.delete_conversation(ann, &second.id).await.unwrap());
    ledger.store().note_live_usage(ann, &second.id, second.epoch, &usage(10.0, None)).await.unwrap();
    assert_eq!(world.value::<i64>("select count(*) from live_usage").await, 0, "nothing is left of it");
}
