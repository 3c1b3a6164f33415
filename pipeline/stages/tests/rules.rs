//! The rules of each stage (DECISIONS §5).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod fakes;

use std::{sync::Arc, time::Duration};

use fakes::*;
use job::FailureCode;
use records::EventKind;
use stages::*;

const WORDS: &str = "Tomorrow we will paint the old boat at last.";

async fn finalized(fake: Fake, material: Material) -> (Arc<Fake>, Finalized) {
    let fake = Arc::new(fake);
    let finalized = finalize_with(&fake, &Memory::default(), &material, false).await.unwrap();
    (fake, finalized)
}

fn discards() -> Fake {
    Fake { verdict: Verdict::Discard, ..Fake::default() }
}

#[tokio::test]
async fn judged_discard_skips_the_remaining_stages() {
    let (fake, finalized) = finalized(discards(), material("Hello. Testing, testing.")).await;
    assert_eq!(finalized, Finalized::Discarded);
    assert_eq!(fake.called("describe"), 0);
    assert_eq!(plan_fan_out(&finalized), [EventKind::ConversationDiscarded]);
}

#[tokio::test]
async fn judge_is_skipped_over_a_hundred_words() {
    let (fake, long) = finalized(discards(), material(&"word ".repeat(101))).await;
    assert!(matches!(long, Finalized::Kept(_)));
    assert_eq!(fake.called("judge"), 0);
    let (_, hundred) = finalized(discards(), material(&"word ".repeat(100))).await;
    assert_eq!(hundred, Finalized::Discarded, "a hundred are not more than a hundred");
}

#[tokio::test]
async fn conversation_without_words_is_discarded_without_the_judge() {
    let (fake, finalized) = finalized(Fake::default(), material("  ")).await;
    assert_eq!(finalized, Finalized::Discarded);
    assert_eq!(fake.called("judge"), 0);
}

#[tokio::test]
async fn judge_failure_keeps_the_conversation() {
    let fake = discards().fails("judge", &[FailureCode::ModelUnavailable]);
    assert!(matches!(finalized(fake, material(WORDS)).await.1, Finalized::Kept(_)));
}

#[tokio::test]
async fn forced_processing_skips_the_judge_but_needs_words() {
    let fake = Arc::new(discards());
    kept(finalize_with(&fake, &Memory::default(), &material(WORDS), true).await);
    assert_eq!(fake.called("judge"), 0);
    let empty = finalize_with(&fake, &Memory::default(), &material(" "), true).await;
    assert_eq!(empty, Err(FailureCode::NoContent.into()));
}

#[tokio::test]
async fn folder_of_another_user_is_ignored() {
    for (named, taken) in [("f1", Some("f1")), ("f9", None)] {
        let mut fake = Fake::default();
        fake.structure.folder_id = Some(named.to_owned());
        let kept = kept(Ok(finalized(fake, material(WORDS)).await.1));
        assert_eq!(kept.structure.folder_id.as_deref(), taken);
    }
}

async fn items(drafts: Vec<ItemDraft>, recent_items: Vec<RecentItem>) -> Items {
    let fake = Fake { items: drafts, ..Fake::default() };
    let context = Context { recent_items, ..context() };
    kept(Ok(finalized(fake, Material { context, ..material(WORDS) }).await.1)).items
}

fn recent(id: &str, description: &str, due_at: Option<records::Timestamp>) -> RecentItem {
    RecentItem { id: id.to_owned(), description: description.to_owned(), due_at }
}

#[tokio::test]
async fn items_unread_is_set_for_languages_the_engine_does_not_read() {
    for (language, unread) in [("en", false), ("de", true)] {
        let mut material = material(WORDS);
        material.talk.language = language.to_owned();
        let items = kept(Ok(finalized(Fake::default(), material).await.1)).items;
        assert_eq!(items.unread, unread, "{language}");
        let stored = serde_json::to_value(&items).unwrap();
        assert_eq!(stored.get("unread").is_some(), unread, "an older reader finds what it knows");
    }
}

