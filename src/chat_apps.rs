//! Ties the tools of installed apps to the port that the assistant declares for them.

use std::sync::Arc;

use api::UserApps;
use apps::{Answered, Manifest, Tool, ToolCaller};
use assistant::{AppTool, AppTools, ToolFailure};
use futures::{
    FutureExt,
    future::{BoxFuture, ready},
};
use ledger::{Ledger, Shards};
use records::UserId;
use serde_json::{Map, Value};
use store::InstalledApp;

/// The apps of users, as chats see them.
pub(crate) struct ChatApps {
    pub(crate) shards: Shards,
    pub(crate) caller: Arc<dyn ToolCaller>,
    /// Whether apps are switched on (`LISTEN_APPS`): otherwise no user has any.
    pub(crate) allowed: bool,
}

impl api::ChatApps for ChatApps {
    fn installed<'a>(&'a self, user: &'a UserId, app_id: Option<&'a str>) -> BoxFuture<'a, UserApps> {
        async move {
            let mut installed = installed(self.shards.of_user(user), self.allowed, user).await;
            let names = installed.iter().map(|app| (app.id.clone(), app.name.clone())).collect();
            // A stable sort: the others stay in the order in which they were installed.
            installed.sort_by_key(|app| Some(app.id.as_str()) != app_id);
            let (caller, user) = (Arc::clone(&self.caller), user.clone());
            let apps = installed.into_iter().map(|app| {
                let manifest = app.manifest.as_deref().and_then(Manifest::from_text).unwrap_or_default();
                (app, manifest)
            });
            UserApps { names, tools: Arc::new(UserTools { caller, user, apps: apps.collect() }) }
        }
        .boxed()
    }
}

/// The tools of one user's apps.
struct UserTools {
    caller: Arc<dyn ToolCaller>,
    user: UserId,
    apps: Vec<(InstalledApp, Manifest)>,
}

impl AppTools for UserTools {
    fn list(&self) -> BoxFuture<'_, Vec<AppTool>> {
        ready(self.apps.iter().flat_map(|(app, manifest)| tools_of(app, manifest)).collect()).boxed()
    }

    /// By the rules by which the manifest was taken, which bound what a check takes.
    fn check(&self, tool: &AppTool, arguments: &Value) -> Result<(), String> {
        let Value::Object(arguments) = arguments else {
            return Err("The arguments must be an object.".to_owned());
        };
        let app = self.apps.iter().find(|(app, _)| app.id == tool.app_id);
        let Some(tool) = app.and_then(|(_, manifest)| manifest.tool(&tool.name)) else {
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

/// A turn goes on without the apps of a database that does not answer.
async fn installed(ledger: &Ledger, allowed: bool, user: &UserId) -> Vec<InstalledApp> {
    if !allowed {
        return Vec::new();
    }
    ledger.db().in_time(ledger.store().installed_apps(user)).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "a chat goes on without the user's apps");
        Vec::new()
    })
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

    use super::*;

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
