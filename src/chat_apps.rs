//! Ties the tools of installed apps to the port that the assistant declares for them.

use std::{collections::HashMap, sync::Arc};

use api::{UserApps, parsed_size};
use apps::{Answered, Manifest, Tool};
use assistant::{AppTool, AppTools, ToolFailure};
use futures::{
    FutureExt,
    future::{BoxFuture, ready},
};
use ledger::{Ledger, Shards};
use records::UserId;
use serde_json::{Map, Value};
use store::InstalledApp;
use worker::Tools;

/// The apps of users, as chats see them.
pub(crate) struct ChatApps {
    pub(crate) shards: Shards,
    pub(crate) caller: Tools,
    /// Whether apps are switched on (`LISTEN_APPS`): otherwise no user has any.
    pub(crate) allowed: bool,
}

impl api::ChatApps for ChatApps {
    fn names<'a>(&'a self, user: &'a UserId) -> BoxFuture<'a, HashMap<String, String>> {
        async move {
            let ledger = self.shards.of_user(user);
            let names = ledger.store().installed_app_names(user);
            read(ledger, self.allowed, names).await.into_iter().collect()
        }
        .boxed()
    }

    fn installed<'a>(
        &'a self,
        user: &'a UserId,
        app_id: Option<&'a str>,
        room: usize,
    ) -> BoxFuture<'a, UserApps> {
        async move {
            let ledger = self.shards.of_user(user);
            let mut apps = read(ledger, self.allowed, ledger.store().installed_apps(user)).await;
            let names = apps.iter().map(|app| (app.id.clone(), app.name.clone())).collect();
            // A stable sort: the others stay in the order in which they were installed.
            apps.sort_by_key(|app| Some(app.id.as_str()) != app_id);
            let bytes = leave_out_large(&mut apps, room);
            let (caller, user) = (self.caller.clone(), user.clone());
            UserApps { names, tools: Arc::new(UserTools { caller, user, apps }), bytes }
        }
        .boxed()
    }
}

/// The bytes that the tools of apps take in a turn. Those of an app that would make it more than `room` are left out.
fn leave_out_large(apps: &mut [InstalledApp], room: usize) -> usize {
    let mut bytes: usize = 0;
    for app in apps {
        let Some(text) = &app.manifest else { continue };
        // A tool that is offered has its schema twice.
        let own = parsed_size(text).saturating_mul(2).saturating_add(text.len());
        match bytes.checked_add(own).filter(|all| *all <= room) {
            Some(all) => bytes = all,
            None => {
                tracing::warn!(app_id = app.id, "a chat goes on without an app's tools: they are too large");
                app.manifest = None;
            }
        }
    }
    bytes
}

/// The tools of one user's apps. Manifests are read when they are needed: read, each is many times as large.
struct UserTools {
    caller: Tools,
    user: UserId,
    apps: Vec<InstalledApp>,
}

impl AppTools for UserTools {
    fn list(&self) -> BoxFuture<'_, Vec<AppTool>> {
        ready(self.apps.iter().flat_map(|app| tools_of(app, &manifest(app))).collect()).boxed()
    }

    /// By the rules by which the manifest was taken, which bound what a check takes.
    fn check(&self, tool: &AppTool, arguments: &Value) -> Result<(), String> {
        let Value::Object(arguments) = arguments else {
            return Err("The arguments must be an object.".to_owned());
        };
        let app = self.apps.iter().find(|app| app.id == tool.app_id);
        let manifest = app.map(manifest).unwrap_or_default();
        let Some(tool) = manifest.tool(&tool.name) else {
            return Err("The app has no such tool.".to_owned());
        };
        apps::check_arguments(tool, arguments).map_err(unfit)
    }

    fn call<'a>(
        &'a self,
        tool: &'a AppTool,
        arguments: &'a Value,
    ) -> BoxFuture<'a, Result<String, ToolFailure>> {
        async move {
            let none = Map::new();
            let arguments = arguments.as_object().unwrap_or(&none);
            result_of(self.caller.call(&self.user, &tool.app_id, &tool.name, arguments).await)
        }
        .boxed()
    }
}

