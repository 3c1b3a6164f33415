//! Search over a user's conversations, memories and action items.

use api::Scope;
use axum::http::{Method, StatusCode};
use futures::future::join_all;
use job::Queue;
use records::UserId;
use serde_json::{Value, json};
use store::{TaskFilter, UserChange};

use crate::bench::{Bench, P};

pub(crate) async fn conversation(bench: &Bench, lines: &[&str]) -> String {
    let segments: Vec<Value> = (0_i32..)
        .zip(lines)
        .map(|(at, line)| json!({"text": line, "speaker": "SPEAKER_00", "is_user": true, "start": at, "end": at + 1}))
        .collect();
    let body = json!({"transcript_segments": segments});
    let made = bench.post(&format!("{P}/conversations/from-segments"), body).await;
    assert_eq!(made.status, StatusCode::OK, "{made:?}");
    bench.complete_all(Queue::Creation).await;
    made.body["id"].as_str().unwrap().to_owned()
}

pub(crate) async fn ids(bench: &Bench, query: &str) -> Vec<String> {
    let found = bench.get(&format!("{P}/search?{query}")).await;
    assert_eq!(found.status, StatusCode::OK, "{found:?}");
    found.body.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn search_finds_inflected_words_once_indexed() {
    let bench = Bench::new().await;
    let budget = conversation(&bench, &["The marketing budgets were raised.", "Priya agreed."]).await;
    let other = conversation(
        &bench,
        &["The dentist fitted a crown.", "Nuts are forbidden, said the budget dentist."],
    )
    .await;
    assert_eq!(ids(&bench, "q=budget").await, Vec::<String>::new(), "not indexed yet");
    assert_eq!(bench.ledger.store().index_conversations(10, 1).await.unwrap(), 1, "the first is passed over");
    assert_eq!(bench.ledger.store().index_conversations(10, 0).await.unwrap(), 1);
    assert_eq!(bench.ledger.store().index_conversations(10, 0).await.unwrap(), 0, "nothing is left");
    assert_eq!(
        ids(&bench, "q=raising%20budget").await,
        [budget.clone(), other.clone()],
        "all words before some"
    );
    assert_eq!(ids(&bench, "q=%22budget%20dentist%22").await, std::slice::from_ref(&other));
    assert_eq!(ids(&bench, "q=budget%20-dentist").await, std::slice::from_ref(&budget));
    assert_eq!(ids(&bench, "q=zeppelin").await, Vec::<String>::new());
    assert_eq!(ids(&bench, "q=budget&end_date=2001-01-01").await, Vec::<String>::new());
    let found = bench.get(&format!("{P}/search?q=raised")).await;
    assert!(
        found.body[0]["text"].as_str().unwrap().contains("The marketing budgets were raised."),
        "{found:?}"
    );
    let deleted = bench.ask(&bench.key, Method::DELETE, &format!("{P}/conversations/{budget}"), None).await;
    assert_eq!(deleted.status, StatusCode::OK);
    assert_eq!(ids(&bench, "q=budget").await, [other], "gone with its conversation");
}

#[tokio::test]
async fn search_finds_memories_and_items_at_once_where_the_key_may_read_them() {
    let bench = Bench::new().await;
    let memory =
        bench.post(&format!("{P}/memories"), json!({"content": "Tom is allergic to shellfish"})).await;
    let item =
        bench.post(&format!("{P}/action-items"), json!({"description": "Ask Tom about allergies"})).await;
    let both = ids(&bench, "q=tom%20allergy").await;
    assert!(both.contains(&memory.body["id"].as_str().unwrap().to_owned()), "{both:?}");
    assert!(both.contains(&item.body["id"].as_str().unwrap().to_owned()), "{both:?}");
    let only = ids(&bench, "q=tom&kinds=memory").await;
    assert_eq!(only, [memory.body["id"].as_str().unwrap()]);
    let reader = bench.person("ann", &[Scope::ConversationsRead]).await;
    let path = format!("{P}/search?q=tom");
    assert_eq!(bench.ask(&reader, Method::GET, &path, None).await.body, json!([]));
    let named = bench.ask(&reader, Method::GET, &format!("{path}&kinds=memory"), None).await;
    assert_eq!(named.status, StatusCode::FORBIDDEN);
    let bob = bench.person("bob", Scope::ALL).await;
    assert_eq!(bench.ask(&bob, Method::GET, &path, None).await.body, json!([]), "another user's");
}

/// The action items that the assistant lists by words.
async fn listed(bench: &Bench, words: &str) -> Vec<String> {
    let filter = TaskFilter {
        words: Some(words.to_owned()),
        language: "en".to_owned(),
        limit: 9,
        ..TaskFilter::default()
    };
    let found = bench.ledger.store().tasks(&UserId::new("ann"), &filter).await.unwrap();
    found.into_iter().map(|item| item.id.to_string()).collect()
}

#[tokio::test]
async fn search_finds_memories_and_items_alike_before_and_after_indexing() {
    let bench = Bench::new().await;
    let of = |body: Value| body["id"].as_str().unwrap().to_owned();
    let memory =
        of(bench.post(&format!("{P}/memories"), json!({"content": "Prefers running shoes"})).await.body);
    let item =
        of(bench.post(&format!("{P}/action-items"), json!({"description": "Buy the shoes"})).await.body);
    let both = async |query: &str| {
        let mut found = ids(&bench, query).await;
        found.sort();
        found
    };
    let mut expected = vec![memory.clone(), item.clone()];
    expected.sort();
    for due in [2, 0] {
        assert_eq!(both("q=shoe").await, expected);
        assert_eq!(ids(&bench, "q=run%20-buys").await, std::slice::from_ref(&memory));
        assert_eq!(ids(&bench, "q=the").await, Vec::<String>::new(), "a word that is everywhere");
        assert_eq!(listed(&bench, "shoe").await, std::slice::from_ref(&item));
        assert_eq!(bench.ledger.store().index_things(10, 0).await.unwrap(), due);
    }
    for (path, id, change) in [
        ("memories", &memory, json!({"content": "Prefers boats"})),
        ("action-items", &item, json!({"description": "Sell the boats"})),
    ] {
        let changed = bench.ask(&bench.key, Method::PATCH, &format!("{P}/{path}/{id}"), Some(change)).await;
        assert_eq!(changed.status, StatusCode::OK);
    }
    for due in [2, 0] {
        assert_eq!(both("q=boat").await, expected);
        assert_eq!(ids(&bench, "q=shoe").await, Vec::<String>::new(), "what it said before");
        assert_eq!(listed(&bench, "boat").await, std::slice::from_ref(&item));
        assert_eq!(listed(&bench, "shoe").await, Vec::<String>::new());
        assert_eq!(bench.ledger.store().index_things(10, 0).await.unwrap(), due);
    }
    let done = json!({"completed": true});
    bench.ask(&bench.key, Method::PATCH, &format!("{P}/action-items/{item}"), Some(done)).await;
    assert_eq!(bench.ledger.store().index_things(10, 0).await.unwrap(), 0, "its text is the same");
}

#[tokio::test]
async fn search_uses_the_users_current_language() {
    let bench = Bench::new().await;
    bench.post(&format!("{P}/memories"), json!({"content": "Mag keine Tomaten"})).await;
    bench.ledger.store().index_things(10, 0).await.unwrap();
    assert_eq!(ids(&bench, "q=Tomate").await.len(), 0);
    let german = UserChange { language: Some("de".to_owned()), ..UserChange::default() };
    bench.ledger.change_user(&UserId::new("ann"), &german).await.unwrap();
    for due in [1, 0] {
        assert_eq!(ids(&bench, "q=Tomate").await.len(), 1);
        assert_eq!(bench.ledger.store().index_things(10, 0).await.unwrap(), due);
    }
    bench.ledger.change_user(&UserId::new("ann"), &german).await.unwrap();
    assert_eq!(bench.ledger.store().index_things(10, 0).await.unwrap(), 0, "it is the same language");
}

#[tokio::test]
async fn search_uses_the_new_language_for_thousands_of_old_memories() {
    let bench = Bench::new().await;
    bench
        .run(
            "insert into memories (user_id, memory_id, content, category, created_at, updated_at) \
             select 'ann', 'm' || n, case when n in (1, 2500) then 'Mag keine Tomaten' else 'Mag Tee' end, 'core', t, t \
             from generate_series(1, 2500) n, lateral (select timestamptz '2026-11-20' - make_interval(hours => n) as t) x",
        )
        .await;
    let indexed = async || {
        while bench.ledger.store().forget_more(1_000, 0).await.unwrap() > 0 {}
        while bench.ledger.store().index_things(1_000, 0).await.unwrap() > 0 {}
    };
    indexed().await;
    assert_eq!(ids(&bench, "q=Tomate").await.len(), 0);
    let german = UserChange { language: Some("de".to_owned()), ..UserChange::default() };
    bench.ledger.change_user(&UserId::new("ann"), &german).await.unwrap();
    assert_eq!(ids(&bench, "q=Tomate").await, ["m1"], "of the newest at once");
    indexed().await;
    assert_eq!(ids(&bench, "q=Tomate").await, ["m1", "m2500"], "and of all others a little later");
    assert_eq!(bench.ledger.store().forget_more(10, 0).await.unwrap(), 0, "nothing is left to be forgotten");
}

/// A process that stores words by the language before ends while another one forgets them.
#[tokio::test]
async fn search_uses_the_new_language_for_what_was_indexed_by_the_old_one_meanwhile() {
    let bench = Bench::new().await;
    bench.post(&format!("{P}/memories"), json!({"content": "Mag keine Tomaten"})).await;
    bench.post(&format!("{P}/action-items"), json!({"description": "Tomaten essen"})).await;
    bench
        .run(
            "update users set language = 'de', memories_forgotten_to = '', items_forgotten_to = '' \
             where user_id = 'ann'",
        )
        .await;
    let late = "update memories set words = to_tsvector('english', content) || array_to_tsvector(array['u' || md5(user_id)]); \
        update action_items set words = to_tsvector('english', description) || array_to_tsvector(array['u' || md5(user_id)])";
    let forget = async { bench.ledger.store().forget_more(10, 0).await.unwrap() };
    assert_eq!(bench.database.overtaken_by(late, forget).await, 1);
    assert_eq!(ids(&bench, "q=Tomate").await.len(), 2);
}

/// A row of a user whose language changed cannot be changed.
#[tokio::test]
async fn search_indexes_new_memories_while_the_words_of_a_language_before_cannot_be_forgotten() {
    let bench = Bench::new().await;
    bench.post(&format!("{P}/memories"), json!({"content": "Mag keine Tomaten"})).await;
    bench.run("update users set language = 'de', memories_forgotten_to = '' where user_id = 'ann'").await;
    bench.ledger.store().index_things(10, 0).await.unwrap();
    bench.post(&format!("{P}/memories"), json!({"content": "Likes tea"})).await;
    bench
        .run(
            "create function refuse() returns trigger language plpgsql as \
                 'begin raise exception ''refused''; end'; \
             create trigger refuse before update on memories for each row when (old.words is not null) \
                 execute function refuse()",
        )
        .await;
    bench.run("insert into users (user_id, language, memories_forgotten_to) values ('zoe', 'de', '')").await;
    assert!(bench.ledger.store().forget_more(10, 0).await.is_err());
    // Waits until its session has rolled back: rows that are locked are left to a later look.
    bench.run("select from memories for update").await;
    assert_eq!(bench.ledger.store().index_things(10, 0).await.unwrap(), 1);
    assert_eq!(bench.ledger.store().forget_more(10, 1).await.unwrap(), 1, "those of the users behind can");
    assert_eq!(bench.ledger.store().forget_more(10, 1).await.unwrap(), 0, "zoe is done");
}

#[tokio::test]
async fn search_finds_an_old_memory_among_thousands() {
    let bench = Bench::new().await;
    bench
        .run(
            "insert into memories (user_id, memory_id, content, category, created_at, updated_at) \
             select 'ann', 'm' || n, 'Number ' || n || case n when 2500 then ' likes zebras' else ' likes tea' end, 'core', t, t \
             from generate_series(1, 2500) n, lateral (select timestamptz '2026-11-20' - make_interval(hours => n) as t) x",
        )
        .await;
    while bench.ledger.store().index_things(1_000, 0).await.unwrap() > 0 {}
    assert_eq!(ids(&bench, "q=zebra").await, ["m2500"]);
    assert_eq!(ids(&bench, "q=zebra%20tea&limit=2").await, ["m1", "m2"], "nothing has both");
    let bob = bench.person("bob", Scope::ALL).await;
    let path = format!("{P}/search?q=zebra");
    assert_eq!(bench.ask(&bob, Method::GET, &path, None).await.body, json!([]), "another user's");
}

#[tokio::test]
async fn search_finds_source_text_without_returning_it() {
    let bench = Bench::new().await;
    let made = bench
        .post(
            &format!("{P}/conversations"),
            json!({"text": "The secret word is xylophone and some more words."}),
        )
        .await;
    bench.complete_all(Queue::Creation).await;
    bench.ledger.store().index_conversations(10, 0).await.unwrap();
    let found = bench.get(&format!("{P}/search?q=xylophone")).await;
    assert_eq!(found.body[0]["id"], made.body["id"]);
    assert!(!found.body[0].to_string().contains("secret"), "{found:?}");
}

#[tokio::test]
async fn search_reindexes_a_changed_title() {
    let bench = Bench::new().await;
    let id = conversation(&bench, &["Something was said here."]).await;
    bench.ledger.store().index_conversations(10, 0).await.unwrap();
    bench
        .ask(
            &bench.key,
            Method::PATCH,
            &format!("{P}/conversations/{id}"),
            Some(json!({"title": "Zebra crossing"})),
        )
        .await;
    assert_eq!(bench.ledger.store().index_conversations(10, 0).await.unwrap(), 1);
    assert_eq!(ids(&bench, "q=zebra").await, [id]);
}

#[tokio::test]
async fn search_keeps_no_passages_of_what_is_discarded() {
    let bench = Bench::new().await;
    let id = conversation(&bench, &["The zebra crossed."]).await;
    let path = format!("{P}/conversations/{id}");
    let found = [(false, vec![id]), (true, Vec::new())];
    for (discarded, expected) in [&found[0], &found[1], &found[0]] {
        let change = Some(json!({ "discarded": discarded }));
        assert_eq!(bench.ask(&bench.key, Method::PATCH, &path, change).await.status, StatusCode::OK);
        assert_eq!(bench.ledger.store().index_conversations(10, 0).await.unwrap(), 1);
        assert_eq!(ids(&bench, "q=zebra").await, *expected);
        let kept = format!("assert {discarded} = not exists (select from search_entries)");
        bench.run(&format!("do $$ begin {kept}; end $$")).await;
    }
}

#[tokio::test]
async fn search_query_is_bounded_and_unusual_queries_are_answered() {
    let bench = Bench::new().await;
    for query in ["", "q=", "q=%20", "q=x&limit=0", "q=x&limit=101", "q=x&kinds=goal"] {
        let answer = bench.get(&format!("{P}/search?{query}")).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{query}");
    }
    for query in [
        "q=%27",
        "q=%22",
        "q=-a",
        "q=%26%20%7C%20!",
        "q=%3C-%3E%20(",
        "q=the",
        "q=%F0%9F%A7%A0",
        "q=a%5Cb%27c",
    ] {
        assert_eq!(ids(&bench, query).await, Vec::<String>::new(), "{query}");
    }
}

#[tokio::test]
async fn search_finds_frequent_words_in_the_newest_passages() {
    let bench = Bench::new().await;
    bench
        .run(
            "insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, \
                 language, source, status, title, indexed_revision) \
             select 'ann', 'c' || n, t, t, t, t, 'en', 'phone', 'completed', 'Number ' || n, 0 \
             from generate_series(1, 500) n, lateral (select timestamptz '2026-11-20' - make_interval(hours => n) as t) x; \
             insert into search_entries (user_id, conversation_id, part, happened_at, content, words) \
             select user_id, conversation_id, part, started_at, said, \
                 to_tsvector('english', said) || to_tsvector('simple', said) || array_to_tsvector(array['u' || md5(user_id)]) \
             from conversations, generate_series(0, 4) part, \
                 lateral (select 'The budget of ' || conversation_id || case when part = 4 then ' in euros' else '' end as said) x",
        )
        .await;
    assert_eq!(ids(&bench, "q=budget&limit=2").await, ["c1", "c2"], "2,500 passages have it: the newest");
    assert_eq!(
        ids(&bench, "q=euros&limit=2").await,
        ["c1", "c2"],
        "500 have it, 400 of them within the newest 2,000"
    );
    assert_eq!(ids(&bench, "q=c500").await, ["c500"], "the oldest has it");
    assert_eq!(ids(&bench, "q=c500%20budget&limit=2").await, ["c500", "c1"], "all words before some");
    assert_eq!(ids(&bench, "q=budget&end_date=2026-10-31T23:30:00Z&limit=1").await, ["c457"]);
    assert_eq!(ids(&bench, "q=zeppelin%20budget&limit=1").await, ["c1"], "nothing has both");
}

/// Each search takes three sessions with the database, for which other users' requests would wait.
#[tokio::test]
async fn two_searches_of_a_user_run_at_once_and_one_that_waits_too_long_is_429() {
    let bench = Bench::new().await;
    let bob = bench.person("bob", Scope::ALL).await;
    let path = format!("{P}/search?q=budget");
    // What they read is locked: two after the other give up after two seconds, and the last one waits for longer than it may.
    let locks = bench.database.hold_locks("lock table search_entries in access exclusive mode").await;
    let mut answers = join_all((0..7).map(|_| bench.get(&path))).await;
    answers.sort_by_key(|answer| answer.status);
    // One, or three on a machine that is busy; if one ran at a time it would be four, and with three at a time none.
    let refused = answers.iter().filter(|answer| answer.status == 429).count();
    assert!((1..=3).contains(&refused), "{answers:?}");
    assert!(answers[refused..].iter().all(|answer| answer.status == 503), "{answers:?}");
    assert_eq!(answers[0].beside.as_deref(), Some("too_many_searches"));
    assert!(answers[0].header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds > 0));
    drop(locks);
    assert_eq!(bench.get(&path).await.status, StatusCode::OK, "the turns are free again");
    assert_eq!(bench.ask(&bob, Method::GET, &path, None).await.status, StatusCode::OK);
}

