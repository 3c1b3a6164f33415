//! `P/goals`, their progress and their history.

use axum::{Json, http::HeaderMap};
use records::{Goal, GoalId, GoalType, UserId};
use serde_json::{Value, json};
use store::{GoalChange, GoalFilter, NewGoal};

use super::{
    answer, links,
    measure::{Figure, HIGH_END, KIND, NUMBER, ends_in_order, refused_change, refused_progress},
    path::Ids,
    tagged,
};
use crate::{
    Answer, Answered, AppState, Caller, Endpoint, Error, Problem, Reply, Scope,
    read::{
        Body, Bool, Choice, Fields, Int, Named, Note, Page, Query, Text, object, optional_object, page, query,
    },
    shapes::{self, Words, words},
    takes,
};

/// Of a title (DECISIONS §1, "goal").
const TITLE: Text = Text::between(1, 500);
/// Of what is counted.
const UNIT: Text = Text::between(0, 100);

const ALL: &str = "/v1/dev/user/goals";
const ONE: &str = "/v1/dev/user/goals/{goal_id}";

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get(ALL, Scope::GoalsRead, list)
            .named("list_goals", "List goals")
            .says("Active ones first, oldest first.")
            .query(takes(read_filter, FILTER))
            .answers(Answer::page::<shapes::Goal>()),
        Endpoint::post(ALL, Scope::GoalsWrite, create)
            .named("create_goal", "Create a goal")
            .says("Created, and active. At most three goals are active: a fourth one deactivates the oldest.")
            .creates(again)
            .body(
                "NewGoal",
                takes(|fields| read_new(fields, &GoalId::new("")), NEW),
                json!({ "title": "Read a book a month", "target_value": 12, "goal_type": "numeric" }),
            )
            .answers(
                Answer::one::<shapes::Goal>("The goal.")
                    .leads_to("get_goal", "goal_id", "/id")
                    .leads_to("update_goal", "goal_id", "/id")
                    .leads_to("set_goal_progress", "goal_id", "/id")
                    .leads_to("get_goal_history", "goal_id", "/id")
                    .leads_to("delete_goal", "goal_id", "/id"),
            ),
        Endpoint::get(ONE, Scope::GoalsRead, one)
            .named("get_goal", "Read a goal")
            .conditional()
            .answers(Answer::one::<shapes::Goal>("The goal."))
            .not_found(KIND),
        Endpoint::patch(ONE, Scope::GoalsWrite, change)
            .named("update_goal", "Change a goal")
            .says("At least one field.")
            .body("GoalChange", takes(read_change, CHANGE), json!({ "target_value": 24 }))
            .answers(Answer::one::<shapes::Goal>("As it is now."))
            .not_found(KIND),
        Endpoint::patch("/v1/dev/user/goals/{goal_id}/progress", Scope::GoalsWrite, progress)
            .named("set_goal_progress", "Set the progress of a goal")
            .query(takes(read_progress, PROGRESS))
            .optional_body("GoalProgress", takes(read_progress, PROGRESS), json!({ "current_value": 3 }))
            .answers(Answer::one::<shapes::Goal>("As it is now."))
            .not_found(KIND),
        Endpoint::get("/v1/dev/user/goals/{goal_id}/history", Scope::GoalsRead, history)
            .named("get_goal_history", "Read the history of a goal")
            .says("A value for each day on which it was set, newest first.")
            .query(takes(read_days, &[("days", "Days of history.", "30")]))
            .answers(Answer::all::<shapes::GoalPoint>())
            .not_found(KIND),
        Endpoint::delete(ONE, Scope::GoalsWrite, delete)
            .named("delete_goal", "Delete a goal")
            .says("For good, with its history.")
            .answers(Answer::one::<shapes::Success>("Deleted."))
            .not_found(KIND),
    ]
}

async fn again(state: AppState, user: UserId, ids: Vec<String>) -> Result<Value, Error> {
    let id = GoalId::new(answer::only(&ids)?);
    Ok(json!(shapes::goal(&state.ledger.store().goal(&user, &id).await?.ok_or(Error::NotFound(KIND))?)))
}

