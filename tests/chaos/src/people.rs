//! The users of a run, created with the commands.

use std::sync::Arc;

use reqwest::Method;
use serde_json::json;

use crate::client::Client;
use crate::model::OWN_KEY;
use crate::program;
use crate::receiver::Receivers;

/// The events of every endpoint.
const EVENTS: [&str; 4] =
    ["conversation.completed", "conversation.failed", "action_item.created", "memory.created"];

/// A user with a key.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) id: String,
    pub(crate) key: String,
    /// Her own key for the model server, if she sends one.
    pub(crate) model_key: Option<String>,
}

/// Users who send keys of their own, and sometimes forget to.
const KEYED: [&str; 2] = ["keyed0", "keyed1"];

/// `clients` people, one who requires a key and never brings one, two who bring theirs, and one who is marked in the middle of the run.
pub(crate) async fn make(database: &str, clients: usize) -> Vec<Person> {
    let mut people = Vec::new();
    let ids = (0..clients)
        .map(|number| format!("u{number}"))
        .chain(KEYED.map(str::to_owned))
        .chain(["parked".to_owned(), "marked".to_owned()]);
    for id in ids {
        let mut person = one(database, &id).await;
        let is_keyed = KEYED.contains(&id.as_str());
        // From the beginning: nothing of hers may ever run with our key.
        if id == "parked" || is_keyed {
            assert!(mark(database, &id).await, "{id} cannot be marked");
        }
        person.model_key = is_keyed.then(|| format!("{OWN_KEY}{id}"));
        people.push(person);
    }
    people
}

/// A person with a key that may do everything.
pub(crate) async fn one(database: &str, id: &str) -> Person {
    let (code, _) = program::command(database, &["users", "create", "--id", id]).await;
    assert_eq!(code, Some(0), "{id} cannot be created");
    let (code, key) = program::command(database, &["keys", "create", "--user", id]).await;
    assert_eq!(code, Some(0), "{id} cannot have a key");
    Person { id: id.to_owned(), key, model_key: None }
}

/// Marks a person as bringing own keys; `false` when the command could not.
pub(crate) async fn mark(database: &str, id: &str) -> bool {
    program::command(database, &["users", "set", id, "--requires-byok", "true"]).await.0 == Some(0)
}

/// Gives a person an endpoint at `place` (`hook/…` or `gone/…`) and answers its id, when that could be done.
pub(crate) async fn endpoint(
    client: &Client,
    api: &str,
    person: &Person,
    receivers: &Arc<Receivers>,
    place: &str,
) -> Option<String> {
    let url = format!("{}/{place}", receivers.url);
    let body = json!({ "url": url, "events": EVENTS });
    let (status, made) =
        client.ask(Method::POST, &format!("{api}/v1/dev/user/webhooks"), &person.key, Some(&body)).await;
    if status != 200 {
        return None;
    }
    let name = place.rsplit('/').next().unwrap_or(place);
    receivers.trust(name, made["secret"].as_str()?);
    Some(made["id"].as_str()?.to_owned())
}

/// Subscribes a person to pushes, at a receiver that is named after her; answers the subscription's id.
pub(crate) async fn subscribe(
    client: &Client,
    api: &str,
    person: &Person,
    receivers: &Receivers,
) -> Option<String> {
    let body = json!({ "kind": "webhook", "url": format!("{}/push/{}", receivers.url, person.id) });
    let place = format!("{api}/v1/users/me/push-subscriptions");
    let (status, made) = client.ask(Method::POST, &place, &person.key, Some(&body)).await;
    (status == 200).then(|| made["id"].as_str().map(str::to_owned))?
}
