//! What a run repeats and what it keeps (DESIGN §6).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod fakes;

use std::{collections::HashMap, sync::Arc, time::Duration};

use fakes::*;
use job::FailureCode;
use serde_json::{Value, json};
use stages::*;

const WORDS: &str = "Tomorrow we will paint the old boat at last.";
const ALL: [&str; 7] = [
    "describe",
    "detect_discard",
    "embed",
    "extract_action_items",
    "extract_memories",
    "read_context",
    "trigger_apps",
];

#[tokio::test]
async fn retry_repeats_only_the_failed_stage() {
    let fake = Arc::new(Fake::default().fails("memories", &[FailureCode::ModelTimeout]));
    let memory = Memory::default();
    let material = material(WORDS);

    let stumbled = finalize_with(&fake, &memory, &material, false).await;
    assert_eq!(stumbled, Err(FailureCode::ModelTimeout.into()));
    assert!(!memory.stages().contains(&"extract_memories"), "a failure is not kept");

    let diary = Diary::default();
    let run = Run::new(&memory, &diary, &material.talk);
    kept(finalize(&run, &Stages::new(fake.engines()), &material, false).await);

    assert_eq!(fake.called("memories"), 2);
    for once in ["judge", "describe", "items", "embed"] {
        assert_eq!(fake.called(once), 1, "{once} was paid for and must not be asked again");
    }
    let mut asked: Vec<_> = diary
        .done
        .lock()
        .unwrap()
        .iter()
        .filter(|(_, recalled)| !recalled)
        .map(|(stage, _)| *stage)
        .collect();
    asked.sort_unstable();
    assert_eq!(asked, ["extract_memories", "trigger_apps"], "all others were recalled");
    assert_eq!(memory.stages(), ALL);
}

#[tokio::test]
async fn failing_stage_does_not_stop_others_from_recording() {
    let mut fake = Fake::default().fails("describe", &[FailureCode::ModelUnavailable]);
    fake.delays = HashMap::from([("items", Duration::from_secs(5)), ("embed", Duration::from_secs(9))]);
    let (fake, memory) = (Arc::new(fake), Memory::default());

    tokio::time::pause();
    let stumbled = finalize_with(&fake, &memory, &material(WORDS), true).await;

    assert_eq!(stumbled, Err(FailureCode::ModelUnavailable.into()));
    assert_eq!(memory.stages(), ["embed", "extract_action_items", "extract_memories", "read_context"]);
}

#[tokio::test(start_paused = true)]
async fn stages_run_concurrently_for_the_longest_chain() {
    let seconds = |ability, seconds| (ability, Duration::from_secs(seconds));
    let fake = Arc::new(Fake {
        delays: HashMap::from([
            seconds("judge", 1),
            seconds("describe", 10),
            seconds("items", 7),
            seconds("memories", 8),
            seconds("embed", 9),
            seconds("minutes", 3),
            seconds("decisions", 2),
        ]),
        ..Fake::default()
    });
    let context = Context { apps: vec!["minutes".to_owned(), "decisions".to_owned()], ..context() };
    let material = Material { context, ..material(WORDS) };

    let began = tokio::time::Instant::now();
    kept(finalize_with(&fake, &Memory::default(), &material, false).await);

    assert_eq!(began.elapsed().as_secs(), 14, "judge, then the slowest of four, then the slowest app");
}

#[tokio::test]
async fn undecodable_checkpoint_is_recomputed() {
    let (fake, memory) = (Arc::new(Fake::default()), Memory::default());
    kept(finalize_with(&fake, &memory, &material(WORDS), false).await);
    for (key, output) in memory.pages.lock().unwrap().iter_mut() {
        if key.stage == "describe" {
            *output = json!({ "title": 7 });
        }
    }

    let again = kept(finalize_with(&fake, &memory, &material(WORDS), false).await);

    assert_eq!(again.structure.title, "Plans");
    assert_eq!(fake.called("describe"), 2);
    assert_eq!(fake.called("judge"), 1);

    kept(finalize_with(&fake, &memory, &material(WORDS), false).await);
    assert_eq!(fake.called("describe"), 2, "what was paid again has taken the unreadable one's place");
}

