//! `P/goals`, their progress and their history.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, Uri},
    response::Response,
};
use records::{Goal, GoalId, GoalType};
use serde_json::Value;
use store::{GoalChange, GoalFilter, NewGoal};

use super::{
    answer, links,
    measure::{Figure, HIGH_END, NUMBER, ends_in_order, refused_change, refused_progress},
    path::Ids,
    tagged,
};
use crate::{
    Error, Scope,
    door::{Creating, Door},
    keys::Caller,
    read::{
        Body, Bool, Choice, Fields, Int, Page, Problem, Query, Text, object, optional_object, page, query,
    },
    shapes,
};

/// What a 404 says is missing.
pub(super) const KIND: &str = "Goal";
/// Of a title (DECISIONS §1, "goal").
const TITLE: Text = Text::between(1, 500);
/// Of what is counted.
const UNIT: Text = Text::between(0, 100);

fn types() -> Choice<&'static str, GoalType> {
    Choice::of(GoalType::ALL.iter().map(|kind| (kind.as_str(), *kind)))
}

/// GET: a page, active ones first, oldest first.
pub(super) async fn list(
    State(door): State<Door>,
    caller: Caller,
    uri: Uri,
    parameters: Query,
) -> Result<Response, Error> {
    caller.require(Scope::GoalsRead)?;
    let (page, filter) = query(&parameters, read_filter)?;
    let goals = door.ledger.store().goals(&caller.user, &filter).await?;
    Ok(links::answer(&uri, page, &goals, shapes::goal))
}

/// Reads the query of the list.
pub(super) fn read_filter(fields: &mut Fields<'_>) -> Option<(Page, GoalFilter)> {
    let page = page(fields, 10, 1_000);
    let include_inactive = fields.present("include_inactive", Bool).unwrap_or(false);
    Some((page, GoalFilter { limit: links::one_more(page), offset: page.offset, include_inactive }))
}

/// GET one.
pub(super) async fn one(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
    asked: HeaderMap,
) -> Result<Response, Error> {
    caller.require(Scope::GoalsRead)?;
    let Json(shape) = shown(door.ledger.store().goal(&caller.user, &GoalId::new(id)).await?)?;
    Ok(tagged::answer(&asked, shape))
}

/// POST: one more active goal; of three others, the oldest no longer is.
pub(super) async fn create(
    Creating(door): Creating,
    caller: Caller,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::GoalsWrite)?;
    let id = GoalId::new(format!("goal_{}", door.ids.fresh()));
    let new = object(body, |fields| read_new(fields, &id))?;
    Ok(Json(shapes::goal(&door.ledger.store().create_goal(&caller.user, &new).await?)))
}

/// Reads the body of a create.
pub(super) fn read_new(fields: &mut Fields<'_>, id: &GoalId) -> Option<NewGoal> {
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

/// PATCH: at least one of title, goal_type, target_value, min_value, max_value, unit, is_active.
pub(super) async fn change(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::GoalsWrite)?;
    let change = object(body, read_change)?;
    let changed = door.ledger.store().change_goal(&caller.user, &GoalId::new(id), &change).await?;
    let goal = changed.map_err(|refusal| refused_change(refusal, &change))?;
    Ok(Json(shapes::goal(&goal)))
}

/// Reads the body of a PATCH.
pub(super) fn read_change(fields: &mut Fields<'_>) -> Option<GoalChange> {
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
pub(super) async fn progress(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
    parameters: Query,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::GoalsWrite)?;
    let asked = query(&parameters, read_progress)?;
    // A body that is wrong is wrong, also where the query has said enough.
    let sent = optional_object(body, read_progress)?.flatten();
    let value = asked.or(sent).ok_or_else(missing)?;
    let part = if asked.is_some() { "query" } else { "body" };
    let told = door.ledger.store().set_goal_progress(&caller.user, &GoalId::new(id), value).await?;
    let goal = told.map_err(|refusal| refused_progress(refusal, part))?;
    Ok(Json(shapes::goal(&goal)))
}

/// Reads the progress out of a query or a body; `None` inside: it is not there.
pub(super) fn read_progress(fields: &mut Fields<'_>) -> Option<Option<f64>> {
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

/// GET history: the last `days`, newest first.
pub(super) async fn history(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
    parameters: Query,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::GoalsRead)?;
    let days = query(&parameters, read_days)?;
    let days = i32::try_from(days).unwrap_or(365);
    let points = door.ledger.store().goal_history(&caller.user, &GoalId::new(id), days).await?;
    points.map(|points| Json(points.iter().map(shapes::goal_point).collect())).ok_or(Error::NotFound(KIND))
}

/// Reads the query of the history.
pub(super) fn read_days(fields: &mut Fields<'_>) -> Option<i64> {
    Some(fields.present("days", Int::between(1, 365)).unwrap_or(30))
}

/// DELETE: for good, with its history.
pub(super) async fn delete(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::GoalsWrite)?;
    let deleted = door.ledger.store().delete_goal(&caller.user, &GoalId::new(id)).await?;
    answer::deleted(deleted, KIND)
}

fn shown(goal: Option<Goal>) -> Result<Json<Value>, Error> {
    goal.as_ref().map(|goal| Json(shapes::goal(goal))).ok_or(Error::NotFound(KIND))
}
