//! `P/goals`, as a client sends and reads it.

use axum::http::Method;
use serde_json::{Value, json};

use crate::bench::{Answer, Bench, P};

async fn create(bench: &Bench, title: &str) -> Answer {
    bench.post(&format!("{P}/goals"), json!({ "title": title, "target_value": 8 })).await
}

fn path(goal: &Answer, rest: &str) -> String {
    format!("{P}/goals/{}{rest}", goal.body["id"].as_str().unwrap())
}

async fn titles(bench: &Bench, query: &str) -> Vec<String> {
    let goals = bench.get(&format!("{P}/goals?{query}")).await.body;
    goals.as_array().unwrap().iter().map(|goal| goal["title"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn goal_has_the_documented_fields_and_defaults() {
    let bench = Bench::new().await;
    let made = create(&bench, "Read").await;
    assert_eq!(made.status, 200, "{made:?}");
    assert!(made.body["id"].as_str().unwrap().starts_with("goal_"));
    let at = &made.body["created_at"];
    assert_eq!(
        made.body,
        json!({
            "id": made.body["id"], "title": "Read", "goal_type": "scale", "target_value": 8.0, "current_value": 0.0,
            "min_value": 0.0, "max_value": 10.0, "unit": null, "is_active": true, "created_at": at, "updated_at": at,
        })
    );
    assert_eq!(bench.get(&path(&made, "")).await.body, made.body);
    let body = json!({
        "title": "Run", "goal_type": "numeric", "target_value": "42.195", "current_value": 1, "min_value": -1,
        "max_value": 50, "unit": "km",
    });
    let full = bench.post(&format!("{P}/goals"), body).await;
    assert_eq!((&full.body["target_value"], &full.body["unit"]), (&json!(42.195), &json!("km")));
    let yes_or_no = json!({ "title": "Vote", "goal_type": "boolean", "target_value": true });
    let yes_or_no = bench.post(&format!("{P}/goals"), yes_or_no).await;
    assert_eq!((&yes_or_no.body["target_value"], &yes_or_no.body["max_value"]), (&json!(1.0), &json!(1.0)));
}

#[tokio::test]
async fn goal_errors_name_every_failing_field() {
    let bench = Bench::new().await;
    let body =
        json!({ "title": "", "goal_type": "vague", "current_value": "nan", "min_value": [], "unit": 5 });
    let answer = bench.post(&format!("{P}/goals"), body).await;
    assert_eq!(
        answer.kinds(),
        [
            ("string_too_short", &json!(["body", "title"])),
            ("enum", &json!(["body", "goal_type"])),
            ("missing", &json!(["body", "target_value"])),
            ("finite_number", &json!(["body", "current_value"])),
            ("float_type", &json!(["body", "min_value"])),
            ("string_type", &json!(["body", "unit"])),
        ]
    );
    assert_eq!(answer.body["detail"][1]["msg"], "Input should be 'boolean', 'scale' or 'numeric'");
}

#[tokio::test]
async fn invalid_goal_numbers_are_refused_at_their_field() {
    let bench = Bench::new().await;
    let goals = format!("{P}/goals");
    let boolean = json!({ "title": "Vote", "goal_type": "boolean", "target_value": 2, "current_value": 0.5 });
    let answer = bench.post(&goals, boolean).await;
    assert_eq!(
        answer.kinds(),
        [
            ("value_error", &json!(["body", "target_value"])),
            ("value_error", &json!(["body", "current_value"]))
        ]
    );
    assert_eq!(answer.body["detail"][0]["msg"], "Value error, target_value of a boolean goal must be 0 or 1");
    let crossed = json!({ "title": "Run", "target_value": 5, "min_value": 11 });
    assert_eq!(bench.post(&goals, crossed).await.kinds(), [("value_error", &json!(["body"]))]);

    let beyond =
        json!({ "title": "Count", "goal_type": "numeric", "target_value": 123, "current_value": -4 });
    let beyond = bench.post(&goals, beyond).await;
    assert_eq!((&beyond.body["target_value"], &beyond.body["max_value"]), (&json!(123.0), &json!(10.0)));
    let with_defaults = json!({
        "title": "Vote", "goal_type": "boolean", "target_value": 1, "current_value": 0, "min_value": 0, "max_value": 10,
    });
    let vote = bench.post(&goals, with_defaults).await;
    assert_eq!((&vote.body["min_value"], &vote.body["max_value"]), (&json!(0.0), &json!(1.0)), "{vote:?}");

    let patch =
        async |rest: &str, body| bench.ask(&bench.key, Method::PATCH, &path(&vote, rest), Some(body)).await;
    let at = |part: &str, field: &str| json!([part, field]);
    assert_eq!(
        patch("", json!({ "max_value": 7 })).await.kinds(),
        [("value_error", &at("body", "max_value"))]
    );
    assert_eq!(
        patch("/progress", json!({ "current_value": 2 })).await.kinds(),
        [("value_error", &at("body", "current_value"))]
    );
    assert_eq!(
        patch("/progress?current_value=2", json!({})).await.kinds(),
        [("value_error", &at("query", "current_value"))]
    );
    assert_eq!(bench.get(&path(&vote, "")).await.body, vote.body, "nothing of it was kept");
    assert_eq!(patch("/progress?current_value=true", json!({})).await.status, 422, "a query holds no JSON");
    assert_eq!(patch("/progress", json!({ "current_value": true })).await.body["current_value"], 1.0);
}

#[tokio::test]
async fn goal_patch_is_validated_with_the_stored_values() {
    let bench = Bench::new().await;
    let goal = create(&bench, "Read").await;
    let patch = async |body| bench.ask(&bench.key, Method::PATCH, &path(&goal, ""), Some(body)).await;
    let (body, goal_type) = (json!(["body"]), json!(["body", "goal_type"]));
    assert_eq!(patch(json!({ "min_value": 11 })).await.kinds(), [("value_error", &body)]);
    assert_eq!(patch(json!({ "min_value": 3, "max_value": 2 })).await.kinds(), [("value_error", &body)]);
    let answer = patch(json!({ "goal_type": "boolean", "title": "Lost" })).await;
    assert_eq!(answer.kinds(), [("value_error", &goal_type)]);
    assert_eq!(answer.body["detail"][0]["msg"], "Value error, target_value of a boolean goal must be 0 or 1");
    assert_eq!(bench.get(&path(&goal, "")).await.body, goal.body);
    let nobodys = bench
        .ask(
            &bench.key,
            Method::PATCH,
            &format!("{P}/goals/none"),
            Some(json!({ "min_value": 3, "max_value": 2 })),
        )
        .await;
    assert_eq!(nobodys.status, 422, "the body goes before the 404");
    let changed = patch(json!({ "goal_type": "boolean", "target_value": 1 })).await;
    assert_eq!((&changed.body["max_value"], &changed.body["title"]), (&json!(1.0), &json!("Read")));
}

#[tokio::test]
async fn fourth_goal_deactivates_the_oldest_and_inactive_goals_are_listed_on_request() {
    let bench = Bench::new().await;
    let first = create(&bench, "1").await;
    for title in ["2", "3", "4"] {
        create(&bench, title).await;
    }
    assert_eq!(titles(&bench, "").await, ["2", "3", "4"]);
    assert_eq!(titles(&bench, "include_inactive=true").await, ["2", "3", "4", "1"]);
    assert_eq!(titles(&bench, "include_inactive=true&limit=1&offset=3").await, ["1"]);
    let activated =
        bench.ask(&bench.key, Method::PATCH, &path(&first, ""), Some(json!({ "is_active": true }))).await;
    assert_eq!(activated.body["is_active"], true);
    assert_eq!(titles(&bench, "").await, ["1", "3", "4"]);
    let wrong = bench.get(&format!("{P}/goals?limit=1001&include_inactive=perhaps")).await;
    assert_eq!(
        wrong.kinds(),
        [
            ("less_than_equal", &json!(["query", "limit"])),
            ("bool_parsing", &json!(["query", "include_inactive"]))
        ]
    );
}

#[tokio::test]
async fn goal_patch_needs_a_field_and_null_clears_only_the_unit() {
    let bench = Bench::new().await;
    let made = create(&bench, "Read").await;
    let patch = async |body| bench.ask(&bench.key, Method::PATCH, &path(&made, ""), Some(body)).await;
    let changed = patch(json!({ "title": "Read more", "unit": "books", "goal_type": "numeric" })).await;
    assert_eq!((&changed.body["title"], &changed.body["unit"]), (&json!("Read more"), &json!("books")));
    let unitless = patch(json!({ "unit": null, "is_active": false })).await;
    let expected = json!({
        "id": made.body["id"], "title": "Read more", "goal_type": "numeric", "target_value": 8.0, "current_value": 0.0,
        "min_value": 0.0, "max_value": 10.0, "unit": null, "is_active": false, "created_at": made.body["created_at"],
        "updated_at": unitless.body["updated_at"],
    });
    assert_eq!(unitless.body, expected, "what is not named stays");
    assert_eq!(patch(json!({ "current_value": 3 })).await.kinds(), [("value_error", &json!(["body"]))]);
    assert_eq!(
        patch(json!({ "title": null, "is_active": null })).await.kinds(),
        [("string_type", &json!(["body", "title"])), ("bool_type", &json!(["body", "is_active"]))]
    );
}

#[tokio::test]
async fn goal_progress_is_read_from_query_or_body_and_recorded() {
    let bench = Bench::new().await;
    let made = create(&bench, "Read").await;
    let put = async |query: &str, body: Option<Value>| {
        bench.ask(&bench.key, Method::PATCH, &path(&made, &format!("/progress{query}")), body).await
    };
    assert_eq!(put("?current_value=3", None).await.body["current_value"], 3.0);
    assert_eq!(put("", Some(json!({ "current_value": 4.5 }))).await.body["current_value"], 4.5);
    assert_eq!(put("?current_value=5", Some(json!({ "current_value": 9 }))).await.body["current_value"], 5.0);
    for body in [None, Some(json!({})), Some(Value::Null)] {
        assert_eq!(put("", body).await.kinds(), [("missing", &json!(["query", "current_value"]))]);
    }
    assert_eq!(
        put("?current_value=much", None).await.kinds(),
        [("float_parsing", &json!(["query", "current_value"]))]
    );
    assert_eq!(
        put("", Some(json!({ "current_value": null }))).await.kinds(),
        [("float_type", &json!(["body", "current_value"]))]
    );
    let history = bench.get(&path(&made, "/history")).await.body;
    assert_eq!(history.as_array().unwrap().len(), 1, "one value a day: {history}");
    let fields: Vec<_> = history[0].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["date", "value", "recorded_at"]);
    assert_eq!(history[0]["value"], 5.0);
    assert!(history[0]["recorded_at"].as_str().unwrap().starts_with(history[0]["date"].as_str().unwrap()));
    for (days, kind) in [("0", "greater_than_equal"), ("366", "less_than_equal"), ("week", "int_parsing")] {
        let answer = bench.get(&path(&made, &format!("/history?days={days}"))).await;
        assert_eq!(answer.kinds(), [(kind, &json!(["query", "days"]))]);
    }
    assert_eq!(bench.get(&path(&made, "/history?days=365")).await.status, 200);
}

#[tokio::test]
async fn other_users_goals_are_404_and_deleted_goals_are_gone() {
    let bench = Bench::new().await;
    let made = create(&bench, "Read").await;
    let bob = bench.person("bob", api::Scope::ALL).await;
    let everything = [
        (Method::GET, "", None),
        (Method::PATCH, "", Some(json!({ "is_active": true }))),
        (Method::PATCH, "/progress?current_value=1", None),
        (Method::GET, "/history", None),
        (Method::DELETE, "", None),
    ];
    let gone = json!({ "detail": "Goal not found" });
    for (method, rest, body) in everything.clone() {
        let answer = bench.ask(&bob, method.clone(), &path(&made, rest), body).await;
        assert_eq!((answer.status.as_u16(), &answer.body), (404, &gone), "{method} {rest}");
    }
    assert_eq!(bench.get(&path(&made, "")).await.body, made.body, "and nothing has changed");
    let deleted = bench.ask(&bench.key, Method::DELETE, &path(&made, ""), None).await;
    assert_eq!((deleted.status.as_u16(), &deleted.body), (200, &json!({ "success": true })));
    for (method, rest, body) in everything {
        let answer = bench.ask(&bench.key, method.clone(), &path(&made, rest), body).await;
        assert_eq!((answer.status.as_u16(), &answer.body), (404, &gone), "{method} {rest}");
    }
}
