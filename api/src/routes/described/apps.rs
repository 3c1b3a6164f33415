//! Apps of third parties, their keys, what they write, and where users are.

use serde_json::{Value, json};

use super::{Note, examples};
use crate::{
    Scope,
    document::{Answer, Described, Operation},
    read::Drawing,
    routes::{app_keys, apps, geolocation, notification},
};

const TAG: &str = "Apps";
const ALL: &str = "/v1/apps";
const ONE: &str = "/v1/apps/{app_id}";
const KEYS: &str = "/v1/apps/{app_id}/keys";

const MANIFEST: &str =
    "Where its manifest is, usually `/.well-known/service-tools.json`. It is fetched by every save.";
const PROMPT: &str = "The prompt of a summary that it writes of every conversation of its users.";

const NEW: &[Note] = &fields("", "\"private\"");
const CHANGED: &[Note] = &fields("", "");

/// Apps, from their making to what they write.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        create(),
        list(),
        enabled(),
        one(),
        change(),
        delete(),
        refresh(),
        enable(),
        disable(),
        create_key(),
        list_keys(),
        revoke_key(),
        notify(),
        note_location(),
        forget_location(),
    ]
}

const fn fields(name: &'static str, visibility: &'static str) -> [Note; 9] {
    [
        ("name", "What it is called.", name),
        ("description", "What it is for.", ""),
        (
            "visibility",
            "Who sees it and may install it: its owner alone, or every user of this instance.",
            visibility,
        ),
        (
            "home_url",
            "What paths of its manifest are resolved against. An https URL of a public address.",
            "",
        ),
        ("manifest_url", MANIFEST, ""),
        ("webhook_url", "Where every processed conversation of its users is posted, with `?uid=`.", ""),
        ("setup_url", "Where a user connects to it.", ""),
        (
            "setup_completed_url",
            "Asked with `?uid=` before it is installed: it must answer `{\"is_setup_completed\": true}`.",
            "",
        ),
        ("summary_prompt", PROMPT, ""),
    ]
}

fn create() -> Operation {
    let described = Described::new(Drawing::of(|body| apps::read_new(body, |_| true)), NEW);
    let secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDbGmhWzS6Y6M=";
    let made = Answer::one(
        "NewlyMadeApp",
        "It can be installed from now on.",
        examples::with(example(), "secret", secret),
    )
    .leads_to("get_app", "app_id", "/id")
    .leads_to("update_app", "app_id", "/id")
    .leads_to("create_app_key", "app_id", "/id")
    .leads_to("delete_app", "app_id", "/id");
    Operation::new("post", ALL, "create_app", TAG, "Create")
        .says(
            "The manifest is fetched and checked before anything is stored: everything that is wrong with it is answered at \
             once, with 422 at `manifest_url`.",
        )
        .needs(Scope::AppsWrite)
        .creates()
        .body("NewApp", described, json!({
            "name": "Tasks", "home_url": "https://tasks.example", "manifest_url":
            "https://tasks.example/.well-known/service-tools.json",
        }))
        .answers(made)
        .answers(Answer::refusal(403, "Not here.", "Public apps are not allowed on this instance"))
        .conflict("There are 50 apps already")
}

fn list() -> Operation {
    let query = Described::new(
        Drawing::of(apps::read_filter),
        &[
            ("limit", "At most this many.", "50"),
            ("offset", "Skip this many.", "0"),
            ("installed", "Installed ones only, or the others only.", ""),
            ("mine", "The user's own only, or the others only.", ""),
        ],
    );
    Operation::new("get", ALL, "list_apps", TAG, "List")
        .says("The user's own apps and public ones, newest first.")
        .needs(Scope::AppsRead)
        .query(query)
        .answers(Answer::page("App", example()))
}

fn enabled() -> Operation {
    let ids = Answer::one("AppIds", "Their ids.", json!([examples::CONVERSATION]));
    Operation::new("get", "/v1/apps/enabled", "list_enabled_apps", TAG, "List what is installed")
        .says("The ids of the apps that the user installed and may use.")
        .needs(Scope::AppsRead)
        .answers(ids)
}

