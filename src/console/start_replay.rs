//! Replaying many: look at what would happen, then begin.

use std::time::Duration;

use axum::response::{IntoResponse, Redirect};
use operations::{Operations, ReplayOrder, ReplayPreview};
use uuid::Uuid;

use super::{
    Acted, Acting, Confirm, Console, Fault, Frame, Query, Shown, Visitor, count,
    filter_form::FilterForm,
    outcome::{Done, Order, Outcome},
    page::nothing,
    words::Sentence,
};
use crate::{
    commands::replays::preflight,
    over_shards::{each, each_alone},
    process::new_id,
};

/// Jobs a minute and unfinished at once, unless the operator says otherwise.
const CAPS: (i32, i32) = (600, 16);
/// A long list is counted, or frozen, within the minute that the ledger gives it; longer than this, the database is not there.
pub(crate) const PATIENCE: Duration = Duration::from_secs(75);

pub(super) async fn ask(visitor: Visitor, console: Console, Query(form): Query<FilterForm>) -> Shown {
    let reached = console.reached(form.user().as_ref()).await?;
    let filter = form.filter(reached.now, 0)?;
    let form = form.fixed(&filter);
    let filter = &filter;
    let look =
        |shard: Operations| async move { shard.db().within(PATIENCE, shard.preview_replay(filter)).await };
    let looks = each(&reached.shards, look).await?;
    let mut preview = ReplayPreview::default();
    looks.of.iter().for_each(|(_, of_shard)| preview.add(of_shard));
    if preview.jobs == 0 {
        let frame = Frame::of(visitor, "replays", "Nothing is to be replayed");
        return Ok(nothing(frame, "No unsettled dead letter is found.", reached.without(&looks.away)));
    }
    // The form carries the operation's name: sent twice, it begins once.
    let mut hidden = vec![("id", new_id().to_string())];
    hidden.extend(form.pairs().into_iter().map(|(name, value)| (name, value.to_owned())));
    let kept = match preview.recorded_stages {
        0 => "No stage has recorded anything: all of them are run and paid for.".to_owned(),
        some => format!("Recorded stage outputs, {} of them, are kept and not paid for again.", count(some)),
    };
    let (letters, users) =
        (several(preview.jobs, "dead letter", "dead letters"), several(preview.users, "user", "users"));
    let found: Vec<&Operations> =
        looks.of.iter().filter(|(_, look)| look.jobs > 0).map(|(shard, _)| shard).collect();
    let missing = match found.first() {
        Some(first) => first.db().in_time(preflight::missing(&found)).await?,
        None => Vec::new(),
    };
    let without = reached.without(&looks.away);
    let without = without.map(|without| {
        format!("{without} It is not counted, and replayed as well if it answers when you begin.")
    });
    let obstacles = missing.iter().map(|words| format!("Not yet: {words}.")).chain(without);
    let each_at = if console.shards.count() > 1 { ", in each shard" } else { "" };
    Ok(Confirm {
        obstacles: obstacles.map(Sentence::new).collect(),
        sentences: vec![
            format!("Asked for: {}. The list is frozen when you begin.", form.words("all dead letters")),
            format!("It goes on without this page, at the rate you set{each_at}. {kept}"),
        ],
        action: "/console/replays".to_owned(),
        hidden,
        button: "Replay",
        back: format!("/console/jobs?{}", form.query()),
        offers_scratch: preview.recorded_stages > 0,
        caps: Some(CAPS),
        counts: counts(&preview).into_iter().chain(in_each(&looks.of)).collect(),
        ..Confirm::new(visitor, "replays", format!("Replay {letters} of {users}?"))
    }
    .into_response())
}

fn several(number: i64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

fn counts(preview: &ReplayPreview) -> Vec<(String, String)> {
    let codes = preview.codes.iter().map(|(code, jobs)| (count(*jobs), code.clone()));
    let parked = Some(preview.parked).filter(|jobs| *jobs > 0);
    let parked = parked.map(|jobs| (count(jobs), "will be parked until their users bring keys".to_owned()));
    codes.chain(parked).collect()
}

/// How many are in which of several shards.
fn in_each(looks: &[(Operations, ReplayPreview)]) -> Vec<(String, String)> {
    let found = looks.iter().filter(|(shard, look)| !shard.db().shard().is_only() && look.jobs > 0);
    found.map(|(shard, look)| (count(look.jobs), format!("in shard {}", shard.db().shard()))).collect()
}

/// `POST /console/replays`: one replay in each shard in which something is found.
pub(super) async fn start(console: Console, acting: Acting) -> Acted {
    let action = acting.action()?;
    let form = FilterForm::of(acting.fields());
    let id = acting.field("id").and_then(|id| Uuid::parse_str(id).ok());
    let id = id.ok_or_else(|| Fault::Unreadable("The form carries no name for the replay.".to_owned()))?;
    let (user, now) = (form.user(), console.reached(form.user().as_ref()).await?.now);
    let order = ReplayOrder {
        filter: form.filter(now, 0)?,
        words: form.words("all dead letters"),
        from_scratch: acting.field("from_scratch").is_some(),
        per_minute: cap(&acting, "per_minute", 60_000)?,
        in_flight: cap(&acting, "in_flight", 10_000)?,
    };
    let (order, action) = (&order, &action);
    let start = |shard: Operations| async move {
        let id = Order::replay_in(id, shard.db().shard().number);
        let view = shard.db().within(PATIENCE, shard.start_replay(id, order, action)).await?;
        Ok(Done::all(view.map_or(0, |view| u64::from(view.items.unsigned_abs()))))
    };
    let shards = console.shards_of(user.as_ref());
    let outcome = Outcome::new(Order::Replay(id), each_alone(&shards, start).await)?;
    match shards.as_slice() {
        [shard] if outcome.sum().granted > 0 => {
            let id = Order::replay_in(id, shard.db().shard().number);
            Ok(Redirect::to(&format!("/console/replays/{id}?done=started")))
        }
        _ => Ok(outcome.redirect()),
    }
}

fn cap(acting: &Acting, name: &str, most: i32) -> Result<i32, Fault> {
    let number = acting.field(name).and_then(|text| text.parse().ok());
    let number = number.filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| Fault::Unreadable(format!("Both caps must be numbers; this one from 1 to {most}.")))
}
