//! The embedded engine works on the threads of its pool, and on none of those that answer requests.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::{sync::mpsc, time::Duration};

use compute::Pool;
use engines::Embedded;
use futures::FutureExt;
use records::{SameThing, Talk};
use stages::{Describe, Embed, ExtractItems, ExtractMemories, Judge, RunApp};

fn talk() -> Talk {
    Talk {
        lines: Talk::lines_of_text("I need to call the dentist by Friday. My sister lives in Porto."),
        started_at: "2026-11-20T10:00:00Z".parse().unwrap(),
        time_zone: chrono_tz::Tz::UTC,
        language: "en".to_owned(),
        user_name: None,
        background: records::Background::default(),
    }
}

#[tokio::test]
async fn every_ability_waits_for_a_thread_of_the_pool_and_works_there() {
    let pool = Pool::new(1).unwrap();
    let engine = Embedded::new().on_pool(pool.clone());
    let talk = talk();
    let structure = Embedded::new().describe(&talk, &[]).await.unwrap();
    let (gate, closed) = mpsc::channel::<()>();
    let (begun, beginning) = tokio::sync::oneshot::channel();
    let blocked = tokio::spawn(async move {
        let work = move || {
            begun.send(()).unwrap();
            assert!(closed.recv().is_err());
        };
        pool.run(Duration::from_secs(60), 1, work).await
    });
    beginning.await.unwrap();
    let mut judge = engine.judge(&talk);
    let mut describe = engine.describe(&talk, &[]);
    let mut items = engine.extract_items(&talk);
    let mut memories = engine.extract_memories(&talk);
    let mut embed = engine.embed("a text");
    let mut app = engine.run_app("minutes", &talk, &structure);
    let mut read = engine.read(vec!["Call the dentist".to_owned()], vec!["Likes tea".to_owned()]);
    assert!((&mut judge).now_or_never().is_none());
    assert!((&mut describe).now_or_never().is_none());
    assert!((&mut items).now_or_never().is_none());
    assert!((&mut memories).now_or_never().is_none());
    assert!((&mut embed).now_or_never().is_none());
    assert!((&mut app).now_or_never().is_none());
    assert!((&mut read).now_or_never().is_none());
    drop(gate);
    blocked.await.unwrap().unwrap();
    assert_eq!(items.await.unwrap().len(), 1);
    assert!(judge.await.is_ok() && describe.await.is_ok() && memories.await.is_ok());
    assert!(embed.await.is_ok() && app.await.is_ok());
    read.await;
}