/// What people in other scripts type is found in what was said, and in what they wrote.
#[tokio::test]
async fn search_finds_words_of_any_script_and_spelling() {
    let bench = Bench::new().await;
    let said = [
        "今天我们和王经理讨论了明年的预算。",
        "来週の火曜日に打ち合わせがあります。データは三階です。",
        "ห้องประชุมอยู่ชั้นสาม",
        "회의를 금요일에 시작합니다.",
        "قابلت مُحَمَّد في مقهى",
        "Straße und Cafe\u{301} in İstanbul",
        "Ο Οδυσσεύς έφυγε",
    ];
    for (number, text) in said.iter().enumerate() {
        conversation(&bench, &[text, &format!("This is talk number {number} of several.")]).await;
        bench.post(&format!("{P}/memories"), json!({ "content": text })).await;
        bench.post(&format!("{P}/action-items"), json!({ "description": text })).await;
    }
    while bench.ledger.store().index_conversations(10, 0).await.unwrap() > 0 {}
    while bench.ledger.store().index_things(10, 0).await.unwrap() > 0 {}
    for (query, place) in [
        ("预算", 0),
        ("王", 0),
        ("讨论 预算", 0),
        ("“明年的预算”", 0),
        ("打ち合わせ", 1),
        ("ﾃﾞｰﾀ", 1),
        ("ประชุม", 2),
        ("회의", 3),
        ("محمد", 4),
        ("cafe", 5),
        ("CAFÉ", 5),
        ("strasse", 5),
        ("istanbul", 5),
        ("ΟΔΥΣΣΕΥΣ", 6),
    ] {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let found = bench.get(&format!("{P}/search?limit=9&q={encoded}")).await;
        let texts: Vec<&str> =
            found.body.as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect();
        let all = texts.iter().filter(|text| text.contains(said[place])).count();
        assert_eq!((texts.len(), all), (3, 3), "{query}: {texts:?}");
    }
    assert_eq!(ids(&bench, "q=%E9%A2%84%E7%AE%97%20-%E8%AE%A8%E8%AE%BA").await.len(), 0, "excluded");
}

#[tokio::test]
async fn search_leaves_out_the_paragraph_that_says_that_items_were_not_looked_for() {
    let bench = Bench::new().await;
    let id = conversation(&bench, &["Something was said here."]).await;
    bench
        .run(
            "update conversations set overview = E'Es regnet im Norden.\n\nTermine wurden nicht gesucht.', \
             engine = 'embedded/23, items not read'",
        )
        .await;
    bench.ledger.store().index_conversations(10, 0).await.unwrap();
    assert_eq!(ids(&bench, "q=Norden").await, [id]);
    assert_eq!(ids(&bench, "q=Termine").await.len(), 0);
}