/// What the database says of a user's apps. A chat goes on without those of a database that does not answer.
async fn read<T>(
    ledger: &Ledger,
    allowed: bool,
    asked: impl Future<Output = Result<Vec<T>, db::Error>>,
) -> Vec<T> {
    if !allowed {
        return Vec::new();
    }
    ledger.db().in_time(asked).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "a chat goes on without the user's apps");
        Vec::new()
    })
}

fn manifest(app: &InstalledApp) -> Manifest {
    app.manifest.as_deref().and_then(Manifest::from_text).unwrap_or_default()
}

fn tools_of(app: &InstalledApp, manifest: &Manifest) -> Vec<AppTool> {
    let shown = |tool: &Tool| AppTool {
        app_id: app.id.clone(),
        app_name: app.name.clone(),
        parameters: tool.schema(),
        name: tool.name.clone(),
        description: tool.description.clone(),
        status_message: tool.status_message.clone(),
    };
    manifest.tools.iter().map(shown).collect()
}

fn unfit(problems: Vec<String>) -> String {
    format!("The arguments do not fit: {}.", problems.join("; "))
}

fn result_of(answered: Answered) -> Result<String, ToolFailure> {
    Err(ToolFailure(match answered {
        Answered::Result(text) => return Ok(text),
        Answered::AppError { text, setup_url: None } => text,
        Answered::AppError { text, setup_url: Some(url) } => {
            let stop = if text.ends_with(['.', '!', '?']) { "" } else { "." };
            format!("{text}{stop} Connect at {url}.")
        }
        Answered::BadArguments(problems) => unfit(problems),
        Answered::Unknown => "The app is not installed, or has no such tool.".to_owned(),
        Answered::Failed(failure) => failure.sentence().to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use apps::ToolFailure as Failure;
    use records::Timestamp;

    use super::*;

    fn app(id: &str, manifest: &str) -> InstalledApp {
        InstalledApp {
            id: id.to_owned(),
            owner: UserId::new("ada"),
            name: id.to_owned(),
            manifest: Some(manifest.to_owned()),
            setup_url: None,
            summary_prompt: None,
            mcp_token: None,
            secret: None,
            now: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn apps_whose_tools_take_too_much_memory_lend_none_to_a_chat() {
        // Four bytes of it become two values.
        let large = format!("[{}[]]", "[0],".repeat(32_000));
        assert!(large.len() < 128 * 1_024 && parsed_size(&large) > 20_000_000, "{}", parsed_size(&large));
        let mut apps = [app("notes", "{}"), app("large", &large), app("minutes", "{}")];
        let bytes = leave_out_large(&mut apps, 1_000_000);
        assert!(bytes < 10_000, "{bytes}");
        let lend: Vec<&str> = apps.iter().filter(|app| app.manifest.is_some()).map(|app| &*app.id).collect();
        assert_eq!(lend, ["notes", "minutes"]);
    }

    #[test]
    fn app_answer_is_a_result_or_a_message_for_the_user() {
        let words = |answered| result_of(answered).map_err(|failure| failure.0);
        assert_eq!(words(Answered::Result("Sunny".to_owned())), Ok("Sunny".to_owned()));
        let refused = |text: &str, setup_url: Option<&str>| Answered::AppError {
            text: text.to_owned(),
            setup_url: setup_url.map(str::to_owned),
        };
        assert_eq!(words(refused("Connect first", None)), Err("Connect first".to_owned()));
        for text in ["Connect first", "Connect first."] {
            assert_eq!(
                words(refused(text, Some("https://app.example/connect"))),
                Err("Connect first. Connect at https://app.example/connect.".to_owned())
            );
        }
        assert_eq!(
            words(Answered::BadArguments(vec!["city: missing".to_owned()])),
            Err("The arguments do not fit: city: missing.".to_owned())
        );
        assert_eq!(
            words(Answered::Failed(Failure::Timeout)),
            Err("The app did not answer in time.".to_owned())
        );
    }
}