#[tokio::test]
async fn free_engines_leave_no_checkpoints() {
    let fake = Arc::new(Fake { costs: false, ..Fake::default() });
    let memory = Memory::default();

    kept(finalize_with(&fake, &memory, &material(WORDS), false).await);
    kept(finalize_with(&fake, &memory, &material(WORDS), false).await);

    assert!(memory.stages().is_empty());
    assert_eq!(fake.called("describe"), 2, "what is free is simply asked again");
}

#[tokio::test]
async fn retry_keeps_the_first_runs_context_whichever_engine_is_paid() {
    let free = Arc::new(Fake { costs: false, ..Fake::default() });
    for paid in 0..6 {
        let (costly, mut engines) = (Arc::new(Fake::default()), free.engines());
        match paid {
            0 => engines.judge = costly,
            1 => engines.describe = costly,
            2 => engines.items = costly,
            3 => engines.memories = costly,
            4 => engines.embed = costly,
            _ => engines.apps = costly,
        }
        let (memory, material) = (Memory::default(), material(WORDS));
        let run = Run::new(&memory, &Unobserved, &material.talk);
        kept(finalize(&run, &Stages::new(engines), &material, false).await);
        assert!(memory.stages().contains(&"read_context"), "{paid}: {:?}", memory.stages());
    }
}

#[tokio::test]
async fn checkpoints_are_not_used_for_another_engine_or_transcript() {
    let (first, memory) = (Arc::new(Fake::default()), Memory::default());
    kept(finalize_with(&first, &memory, &material(WORDS), false).await);

    let second = Arc::new(Fake { id: "fake/2".to_owned(), ..Fake::default() });
    kept(finalize_with(&second, &memory, &material(WORDS), false).await);
    assert_eq!(second.called("describe"), 1, "no engine's output passes for another's");

    kept(finalize_with(&first, &memory, &material("Tomorrow we will sell the old boat."), false).await);
    assert_eq!(first.called("describe"), 2);
}

#[tokio::test]
async fn checkpoints_survive_a_speaker_rename() {
    let (fake, memory) = (Arc::new(Fake::default()), Memory::default());
    kept(finalize_with(&fake, &memory, &material(WORDS), false).await);

    let mut renamed = material(WORDS);
    renamed.talk.lines[0].speaker = Some("Maria".to_owned());
    kept(finalize_with(&fake, &memory, &renamed, false).await);

    assert_eq!(fake.called("describe"), 1);
}

/// Dates are to be in the zone that the person has now, and checkpoints may hold dates of the old one.
#[tokio::test]
async fn checkpoints_are_recomputed_once_for_a_new_time_zone() {
    let (fake, memory) = (Arc::new(Fake::default()), Memory::default());
    kept(finalize_with(&fake, &memory, &material(WORDS), false).await);

    let mut moved = material(WORDS);
    moved.talk.time_zone = chrono_tz::Asia::Tokyo;
    for _ in 0..2 {
        kept(finalize_with(&fake, &memory, &moved, false).await);
        assert_eq!(fake.called("describe"), 2);
    }
}

#[tokio::test]
async fn retry_uses_the_context_of_the_first_run() {
    let fake = Fake { items: vec![item("Paint the boat", None)], ..Fake::default() };
    let fake = Arc::new(fake.fails("items", &[FailureCode::ModelTimeout]));
    let memory = Memory::default();
    let known = RecentItem { id: "a1".to_owned(), description: "paint the boat".to_owned(), due_at: None };
    let context = Context { recent_items: vec![known], ..context() };
    let first = Material { context, ..material(WORDS) };
    assert!(finalize_with(&fake, &memory, &first, false).await.is_err());

    let later = material(WORDS);
    let items = kept(finalize_with(&fake, &memory, &later, false).await).items;

    assert!(items.new.is_empty(), "the first run's list still counts");
    let context = memory
        .pages
        .lock()
        .unwrap()
        .iter()
        .find(|(key, _)| key.stage == "read_context")
        .map(|(_, v)| v.clone());
    assert_eq!(context.as_ref().map(|context| &context["folders"][0]["id"]), Some(&Value::from("f1")));
}