fn one() -> Operation {
    Operation::new("get", ONE, "get_app", TAG, "Read one")
        .needs(Scope::AppsRead)
        .conditional()
        .answers(Answer::one("App", "The app.", example()))
        .not_found("App")
}

fn change() -> Operation {
    let described = Described::new(Drawing::of(|body| apps::read_change(body, |_| true)), CHANGED);
    Operation::new("patch", ONE, "update_app", TAG, "Change")
        .says("At least one field. Whatever it is, the manifest is fetched anew; where that fails, nothing changes.")
        .needs(Scope::AppsWrite)
        .body("AppChange", described, json!({ "visibility": "public" }))
        .answers(Answer::one("App", "As it is now.", example()))
        .answers(not_owner())
        .not_found("App")
        .conflict("The app was changed by another request meanwhile")
}

fn delete() -> Operation {
    Operation::new("delete", ONE, "delete_app", TAG, "Delete")
        .says("With its keys; users who installed it have it no more.")
        .needs(Scope::AppsWrite)
        .answers(Answer::gone())
        .answers(not_owner())
        .not_found("App")
}

fn refresh() -> Operation {
    let mut operation = Operation::new(
        "post",
        "/v1/apps/{app_id}/refresh-manifest",
        "refresh_app_manifest",
        TAG,
        "Fetch the manifest",
    )
    .says("What saving does, without a change.")
    .needs(Scope::AppsWrite)
    .answers(Answer::one("App", "As it is now.", example()))
    .answers(not_owner())
    .not_found("App")
    .conflict("The app was changed by another request meanwhile");
    operation.refuses = true;
    operation
}

fn enable() -> Operation {
    Operation::new("post", "/v1/apps/enable", "enable_app", TAG, "Install")
        .says("For the user who asks. `uses` and `sends_to` of the app say what it gets. Doing so again changes nothing.")
        .needs(Scope::AppsWrite)
        .query(which())
        .answers(done())
        .answers(Answer::refusal(400, "The user has not connected to the app.", "App setup is not completed"))
        .not_found("App")
        .conflict("There are 50 installed apps already")
        .conflict("The app is switched off")
}

fn disable() -> Operation {
    Operation::new("post", "/v1/apps/disable", "disable_app", TAG, "Uninstall")
        .says("With the webhook that its installation made. Doing so again changes nothing.")
        .needs(Scope::AppsWrite)
        .query(which())
        .answers(done())
}

fn create_key() -> Operation {
    let described =
        Described::new(Drawing::of(app_keys::read), &[("label", "What its owner calls it.", "\"key\"")]);
    let made = examples::with(key_example(), "secret", "lak_00000000000000000000000000000000zzzzzz");
    Operation::new("post", KEYS, "create_app_key", TAG, "Create a key")
        .says("The key's text is in this answer alone; only its hash is kept.")
        .needs(Scope::AppsWrite)
        .creates()
        .optional_body("NewAppKey", described, json!({ "label": "production" }))
        .answers(Answer::one("NewlyMadeAppKey", "It works from now on.", made).leads_to(
            "revoke_app_key",
            "key_id",
            "/id",
        ))
        .answers(not_owner())
        .not_found("App")
        .conflict("There are 20 live keys already")
}

fn list_keys() -> Operation {
    Operation::new("get", KEYS, "list_app_keys", TAG, "List keys")
        .says("Newest first.")
        .needs(Scope::AppsRead)
        .answers(Answer::all("AppKey", key_example()))
        .answers(not_owner())
        .not_found("App")
}

fn revoke_key() -> Operation {
    Operation::new("delete", "/v1/apps/{app_id}/keys/{key_id}", "revoke_app_key", TAG, "Revoke a key")
        .says("At once.")
        .needs(Scope::AppsWrite)
        .answers(Answer::bare(204, "It is no key any more."))
        .answers(not_owner())
        .not_found("App")
        .not_found("Key")
}

