//! Searches follow the names of speakers, which are part of what is indexed.

use axum::http::{Method, StatusCode};
use serde_json::json;

use crate::bench::Bench;
use crate::search::{conversation, ids};

#[tokio::test]
async fn search_follows_the_names_of_speakers() {
    let bench = Bench::new().await;
    let store = bench.ledger.store();
    let index = async || {
        while store.forget_more(1, 0).await.unwrap() > 0 {}
        store.index_conversations(10, 0).await.unwrap()
    };
    let people = "/v1/users/me/people";
    let person = bench.post(people, json!({"name": "Thelma"})).await.body["id"].as_str().unwrap().to_owned();
    let id = [conversation(&bench, &["The crown was fitted.", "The budget was raised."]).await];
    let hers = format!(
        "update transcript_segments set is_user = false, person_id = '{person}' where start_seconds = 0"
    );
    bench.database.run(&hers).await;
    conversation(&bench, &["Priya agreed."]).await;
    assert_eq!(index().await, 2);
    assert_eq!(ids(&bench, "q=thelma").await, id);

    let path = format!("{people}/{person}");
    let rename = async |name: &str| {
        let renamed = bench.ask(&bench.key, Method::PATCH, &path, Some(json!({"name": name}))).await;
        assert_eq!(renamed.status, StatusCode::OK, "{renamed:?}");
        index().await
    };
    assert!(rename("Louise").await > 0);
    assert_eq!(ids(&bench, "q=louise").await, id);
    assert_eq!(ids(&bench, "q=thelma").await, Vec::<String>::new(), "the old name");
    assert_eq!(rename("Louise").await, 0, "the same name again");

    bench.ask(&bench.key, Method::DELETE, &path, None).await;
    assert!(index().await > 0);
    assert_eq!(ids(&bench, "q=louise").await, Vec::<String>::new(), "she was forgotten");

    for (name, renamed) in [("Quentin", 2), ("Rupert", 2), ("Rupert", 0)] {
        let named = bench.ask(&bench.key, Method::PATCH, "/v1/users/me", Some(json!({"name": name}))).await;
        assert_eq!(named.status, StatusCode::OK, "{named:?}");
        assert_eq!(index().await, renamed, "where the user speaks");
    }
    assert_eq!(ids(&bench, "q=rupert").await.len(), 2);
    assert_eq!(ids(&bench, "q=quentin").await, Vec::<String>::new());
}

/// Conversations are indexed in the order of their users: those of a user who renamed a person came before all new ones of others.
#[tokio::test]
async fn rename_of_a_user_with_many_conversations_delays_no_other_users_search() {
    let bench = Bench::new().await;
    let store = bench.ledger.store();
    bench
        .run(
            "insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, source, language, \
                 status) \
             select 'ann', 'c' || n, now(), now(), now(), now(), 'phone', 'en', 'completed' from generate_series(1, 101) n; \
             update users set conversations_forgotten_to = '' where user_id = 'ann'",
        )
        .await;
    assert_eq!(store.forget_more(200, 0).await.unwrap(), 0, "enough of hers wait");
    assert_eq!(store.index_conversations(10, 0).await.unwrap(), 10);
    assert_eq!(store.forget_more(200, 0).await.unwrap(), 1);
}
