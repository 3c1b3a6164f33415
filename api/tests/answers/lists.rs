//! Lists: status filters, cursors, and a stable order.

use job::Queue;
use serde_json::{Value, json};

use crate::bench::{Answer, Bench, P};

async fn deferred(bench: &Bench) -> String {
    let segments = json!([{ "text": "Hello.", "start": 0, "end": 1 }]);
    let body = json!({ "transcript_segments": segments, "defer_processing": true });
    let made = bench.post(&format!("{P}/conversations/from-segments"), body).await;
    made.body["id"].as_str().unwrap().to_owned()
}

async fn created(bench: &Bench) -> String {
    let made = bench.post(&format!("{P}/conversations"), json!({ "text": "Buy milk." })).await;
    made.body["id"].as_str().unwrap().to_owned()
}

fn ids(answer: &Answer) -> Vec<&str> {
    answer.body.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect()
}

/// The target of `rel="next"`, if the answer has one.
fn next(answer: &Answer) -> Option<String> {
    let links = answer.header("link").to_owned();
    let link = links.split(", ").find(|link| link.ends_with("rel=\"next\""))?;
    Some(link.split_once('<')?.1.split_once('>')?.0.to_owned())
}

#[tokio::test]
async fn conversation_list_filters_by_status_and_defaults_to_completed() {
    let bench = Bench::new().await;
    let completed = created(&bench).await;
    bench.complete_all(Queue::Creation).await;
    let discarded = created(&bench).await;
    bench.complete_all(Queue::Creation).await;
    let path = format!("{P}/conversations/{discarded}");
    bench.ask(&bench.key, axum::http::Method::PATCH, &path, Some(json!({ "discarded": true }))).await;
    let failed = created(&bench).await;
    bench
        .run(&format!(
            "update conversations set status = 'failed', discarded = true where conversation_id = '{failed}'"
        ))
        .await;
    let processing = created(&bench).await;
    let open = deferred(&bench).await;
    let all = [&open, &processing, &failed, &discarded, &completed];
    for (query, listed) in [
        ("", vec![&completed]),
        ("?status=completed", vec![&completed]),
        ("?status=processing", vec![&processing]),
        ("?status=failed", vec![&failed]),
        ("?status=in_progress", vec![&open]),
        ("?status=any", all.to_vec()),
        ("?status=any&limit=2&offset=1", vec![&processing, &failed]),
        ("?status=any&include_transcript=true", all.to_vec()),
    ] {
        let answer = bench.get(&format!("{P}/conversations{query}")).await;
        assert_eq!(ids(&answer), listed, "{query}");
    }
    let wrong = bench.get(&format!("{P}/conversations?status=done")).await;
    let expected = "'completed', 'processing', 'failed', 'in_progress' or 'any'";
    assert_eq!(
        wrong.body["detail"],
        json!([{
            "type": "enum", "loc": ["query", "status"], "msg": format!("Input should be {expected}"),
            "ctx": { "expected": expected },
        }])
    );
}

#[tokio::test]
async fn list_cursor_is_stable_under_inserts_and_deletes() {
    let bench = Bench::new().await;
    let items: Vec<Value> = (0..5).map(|number| json!({ "description": format!("item {number}") })).collect();
    let path = format!("{P}/action-items");
    bench.post(&format!("{path}/batch"), json!({ "action_items": items })).await;
    let texts = |answer: &Answer| -> Vec<String> {
        let rows = answer.body.as_array().unwrap().iter();
        rows.map(|row| row["description"].as_str().unwrap().to_owned()).collect()
    };
    let first = bench.get(&format!("{path}?limit=2&completed=false")).await;
    assert_eq!(texts(&first), ["item 0", "item 1"], "in the order in which they were sent");
    let link = next(&first).unwrap();
    assert!(link.contains("completed=false") && link.ends_with("limit=2&offset=2"), "{link}");
    bench.post(&path, json!({ "description": "newer" })).await;
    let last = ids(&first)[1].to_owned();
    bench.ask(&bench.key, axum::http::Method::DELETE, &format!("{path}/{last}"), None).await;
    let second = bench.get(&link).await;
    assert_eq!(texts(&second), ["item 2", "item 3"]);
    let third = bench.get(&next(&second).unwrap()).await;
    assert_eq!((texts(&third), next(&third)), (vec!["item 4".to_owned()], None));
}

#[tokio::test]
async fn every_list_has_cursors() {
    let bench = Bench::new().await;
    let hook = bench.post(&format!("{P}/webhooks"), json!({ "url": "https://example.org" })).await;
    let hook = format!("{P}/webhooks/{}", hook.body["id"].as_str().unwrap());
    for number in 0..3 {
        deferred(&bench).await;
        bench.post(&format!("{P}/memories"), json!({ "content": format!("fact {number}") })).await;
        bench.post(&format!("{hook}/test"), json!({})).await;
    }
    for list in [
        format!("{P}/conversations?status=in_progress&"),
        format!("{P}/memories?"),
        format!("{hook}/deliveries?status=pending&"),
    ] {
        let whole = bench.get(&list).await;
        assert_eq!(ids(&whole).len(), 3, "{list}");
        let mut seen = Vec::new();
        let mut place = Some(format!("{list}limit=1"));
        while let Some(page) = place {
            let answer = bench.get(&page).await;
            seen.extend(ids(&answer).into_iter().map(str::to_owned));
            place = next(&answer);
            // The cursor alone leads on.
            if let Some(next) = &mut place {
                assert!(next.contains("cursor="), "{next}");
                *next = next.replace("offset=", "offset=9");
            }
        }
        assert_eq!(seen, ids(&whole), "{list}");
        let wrong = bench.get(&format!("{list}cursor=x")).await;
        assert_eq!(wrong.kinds(), [("value_error", &json!(["query", "cursor"]))], "{list}");
    }
}