fn notify() -> Operation {
    let described = Described::new(
        Drawing::of(notification::read),
        &[
            ("uid", "The user's id, as tools are sent it.", ""),
            ("aid", "The app's id.", ""),
            ("message", "The words.", ""),
        ],
    );
    Operation::new("post", "/v1/integrations/notification", "send_app_message", TAG, "Write into a user's chat")
        .says(
            "With a key of the app. The app's manifest says whether it may, in which chat the message appears, and whether a \
             push is sent, too. At most 10 messages within any hour to one user; the `RateLimit` fields say how that stands.",
        )
        .of_app()
        .creates()
        .body("AppMessage", described, json!({
            "uid": "ann", "aid": examples::CONVERSATION, "message": "Your report is ready.",
        }))
        .answers(Answer::one("NotificationStatus", "It is written.", json!({ "status": "Ok" })))
        .answers(Answer::refusal(
            403,
            "A key of another app, a user who has not installed it or does not exist, or an app that may not write.",
            "The app may not write to this user",
        ))
}

fn note_location() -> Operation {
    let described = Described::new(
        Drawing::of(geolocation::geolocation),
        &[
            ("latitude", "Degrees north.", ""),
            ("longitude", "Degrees east.", ""),
            ("address", "A postal address, when known.", ""),
            ("google_place_id", "The place's id at its provider, when known.", ""),
            ("location_type", "For example `premise` or `street_address`.", ""),
        ],
    );
    Operation::new("patch", "/v1/users/geolocation", "note_location", TAG, "Say where the user is")
        .says("For the tools of apps. It is known for 30 minutes, then forgotten.")
        .needs(Scope::ProfileWrite)
        .body("UserLocation", described, json!({ "latitude": 52.52, "longitude": 13.405 }))
        .answers(done())
}

fn forget_location() -> Operation {
    Operation::new("delete", "/v1/users/geolocation", "forget_location", TAG, "Forget where the user is")
        .needs(Scope::ProfileWrite)
        .answers(done())
}

fn which() -> Described {
    Described::new(Drawing::of(apps::read_app_id), &[("app_id", "Which app.", "")])
}

fn done() -> Answer {
    Answer::one("AppStatus", "Done.", json!({ "status": "ok" }))
}

fn not_owner() -> Answer {
    Answer::refusal(403, "Another user's app.", "Only its owner may do this with an app")
}

fn example() -> Value {
    json!({
        "id": examples::CONVERSATION, "name": "Tasks", "description": "Adds tasks to a list.", "visibility": "private",
        "mine": true, "installed": false, "uses": ["tool_calls"], "sends_to": ["https://tasks.example"],
        "needs_model": false, "home_url": "https://tasks.example",
        "manifest_url": "https://tasks.example/.well-known/service-tools.json", "webhook_url": null, "setup_url": null,
        "setup_completed_url": null, "summary_prompt": null,
        "tools": [{
            "name": "add_task", "description": "Adds a task. Use it when the user asks for one.", "method": "POST",
            "parameters": { "type": "object", "properties": { "title": { "type": "string" } }, "required": ["title"] },
            "auth_required": true, "status_message": "Using add task…", "endpoint": "https://tasks.example/tools/add_task",
        }],
        "chat_messages": { "enabled": false, "target": "app", "notify": false },
        "manifest_fetched_at": "2026-11-24T09:00:00Z", "failing_since": null, "switched_off_reason": null,
        "created_at": "2026-11-24T09:00:00Z", "updated_at": "2026-11-24T09:00:00Z",
    })
}

fn key_example() -> Value {
    json!({
        "id": examples::CONVERSATION, "label": "production", "key_prefix": "lak_0000…zzzz",
        "created_at": "2026-11-24T09:00:00Z", "last_used_at": null, "revoked_at": null,
    })
}