fn types() -> Named<Choice<&'static str, GoalType>> {
    words::GoalType::in_request(Choice::of(GoalType::ALL.iter().map(|kind| (kind.as_str(), *kind))))
}

async fn list(state: AppState, caller: Caller, parameters: Query) -> Answered {
    let (page, filter) = query(&parameters, read_filter)?;
    let goals = state.ledger.store().goals(&caller.user, &filter).await?;
    Ok(links::answer(&parameters.uri, page, &goals, shapes::goal))
}

const FILTER: &[Note] = &[
    ("limit", "Maximum number of results.", "10"),
    ("offset", "Number of results to skip.", "0"),
    ("include_inactive", "With those that are not active any more.", "false"),
];

fn read_filter(fields: &mut Fields<'_>) -> Option<(Page, GoalFilter)> {
    let page = page(fields, 10, 1_000);
    let include_inactive = fields.present("include_inactive", Bool).unwrap_or(false);
    Some((page, GoalFilter { limit: links::one_more(page), offset: page.offset, include_inactive }))
}

async fn one(state: AppState, caller: Caller, Ids(id): Ids<String>, asked: HeaderMap) -> Answered {
    let Json(shape) = shown(state.ledger.store().goal(&caller.user, &GoalId::new(id)).await?)?;
    Ok(tagged::answer(&asked, shape))
}

async fn create(state: AppState, caller: Caller, body: Body) -> Reply<shapes::Goal> {
    let id = GoalId::new(format!("goal_{}", state.ids.fresh()));
    let new = object(body, |fields| read_new(fields, &id))?;
    Ok(Json(shapes::goal(&state.ledger.store().create_goal(&caller.user, &new).await?)))
}

const NEW: &[Note] = &[
    ("title", "What it is.", ""),
    ("goal_type", "The kind of goal; the target and the value of a `boolean` are 0 or 1.", "\"scale\""),
    ("target_value", "The target; it may lie beyond the scale.", ""),
    ("current_value", "The current value; it may lie beyond the scale.", "0"),
    ("min_value", "The lower end of the scale, not above the upper one; 0 of a `boolean`.", "0"),
    (
        "max_value",
        "The upper end of the scale: 10 unless said otherwise. 1 of a `boolean`, for which a 10 is taken as 1.",
        "",
    ),
    ("unit", "The unit.", ""),
];

fn read_new(fields: &mut Fields<'_>, id: &GoalId) -> Option<NewGoal> {
    let title = fields.required("title", TITLE);
    let goal_type = fields.optional("goal_type", types()).unwrap_or(GoalType::Scale);
    let known = Some(goal_type);
    let target_value = fields.required("target_value", Figure::target(known));
    let current_value = fields.optional("current_value", Figure::current(known)).unwrap_or(0.0);
    let min_value = fields.optional("min_value", Figure::min(known)).unwrap_or(0.0);
    let max_value = fields.optional("max_value", Figure::max_of_new(known)).unwrap_or(HIGH_END);
    let max_value = if goal_type == GoalType::Boolean { 1.0 } else { max_value };
    let unit = fields.optional("unit", UNIT);
    ends_in_order(fields, Some(min_value), Some(max_value))?;
    let (title, target_value) = (title?, target_value?);
    Some(NewGoal {
        id: id.clone(),
        title,
        goal_type,
        target_value,
        current_value,
        min_value,
        max_value,
        unit,
    })
}

async fn change(state: AppState, caller: Caller, Ids(id): Ids<String>, body: Body) -> Reply<shapes::Goal> {
    let change = object(body, read_change)?;
    let changed = state.ledger.store().change_goal(&caller.user, &GoalId::new(id), &change).await?;
    let goal = changed.map_err(|refusal| refused_change(refusal, &change))?;
    Ok(Json(shapes::goal(&goal)))
}

