//! The page of live sessions.

use axum::http::StatusCode;
use records::{ConversationId, Segment, Source, UserId};
use store::{NewLive, SegmentIds};

use super::world::{SAID, Who, World};

#[tokio::test]
async fn live_session_page_shows_the_process_without_words() {
    let world = World::with_keys().await;
    let ron = world.cookie("ron's").await;
    let ron = Who { cookie: &ron, ..Who::default() };
    assert!(world.get("/console/sessions", ron).await.text.contains("There are no live conversations"));
    let ann = UserId::new("ann");
    let new = NewLive {
        fresh_id: ConversationId::new("live-1"),
        wanted_id: None,
        device_id: None,
        platform: None,
        language: "en".to_owned(),
        source: Source::new("phone"),
        timeout: 120,
        process: "host:<7>".to_owned(),
        is_ending: Default::default(),
    };
    let live = world.ledger.store().open_live(&ann, &new).await.unwrap().unwrap();
    let said = Segment {
        id: Some("s".to_owned()),
        text: SAID.to_owned(),
        speaker: None,
        speaker_id: None,
        is_user: true,
        person_id: None,
        start: 0.0,
        end: 1.0,
    };
    world
        .ledger
        .store()
        .append_live(&ann, &live.id, live.epoch, &[said], None, SegmentIds::OfService)
        .await
        .unwrap()
        .unwrap();
    let page = world.get("/console/sessions?user=ann", ron).await;
    for word in ["live-1", "ann", "host:&#60;7&#62;", "class=\"num\">1<"] {
        assert!(page.text.contains(word), "{word} in {}", page.text);
    }
    assert!(!page.text.contains(SAID));
    assert!(!world.get("/console/sessions?user=bob", ron).await.text.contains("live-1"));
    let stranger = world.get("/console/sessions", Who::default()).await;
    assert_ne!(stranger.status, StatusCode::OK);
}
