//! A person's own settings, whom they know, and where they are reminded.

use serde_json::json;

use super::examples;
use crate::{
    Scope,
    document::{Answer, Described, Operation},
    read::Drawing,
    routes::{me, people, push},
};

const TAG: &str = "Profile";
const PEOPLE: &str = "/v1/users/me/people";
const PERSON: &str = "/v1/users/me/people/{person_id}";
const PUSH: &str = "/v1/users/me/push-subscriptions";

/// What hangs on a person.
pub(super) fn operations() -> Vec<Operation> {
    let about_people = [list_people(), add_person(), one_person(), rename_person(), delete_person()];
    let pushes = [list_subscriptions(), push_key(), subscribe(), unsubscribe()];
    [show(), change()].into_iter().chain(about_people).chain(pushes).collect()
}

fn show() -> Operation {
    Operation::new("get", "/v1/users/me", "get_profile", TAG, "Read the settings")
        .needs(Scope::ProfileRead)
        .conditional()
        .answers(Answer::one("Profile", "The settings.", examples::profile()))
}

fn change() -> Operation {
    let fields = Described::new(
        Drawing::of(me::read_change),
        &[
            ("name", "The user's name as a speaker; null removes it.", ""),
            ("time_zone", "An IANA time zone, such as `Europe/Berlin`.", ""),
            ("language", "A language code: that of conversations that come without one.", ""),
            (
                "requires_byok",
                "Process conversations with the user's own model key only. `true` parks queued jobs.",
                "",
            ),
            ("apps", "Summarization apps that are to be on.", ""),
        ],
    );
    Operation::new("patch", "/v1/users/me", "update_profile", TAG, "Change the settings")
        .says("At least one field.")
        .needs(Scope::ProfileWrite)
        .body("ProfileChange", fields, json!({ "time_zone": "Europe/London", "apps": ["minutes"] }))
        .answers(Answer::one("Profile", "As they are now.", examples::profile()))
}

fn list_people() -> Operation {
    let query = Described::new(
        Drawing::of(people::read_page),
        &[("limit", "Maximum number of results.", "100"), ("offset", "Number of results to skip.", "0")],
    );
    Operation::new("get", PEOPLE, "list_people", TAG, "List known people")
        .says("Newest first. Their names are those of speakers.")
        .needs(Scope::ProfileRead)
        .query(query)
        .answers(Answer::page("Person", examples::person()))
}

fn named() -> Described {
    Described::new(Drawing::of(people::name), &[("name", "A name; not blank.", "")]).not_blank(&["name"])
}

fn add_person() -> Operation {
    Operation::new("post", PEOPLE, "create_person", TAG, "Add a person")
        .needs(Scope::ProfileWrite)
        .creates()
        .body("NewPerson", named(), json!({ "name": "Helena" }))
        .answers(
            Answer::one("Person", "The people, by name.", examples::person())
                .leads_to("get_person", "person_id", "/id")
                .leads_to("update_person", "person_id", "/id")
                .leads_to("delete_person", "person_id", "/id"),
        )
}

fn one_person() -> Operation {
    Operation::new("get", PERSON, "get_person", TAG, "Read a person")
        .needs(Scope::ProfileRead)
        .conditional()
        .answers(Answer::one("Person", "The person.", examples::person()))
        .not_found("Person")
}

fn rename_person() -> Operation {
    Operation::new("patch", PERSON, "update_person", TAG, "Rename a person")
        .says("In every conversation at once.")
        .needs(Scope::ProfileWrite)
        .body("PersonChange", named(), json!({ "name": "Helena" }))
        .answers(Answer::one("Person", "As they are now.", examples::person()))
        .not_found("Person")
}

fn delete_person() -> Operation {
    Operation::new("delete", PERSON, "delete_person", TAG, "Forget a person")
        .says("Their segments stay, as `Speaker N`.")
        .needs(Scope::ProfileWrite)
        .answers(Answer::gone())
        .not_found("Person")
}

fn list_subscriptions() -> Operation {
    Operation::new("get", PUSH, "list_push_subscriptions", TAG, "List push subscriptions")
        .needs(Scope::ProfileRead)
        .answers(Answer::all("PushSubscription", examples::subscription()))
}

fn no_web_push() -> Answer {
    let words = "The service sends no web push, or is unavailable for the moment.";
    Answer::refusal(503, words, "Web push is not configured").with_header("Retry-After")
}

fn push_key() -> Operation {
    let example = json!({ "public_key": "BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU" });
    Operation::new("get", "/v1/users/me/push-subscriptions/key", "get_push_key", TAG, "The key for browsers")
        .says("A browser subscribes with it (`applicationServerKey`).")
        .needs(Scope::ProfileRead)
        .answers(Answer::one("PushKey", "The key.", example))
        .answers(no_web_push())
}

fn subscribe() -> Operation {
    let either = Drawing::either(
        "kind",
        vec![
            ("webpush", Drawing::of(|fields| push::read_web_push(fields, |_| true, None))),
            ("webhook", Drawing::of(|fields| push::read_webhook(fields, |_| true))),
        ],
    );
    let fields = Described::new(
        either,
        &[
            ("kind", "A browser or a webhook.", ""),
            ("endpoint", "Of a browser: its push service's address, an https URL.", ""),
            ("keys", "Of a browser: its keys.", ""),
            ("keys.p256dh", "Its public key.", ""),
            ("keys.auth", "Its secret.", ""),
            ("url", "Of a webhook: an https URL of a public address.", ""),
        ],
    );
    Operation::new("post", PUSH, "create_push_subscription", TAG, "Subscribe to reminders")
        .says("The same one again is renewed, not doubled. 20 at most. Reminders are posted as `{type, action_item_id, description, due_at}`.")
        .needs(Scope::ProfileWrite)
        .creates()
        .body("NewPushSubscription", fields, json!({ "kind": "webhook", "url": "https://example.com/remind" }))
        .answers(
            Answer::one("PushSubscription", "It receives reminders from now on.", examples::subscription())
                .leads_to("delete_push_subscription", "subscription_id", "/id"),
        )
        .conflict("There are 20 push subscriptions already")
        .answers(no_web_push())
}

fn unsubscribe() -> Operation {
    let path = "/v1/users/me/push-subscriptions/{subscription_id}";
    Operation::new("delete", path, "delete_push_subscription", TAG, "Unsubscribe")
        .needs(Scope::ProfileWrite)
        .answers(Answer::gone())
        .not_found("Push subscription")
}