#[tokio::test]
async fn action_item_has_at_most_fifteen_words() {
    let items = items(vec![item(&"go ".repeat(20), None), item("  ", None)], Vec::new()).await;
    assert_eq!(items.new, [item(&["go"; 15].join(" "), None)], "a longer one is cut, a blank one left out");
}

#[tokio::test]
async fn due_date_more_than_a_day_past_is_dropped() {
    let drafts = vec![
        item("Call Ana", Some(hours(-25))),
        item("Pay rent", Some(hours(-24))),
        item("Fly", Some(hours(48))),
    ];
    let dues: Vec<_> = items(drafts, Vec::new()).await.new.into_iter().map(|item| item.due_at).collect();
    assert_eq!(dues, [None, Some(hours(-24)), Some(hours(48))]);
}

#[tokio::test]
async fn topic_becomes_one_action_item_with_its_date() {
    let drafts =
        vec![item("Call Ana", None), item("call ana", Some(hours(5))), item("Ana call", Some(hours(9)))];
    assert_eq!(items(drafts, Vec::new()).await.new, [item("Call Ana", Some(hours(5)))]);
}

#[tokio::test]
async fn duplicate_action_item_is_not_created_and_gives_its_date_to_the_older() {
    let drafts = vec![
        item("call Ana", Some(hours(5))),
        item("Ana call", Some(hours(6))),
        item("pay rent", Some(hours(7))),
    ];
    let known = vec![recent("a1", "Call Ana", None), recent("a2", "Pay rent", Some(hours(1)))];
    let items = items(drafts, known).await;
    assert!(items.new.is_empty());
    assert_eq!(
        items.due_dates,
        [("a1".to_owned(), hours(5))],
        "the first date stands, and one that was there stays"
    );
}

async fn memories(drafts: &[&str], known: &[&str], words: &str) -> Vec<String> {
    let fake = Fake { memories: drafts.iter().map(|content| memory(content)).collect(), ..Fake::default() };
    let memories = known.iter().map(|content| (*content).to_owned()).collect();
    let context = Context { memories, ..context() };
    let kept = kept(Ok(finalized(fake, Material { context, ..material(words) }).await.1));
    kept.memories.into_iter().map(|memory| memory.content).collect()
}

#[tokio::test]
async fn memories_are_at_most_four_and_new() {
    let drafts =
        ["Has a boat", "boat has a", "Likes tea", "Is a baker", "Has two cats", "Plays chess", "Runs"];
    assert_eq!(
        memories(&drafts, &["likes TEA"], WORDS).await,
        ["Has a boat", "Is a baker", "Has two cats", "Plays chess"]
    );
}

#[tokio::test]
async fn memory_that_is_too_long_is_dropped() {
    assert!(memories(&[&"so ".repeat(16), " "], &[], WORDS).await.is_empty());
}

#[tokio::test]
async fn talk_under_25_characters_yields_no_memories() {
    assert!(memories(&["Has a boat"], &[], "I bought a boat at last.").await.is_empty(), "24 characters");
    assert_eq!(memories(&["Has a boat"], &[], "I bought a boat at last!!").await.len(), 1);
}

async fn apps(fake: Fake, enabled: &[&str]) -> (Arc<Fake>, Vec<String>) {
    let apps = enabled.iter().map(|app| (*app).to_owned()).collect();
    let context = Context { apps, ..context() };
    let (fake, finalized) = finalized(fake, Material { context, ..material(WORDS) }).await;
    (fake, kept(Ok(finalized)).apps.into_iter().map(|app| app.app_id).collect())
}

#[tokio::test]
async fn apps_run_only_when_enabled() {
    let (fake, results) = apps(Fake::default(), &["questions", "horoscope"]).await;
    assert_eq!(results, ["questions"]);
    assert_eq!(fake.called("minutes"), 0);
}

#[tokio::test]
async fn app_failure_is_retried_once_then_dropped() {
    let failing = Fake::default().fails("minutes", &[FailureCode::AppFailed; 2]);
    let (fake, results) =
        apps(failing.fails("decisions", &[FailureCode::ModelTimeout]), &["minutes", "decisions"]).await;
    assert_eq!(results, ["decisions"], "one that recovers is kept");
    assert_eq!((fake.called("minutes"), fake.called("decisions")), (2, 2));
}

