//! Apps and their keys.

use std::collections::BTreeSet;

use apps::{Manifest, Tool};
use records::UserId;
use serde_json::{Value, json};
use store::{App, AppKey};

use super::moment;

/// An app as `viewer` sees it. What its owner's addresses hold behind their host is shown to the owner alone.
pub fn app(app: &App, viewer: &UserId, follows_prompts: bool) -> Value {
    let (fields, is_mine) = (&app.fields, app.owner == *viewer);
    let manifest = app.manifest.as_deref().and_then(Manifest::from_text).unwrap_or_default();
    let own = |url: &Option<String>| url.clone().filter(|_| is_mine);
    json!({
        "id": app.id,
        "name": fields.name,
        "description": fields.description,
        "visibility": fields.visibility.as_str(),
        "mine": is_mine,
        "installed": app.installed,
        "uses": uses(app, &manifest),
        "sends_to": hosts(app, &manifest),
        "needs_model": fields.summary_prompt.is_some() && !follows_prompts,
        "home_url": fields.home_url,
        "manifest_url": own(&fields.manifest_url),
        "webhook_url": own(&fields.webhook_url),
        "setup_url": fields.setup_url,
        "setup_completed_url": own(&fields.setup_completed_url),
        "summary_prompt": fields.summary_prompt,
        "tools": manifest.tools.iter().map(|one| tool(one, is_mine)).collect::<Value>(),
        "chat_messages": {
            "enabled": manifest.chat_messages.enabled,
            "target": manifest.chat_messages.target.as_str(),
            "notify": manifest.chat_messages.notify,
        },
        "manifest_fetched_at": app.manifest_fetched_at.map(moment),
        "failing_since": app.failing_since.map(moment),
        "switched_off_reason": app.switched_off.as_ref().map(|(_, reason)| reason.as_str()),
        "created_at": moment(app.created_at),
        "updated_at": moment(app.updated_at),
    })
}

/// What an app gets, or does, once it is installed.
fn uses(app: &App, manifest: &Manifest) -> Vec<&'static str> {
    [
        ("tool_calls", !manifest.tools.is_empty()),
        ("conversations", app.fields.webhook_url.is_some()),
        ("summaries", app.fields.summary_prompt.is_some()),
        ("chat_messages", manifest.chat_messages.enabled),
    ]
    .into_iter()
    .filter_map(|(name, is_used)| is_used.then_some(name))
    .collect()
}

/// Where its users' words go: scheme and host of every address that is called.
fn hosts(app: &App, manifest: &Manifest) -> BTreeSet<String> {
    let endpoints = manifest.tools.iter().map(|tool| tool.endpoint.as_str());
    endpoints.chain(app.fields.webhook_url.as_deref()).filter_map(apps::origin).collect()
}

fn tool(tool: &Tool, is_mine: bool) -> Value {
    let mut shape = json!({
        "name": tool.name,
        "description": tool.description,
        "method": tool.method.as_str(),
        "parameters": tool.schema(),
        "auth_required": tool.auth_required,
        "status_message": tool.status_message,
    });
    if let Some(fields) = shape.as_object_mut()
        && is_mine
    {
        fields.insert("endpoint".to_owned(), tool.endpoint.as_str().into());
    }
    shape
}

/// A key of an app without its text.
pub fn app_key(key: &AppKey) -> Value {
    json!({
        "id": key.id,
        "label": key.label,
        "key_prefix": key.prefix,
        "created_at": moment(key.created_at),
        "last_used_at": key.last_used_at.map(moment),
        "revoked_at": key.revoked_at.map(moment),
    })
}