const CHANGE: &[Note] = &[
    ("title", "What it is.", ""),
    (
        "goal_type",
        "The kind of goal. A `boolean` needs a target and a value of 0 or 1, and gets the ends 0 and 1.",
        "",
    ),
    ("target_value", "The target; 0 or 1 of a `boolean`.", ""),
    ("min_value", "The lower end of the scale, not above the upper one; 0 of a `boolean`.", ""),
    ("max_value", "The upper end of the scale, not below the lower one; 1 of a `boolean`.", ""),
    ("unit", "The unit; null for none.", ""),
    ("is_active", "`true` deactivates the oldest of three others.", ""),
];

fn read_change(fields: &mut Fields<'_>) -> Option<GoalChange> {
    let (title, goal_type) = (fields.present("title", TITLE), fields.present("goal_type", types()));
    let change = GoalChange {
        title,
        goal_type,
        target_value: fields.present("target_value", Figure::target(goal_type)),
        min_value: fields.present("min_value", Figure::min(goal_type)),
        max_value: fields.present("max_value", Figure::max(goal_type)),
        unit: fields.nullable("unit", UNIT),
        is_active: fields.present("is_active", Bool),
    };
    let names = ["title", "goal_type", "target_value", "min_value", "max_value", "unit", "is_active"];
    fields.needs_any(&names)?;
    ends_in_order(fields, change.min_value, change.max_value)?;
    Some(change)
}

/// PATCH progress: `current_value`, in the query or in the body; the query goes first.
async fn progress(
    state: AppState,
    caller: Caller,
    Ids(id): Ids<String>,
    parameters: Query,
    body: Body,
) -> Reply<shapes::Goal> {
    let asked = query(&parameters, read_progress)?;
    // A body that is wrong is wrong, also where the query has said enough.
    let sent = optional_object(body, read_progress)?.flatten();
    let value = asked.or(sent).ok_or_else(missing)?;
    let part = if asked.is_some() { "query" } else { "body" };
    let set = state.ledger.store().set_goal_progress(&caller.user, &GoalId::new(id), value).await?;
    let goal = set.map_err(|refusal| refused_progress(refusal, part))?;
    Ok(Json(shapes::goal(&goal)))
}

const PROGRESS: &[Note] = &[(
    "current_value",
    "Where it stands now, 0 or 1 of a `boolean`: in the query or in the body; the query goes first.",
    "",
)];

/// Reads the progress out of a query or a body; `None` inside: it is not there.
fn read_progress(fields: &mut Fields<'_>) -> Option<Option<f64>> {
    Some(fields.present("current_value", NUMBER))
}

/// The value is in neither place (DECISIONS §3, "where the documents give no type or loc").
fn missing() -> Error {
    Error::Invalid(vec![Problem {
        kind: "missing",
        loc: vec!["query".into(), "current_value".into()],
        msg: "Field required".to_owned(),
        ctx: None,
    }])
}

async fn history(
    state: AppState,
    caller: Caller,
    Ids(id): Ids<String>,
    parameters: Query,
) -> Reply<Vec<shapes::GoalPoint>> {
    let days = query(&parameters, read_days)?;
    let days = i32::try_from(days).unwrap_or(365);
    let points = state.ledger.store().goal_history(&caller.user, &GoalId::new(id), days).await?;
    points.map(|points| Json(points.iter().map(shapes::goal_point).collect())).ok_or(Error::NotFound(KIND))
}

fn read_days(fields: &mut Fields<'_>) -> Option<i64> {
    Some(fields.present("days", Int::between(1, 365)).unwrap_or(30))
}

async fn delete(state: AppState, caller: Caller, Ids(id): Ids<String>) -> answer::Deleted {
    let deleted = state.ledger.store().delete_goal(&caller.user, &GoalId::new(id)).await?;
    answer::deleted(deleted, KIND)
}

fn shown(goal: Option<Goal>) -> Reply<shapes::Goal> {
    goal.as_ref().map(|goal| Json(shapes::goal(goal))).ok_or(Error::NotFound(KIND))
}