#[tokio::test]
async fn app_without_text_yields_no_result() {
    let silent = Fake { app_content: " \n".to_owned(), ..Fake::default() };
    assert!(apps(silent, &["minutes"]).await.1.is_empty());
}

async fn prompts(fake: Fake, count: usize) -> (Arc<Fake>, Vec<String>) {
    let prompt_apps =
        (0..count).map(|n| PromptApp { id: format!("a{n}"), prompt: format!("subject {n}") }).collect();
    let context = Context { prompt_apps, ..context() };
    let (fake, finalized) = finalized(fake, Material { context, ..material(WORDS) }).await;
    let kept = kept(Ok(finalized));
    assert_eq!(kept.structure.title, "Plans", "a prompt app never changes the title");
    (fake, kept.apps.into_iter().map(|app| format!("{}: {}", app.app_id, app.content)).collect())
}

#[tokio::test]
async fn prompt_apps_run_in_order_where_the_engine_supports_them() {
    let (fake, results) = prompts(Fake::default(), 7).await;
    assert_eq!(results[0], "a0: about subject 0");
    assert_eq!((results.len(), fake.called("prompt")), (7, 7));
    let rules = Fake { follows_prompts: false, ..Fake::default() };
    let (fake, results) = prompts(rules, 7).await;
    assert_eq!((results.len(), fake.called("prompt")), (0, 0));
}

#[tokio::test]
async fn prompt_app_failure_is_retried_once_then_dropped_alone() {
    let failing = Fake::default().fails("prompt", &[FailureCode::ModelTimeout, FailureCode::ModelMalformed]);
    let (fake, results) = prompts(failing, 1).await;
    assert_eq!((results.len(), fake.called("prompt")), (0, 2));
    let (_, recovered) = prompts(Fake::default().fails("prompt", &[FailureCode::ModelTimeout]), 2).await;
    assert_eq!(recovered.len(), 2, "one that recovers is kept");
}

/// Fifty apps and a slow model took longer than a run may; each run began them anew, and the conversation failed.
#[tokio::test]
async fn prompt_apps_stop_at_their_time_limit() {
    let fake = Arc::new(Fake::default());
    let stage = TriggerApps::new(fake.clone()).within(Duration::ZERO);
    let prompt_apps = vec![PromptApp { id: "a".to_owned(), prompt: "subject".to_owned() }];
    let context = Context { apps: vec!["minutes".to_owned()], prompt_apps, ..context() };
    let results = stage.run((&talk(WORDS), &fake.structure, &context)).await.unwrap();
    assert_eq!((results.len(), fake.called("prompt")), (1, 0));
}

#[tokio::test]
async fn fan_out_announces_only_results_that_exist() {
    let (_, bare) = finalized(Fake::default(), material(WORDS)).await;
    assert_eq!(plan_fan_out(&bare), [EventKind::ConversationCompleted]);

    let rich =
        Fake { items: vec![item("Call Ana", None)], memories: vec![memory("Has a boat")], ..Fake::default() };
    let names: Vec<_> =
        plan_fan_out(&finalized(rich, material(WORDS)).await.1).into_iter().map(EventKind::as_str).collect();
    assert_eq!(names, ["conversation.completed", "action_item.created", "memory.created"]);
}

#[tokio::test]
async fn description_without_words_is_malformed_unless_the_engine_is_free() {
    let empty = || {
        let mut fake = Fake::default();
        fake.structure.title = "https://evil.example".to_owned();
        fake
    };
    let paid = finalize_with(&Arc::new(empty()), &Memory::default(), &material(WORDS), true).await;
    assert_eq!(paid, Err(FailureCode::ModelMalformed.into()));
    let free = Arc::new(Fake { costs: false, ..empty() });
    let kept = kept(finalize_with(&free, &Memory::default(), &material(WORDS), true).await);
    assert_eq!(kept.structure.title, "Conversation", "it would be asked again in vain");
}

#[tokio::test]
async fn embedding_of_zero_or_invalid_numbers_is_malformed() {
    for (vector, is_sound) in [
        (vec![0.0, 1.0], true),
        (vec![1.0; 16_384], true),
        (vec![1.0; 16_385], false),
        (vec![0.0; 2], false),
        (Vec::new(), false),
        (vec![1.0, f32::NAN], false),
        (vec![f32::INFINITY, 1.0], false),
    ] {
        let fake = Arc::new(Fake { vector: Some(vector.clone()), ..Fake::default() });
        let ended = finalize_with(&fake, &Memory::default(), &material(WORDS), false).await;
        let malformed = Interrupted::Failed(FailureCode::ModelMalformed.into());
        assert_eq!(ended.err(), (!is_sound).then_some(malformed), "{} numbers", vector.len());
    }
}

#[test]
fn survey_is_used_only_by_stages_of_one_engine() {
    let one = Arc::new(Fake { survey: Some(Survey::default()), ..Fake::default() });
    let other = Arc::new(Fake { id: "other/1".to_owned(), ..Fake::default() });
    assert!(SurveyTalk::before(&one.engines()).is_some());
    assert!(SurveyTalk::before(&Engines { items: other.clone(), ..one.engines() }).is_none());
    assert!(SurveyTalk::before(&Engines { memories: other, ..one.engines() }).is_none());
}

#[tokio::test]
async fn survey_answers_three_stages_and_missing_parts_are_requested() {
    let survey = Survey {
        structure: Some(Structure { title: "Surveyed".to_owned(), ..Fake::default().structure }),
        items: Some(vec![item("Call Ana", None)]),
        memories: None,
    };
    let fake =
        Arc::new(Fake { survey: Some(survey), memories: vec![memory("Has a boat")], ..Fake::default() });
    let checkpoints = Memory::default();

    let first = kept(finalize_with(&fake, &checkpoints, &material(WORDS), true).await);
    let second = kept(finalize_with(&fake, &checkpoints, &material(WORDS), true).await);

    assert_eq!(first, second);
    assert_eq!(first.structure.title, "Surveyed");
    assert_eq!((first.items.new.len(), first.memories.len()), (1, 1));
    let called = ["survey", "describe", "items", "memories"].map(|ability| fake.called(ability));
    assert_eq!(called, [1, 0, 0, 1], "and a second run pays for nothing");
}

fn with_pictures() -> Material {
    let photo = |id: &str, base64: &str| Photo { id: id.to_owned(), base64: base64.to_owned() };
    let photos = vec![photo("p1", "abc"), photo("p2", "def"), photo("p3", "ghi")];
    Material { photos, ..material(WORDS) }
}

#[tokio::test]
async fn photo_failure_leaves_it_undescribed_and_fails_nothing() {
    for code in [FailureCode::ModelRejected, FailureCode::ModelTimeout, FailureCode::ByokKeyRejected] {
        let failing = Fake::default().fails("photo", &[code]);
        let (fake, finalized) = finalized(failing, with_pictures()).await;
        let described = kept(Ok(finalized)).photos;
        let described: Vec<_> =
            described.iter().map(|photo| (photo.id.as_str(), photo.description.as_str())).collect();
        assert_eq!(described, [("p2", "def in en"), ("p3", "ghi in en")], "{code:?}");
        assert_eq!(fake.called("photo"), 3);
    }
}

#[tokio::test]
async fn photo_transient_failures_are_not_recorded_and_the_text_completes() {
    let open = Failure::while_open(FailureCode::ModelUnavailable, Duration::from_secs(30));
    for (failure, asked) in [
        (open, 6),
        (FailureCode::ModelUnavailable.into(), 6),
        (FailureCode::ModelTimeout.into(), 6),
        (FailureCode::ModelRateLimited.into(), 6),
        (FailureCode::ByokKeyRejected.into(), 6),
        (FailureCode::ModelRejected.into(), 3),
        (FailureCode::ModelMalformed.into(), 3),
    ] {
        let fake = Arc::new(Fake::default().fails_with("photo", &[failure; 3]));
        let memory = Memory::default();
        let first = kept(finalize_with(&fake, &memory, &with_pictures(), true).await);
        assert!(first.photos.is_empty(), "{failure:?}");
        assert_eq!(memory.stages().contains(&"describe_photos"), asked == 3, "{failure:?}");

        kept(finalize_with(&fake, &memory, &with_pictures(), true).await);
        assert_eq!((fake.called("photo"), fake.called("describe")), (asked, 1), "{failure:?}");
    }
}

/// Pictures, and not a word.
fn only_pictures() -> Material {
    let talk = records::Talk { lines: Vec::new(), ..talk("") };
    Material { talk, ..with_pictures() }
}

#[tokio::test]
async fn photo_descriptions_are_content_for_the_summary() {
    let (fake, words) = finalized(discards(), with_pictures()).await;
    assert_eq!(kept(Ok(words)).photos.len(), 3);
    let (silent, pictures) = finalized(discards(), only_pictures()).await;
    let pictures = kept(Ok(pictures));
    assert_eq!((pictures.photos.len(), pictures.structure.title.as_str()), (3, "Plans"));
    for fake in [&fake, &silent] {
        assert_eq!((fake.called("judge"), fake.called("describe")), (0, 1), "kept unasked, and described");
        let read = fake.read.lock().unwrap().clone();
        assert_eq!(read, ["abc in en", "def in en", "ghi in en"]);
    }
    assert_eq!((silent.called("items"), silent.called("memories")), (0, 0), "nobody said anything");
    assert_eq!(pictures.embedding.vector, ["abc in en\ndef in en\nghi in en".len() as f32]);
}

#[tokio::test]
async fn photo_descriptions_of_an_earlier_revision_stay_content() {
    let mut material = only_pictures();
    material.photos.clear();
    material.talk.background.pictures = vec!["A red bicycle.".to_owned()];
    let (fake, finalized) = finalized(discards(), material).await;
    assert!(kept(Ok(finalized)).photos.is_empty(), "they are described already");
    assert_eq!(
        (fake.called("photo"), fake.read.lock().unwrap().as_slice()),
        (0, &["A red bicycle.".to_owned()][..])
    );
}

#[tokio::test]
async fn photo_only_conversation_is_discarded_unless_the_model_is_unavailable() {
    let refused = Fake::default().fails("photo", &[FailureCode::ModelRejected; 3]);
    assert_eq!(finalized(refused, only_pictures()).await.1, Finalized::Discarded);

    let away = Arc::new(Fake::default().fails("photo", &[FailureCode::ModelUnavailable; 3]));
    let memory = Memory::default();
    let failed = finalize_with(&away, &memory, &only_pictures(), false).await;
    assert_eq!(failed, Err(FailureCode::ModelUnavailable.into()), "there is nothing else to go by");
    kept(finalize_with(&away, &memory, &only_pictures(), false).await);
    kept(finalize_with(&away, &memory, &only_pictures(), false).await);
    assert_eq!((away.called("photo"), away.called("describe")), (6, 1), "described once");
}

#[tokio::test]
async fn photo_descriptions_are_retried_with_a_run_the_text_needs() {
    let fake = Fake::default().fails("photo", &[FailureCode::ModelUnavailable; 3]);
    let fake = Arc::new(fake.fails("describe", &[FailureCode::ModelTimeout]));
    let memory = Memory::default();
    let failed = finalize_with(&fake, &memory, &with_pictures(), true).await;
    assert_eq!(failed, Err(FailureCode::ModelTimeout.into()), "the text's failure, not the pictures'");
    assert_eq!(kept(finalize_with(&fake, &memory, &with_pictures(), true).await).photos.len(), 3);
}

#[tokio::test]
async fn photo_requests_stop_at_their_time_limit() {
    let fake = Arc::new(Fake::default());
    let stage = DescribePhotos::new(fake.clone()).within(Duration::ZERO);
    let photos = with_pictures().photos;
    assert_eq!(stage.run((photos.as_slice(), "en")).await, Ok(Vec::new()));
    assert_eq!(fake.called("photo"), 0);
}
