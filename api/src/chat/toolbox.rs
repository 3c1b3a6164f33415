//! The tools over a user's data, run by the ledger: for the assistant and for MCP clients.

use std::sync::Arc;

use assistant::{DataTool, Output, Source, SourceKind, ToolFailure, Toolbox};
use chrono::DateTime;
use db::TurnLease;
use futures::{FutureExt, future::BoxFuture};
use ledger::{ItemChange, Ledger, NewActionItem, NewPersonMemory};
use records::{ActionItem, ActionItemId, ConversationId, Goal, GoalId, Memory, MemoryId, Timestamp, UserId};
use serde::Serialize;
use serde_json::{Value, json};
use store::{ConversationLine, Found, GoalFilter, GoalRefusal, MemoryFilter, SearchQuery, TaskFilter};
use tokio::sync::OwnedSemaphorePermit;

use super::excerpt::transcript;
use crate::{
    AppState, Caller, Categorize, Scope,
    completion::run_to_completion,
    ids::Ids,
    read::in_calendar,
    shapes::{self, moment},
    state::{Account, Searches},
};

/// The data of one user, as far as a key may reach. Cheap to clone.
#[derive(Clone)]
pub(crate) struct UserData {
    ledger: Arc<Ledger>,
    user: UserId,
    language: String,
    may: Arc<[DataTool]>,
    may_read: Readable,
    ids: Arc<dyn Ids>,
    searches: Arc<Searches>,
    /// The memory that the user may hold.
    account: Account,
    categorize: Arc<dyn Categorize>,
    /// The characters of a transcript that `fetch` returns.
    transcript: usize,
}

/// What `search` and `fetch` may show besides conversations.
#[derive(Clone, Copy)]
struct Readable {
    memories: bool,
    action_items: bool,
}

type Done = Result<Output, ToolFailure>;

impl UserData {
    /// The data that `caller` may reach.
    pub(crate) fn of(state: &AppState, caller: &Caller, language: String, transcript: usize) -> Self {
        let holds = |scope: &str| Scope::from_name(scope).is_some_and(|scope| caller.require(scope).is_ok());
        Self {
            ledger: state.ledger.clone(),
            user: caller.user.clone(),
            language,
            may: DataTool::ALL.iter().copied().filter(|tool| holds(tool.scope())).collect(),
            may_read: Readable {
                memories: caller.require(Scope::MemoriesRead).is_ok(),
                action_items: caller.require(Scope::ActionItemsRead).is_ok(),
            },
            ids: Arc::clone(&state.ids),
            searches: Arc::clone(&state.searches),
            account: caller.account.clone(),
            categorize: Arc::clone(&state.settings.categorize),
            transcript,
        }
    }

    /// The same data, changed only while `turn` is this process's.
    pub(crate) fn in_turn(self, turn: TurnLease) -> Self {
        Self { ledger: Arc::new(self.ledger.in_turn(turn)), ..self }
    }

    async fn run(&self, tool: DataTool, arguments: &Value) -> Done {
        match tool {
            DataTool::Search => self.search(arguments).await,
            DataTool::Fetch => self.fetch(arguments).await,
            DataTool::ListConversations => self.list_conversations(arguments).await,
            DataTool::ListActionItems => self.list_action_items(arguments).await,
            DataTool::CreateActionItem => self.create_action_item(arguments).await,
            DataTool::UpdateActionItem => self.update_action_item(arguments).await,
            DataTool::ListMemories => self.list_memories(arguments).await,
            DataTool::CreateMemory => self.create_memory(arguments).await,
            DataTool::ListGoals => self.list_goals(arguments).await,
            DataTool::SetGoalProgress => self.set_goal_progress(arguments).await,
        }
    }

    async fn search(&self, arguments: &Value) -> Done {
        let kinds = arguments.get("kinds").and_then(Value::as_array);
        let wants = |kind: &str| {
            kinds.is_none_or(|kinds| {
                kinds.is_empty() || kinds.iter().any(|wanted| wanted.as_str() == Some(kind))
            })
        };
        let query = SearchQuery {
            words: clean(arguments, "query").unwrap_or_default(),
            language: self.language.clone(),
            start: at(arguments, "start_date")?,
            end: at(arguments, "end_date")?,
            limit: limit(arguments, 10),
            conversations: wants("conversation"),
            memories: wants("memory") && self.may_read.memories,
            action_items: wants("action_item") && self.may_read.action_items,
        };
        let _turn = self.turn().await?;
        let found = self.ledger.store().search(&self.user, &query).await.map_err(broken)?;
        all("results", &found, shapes::search_result, source_of_found)
    }

    /// Waits for the turn of a search of the user's, which runs while it is held.
    async fn turn(&self) -> Result<OwnedSemaphorePermit, ToolFailure> {
        let turn = self.searches.turn(&self.user).await;
        turn.map_err(|_| ToolFailure("Too many searches run at once: send one after the other.".to_owned()))
    }

    /// A conversation, a memory or an action item: ids say nothing about kinds.
    async fn fetch(&self, arguments: &Value) -> Done {
        let id = clean(arguments, "id").unwrap_or_default();
        let conversation = ConversationId::new(id.clone());
        let reserve = |bytes: usize| self.account.hold_to_load(bytes);
        let found = self.ledger.store().conversation_within(&self.user, &conversation, reserve).await;
        let view = found.map_err(broken)?.map_err(|_| {
            ToolFailure("Too much of the user's data is in flight: fetch this again later.".to_owned())
        })?;
        if let Some(view) = view {
            let (text, is_whole) = transcript(&view, self.transcript);
            let record = &view.conversation;
            let made = &record.structured;
            let tasks: Vec<_> = view.action_items.iter().map(shapes::action_item).collect();
            let value = json!({
                "id": id, "kind": "conversation", "title": made.title, "overview": made.overview,
                "category": made.category.as_str(), "created_at": moment(record.created_at),
                "started_at": moment(record.started_at), "finished_at": moment(record.finished_at),
                "action_items": if self.may_read.action_items { json!(tasks) } else { json!([]) },
                "transcript": text, "transcript_is_complete": is_whole,
            });
            let source = source(&id, SourceKind::Conversation, &made.title, record.started_at);
            return Ok(Output { value, sources: vec![source] });
        }
        let ids = [id.clone()];
        if self.may_read.memories {
            let found = self.ledger.store().memories_named(&self.user, &ids).await.map_err(broken)?;
            if let Some(memory) = found.first() {
                return Ok(Output {
                    value: of_kind(json!(shapes::memory(memory)), "memory"),
                    sources: vec![of_memory(memory)],
                });
            }
        }
        if self.may_read.action_items {
            let found = self.ledger.store().action_items_named(&self.user, &ids).await.map_err(broken)?;
            if let Some(item) = found.first() {
                let value = of_kind(json!(shapes::action_item(item)), "action_item");
                return Ok(Output { value, sources: vec![of_item(item)] });
            }
        }
        Err(ToolFailure("There is nothing with this id.".to_owned()))
    }

    async fn list_conversations(&self, arguments: &Value) -> Done {
        let (start, end) = (at(arguments, "start_date")?, at(arguments, "end_date")?);
        let found =
            self.ledger.store().conversations_between(&self.user, start, end, limit(arguments, 25)).await;
        let found = found.map_err(broken)?;
        let line = |line: &ConversationLine| {
            json!({
                "id": line.conversation_id, "title": line.title, "overview": line.overview,
                "category": line.category, "started_at": moment(line.started_at),
                "finished_at": moment(line.finished_at),
            })
        };
        all("conversations", &found, line, |line| {
            source(&line.conversation_id, SourceKind::Conversation, &line.title, line.started_at)
        })
    }

    async fn list_action_items(&self, arguments: &Value) -> Done {
        let filter = TaskFilter {
            completed: arguments.get("completed").and_then(Value::as_bool),
            due_after: at(arguments, "due_after")?,
            due_before: at(arguments, "due_before")?,
            completed_after: at(arguments, "completed_after")?,
            completed_before: at(arguments, "completed_before")?,
            words: clean(arguments, "query").filter(|words| !words.trim().is_empty()),
            language: self.language.clone(),
            limit: limit(arguments, 50),
        };
        let _turn = match filter.words {
            Some(_) => Some(self.turn().await?),
            None => None,
        };
        let found = self.ledger.store().tasks(&self.user, &filter).await.map_err(broken)?;
        all("action_items", &found, shapes::action_item, of_item)
    }

    async fn create_action_item(&self, arguments: &Value) -> Done {
        let new = NewActionItem {
            id: ActionItemId::new(self.ids.fresh().to_string()),
            description: required(arguments, "description")?,
            completed: false,
            due_at: at(arguments, "due_at")?,
        };
        let made = self.ledger.create_action_items(&self.user, &[new]).await.map_err(broken)?;
        one_item(made.first())
    }

    async fn update_action_item(&self, arguments: &Value) -> Done {
        let change = ItemChange {
            description: match arguments.get("description") {
                Some(_) => Some(required(arguments, "description")?),
                None => None,
            },
            completed: arguments.get("completed").and_then(Value::as_bool),
            due_at: arguments.get("due_at").map(|_| at(arguments, "due_at")).transpose()?,
        };
        if change == ItemChange::default() {
            return Err(ToolFailure("Nothing was said to be changed.".to_owned()));
        }
        let id = ActionItemId::new(clean(arguments, "id").unwrap_or_default());
        let changed = self.ledger.change_action_item(&self.user, &id, &change).await.map_err(broken)?;
        one_item(changed.as_ref())
    }

    async fn list_memories(&self, arguments: &Value) -> Done {
        let limit = limit(arguments, 50);
        let found = match clean(arguments, "query").filter(|words| !words.trim().is_empty()) {
            None => {
                let filter = MemoryFilter { limit, ..MemoryFilter::default() };
                self.ledger.store().memories(&self.user, &filter).await.map_err(broken)?
            }
            Some(words) => {
                let query = SearchQuery {
                    words,
                    language: self.language.clone(),
                    limit,
                    memories: true,
                    ..SearchQuery::default()
                };
                let _turn = self.turn().await?;
                let found = self.ledger.store().search(&self.user, &query).await.map_err(broken)?;
                let ids: Vec<String> = found.into_iter().map(|found| found.id).collect();
                self.ledger.store().memories_named(&self.user, &ids).await.map_err(broken)?
            }
        };
        all("memories", &found, shapes::memory, of_memory)
    }

    async fn create_memory(&self, arguments: &Value) -> Done {
        let content = required(arguments, "content")?;
        let new = NewPersonMemory {
            id: MemoryId::new(self.ids.fresh().to_string()),
            category: self.categorize.memory(&content),
            content,
            public: false,
            tags: Vec::new(),
        };
        let made = self.ledger.create_memories(&self.user, &[new]).await.map_err(broken)?;
        let memory = made.first().ok_or(ToolFailure("Nothing was stored.".to_owned()))?;
        Ok(Output { value: json!(shapes::memory(memory)), sources: vec![of_memory(memory)] })
    }

    async fn list_goals(&self, arguments: &Value) -> Done {
        let include_inactive = arguments.get("include_inactive").and_then(Value::as_bool).unwrap_or(false);
        let filter = GoalFilter { limit: 100, offset: 0, include_inactive };
        let found = self.ledger.store().goals(&self.user, &filter).await.map_err(broken)?;
        all("goals", &found, shapes::goal, of_goal)
    }

    async fn set_goal_progress(&self, arguments: &Value) -> Done {
        let id = GoalId::new(clean(arguments, "id").unwrap_or_default());
        let value = arguments.get("current_value").and_then(Value::as_f64).filter(|value| value.is_finite());
        let value = value.ok_or(ToolFailure("current_value must be a finite number.".to_owned()))?;
        match self.ledger.store().set_goal_progress(&self.user, &id, value).await.map_err(broken)? {
            Ok(goal) => Ok(Output { value: json!(shapes::goal(&goal)), sources: vec![of_goal(&goal)] }),
            Err(GoalRefusal::NoGoal) => Err(ToolFailure("There is no such goal.".to_owned())),
            Err(GoalRefusal::Wrong(_)) => Err(ToolFailure("A boolean goal stands at 0 or at 1.".to_owned())),
        }
    }
}

impl Toolbox for UserData {
    fn may(&self, tool: DataTool) -> bool {
        self.may.contains(&tool)
    }

    /// Goes to its end though the turn is given up: no operation on the database is cancelled in the middle.
    fn call<'a>(&'a self, tool: DataTool, arguments: &'a Value) -> BoxFuture<'a, Done> {
        if !self.may(tool) {
            let words = format!("The key lacks the scope {}.", tool.scope());
            return futures::future::ready(Err(ToolFailure(words))).boxed();
        }
        let (data, arguments) = (self.clone(), arguments.clone());
        run_to_completion(async move { data.run(tool, &arguments).await }).boxed()
    }
}

fn source_of_found(found: &Found) -> Source {
    let title = if found.title.is_empty() { &found.text } else { &found.title };
    source(&found.id, shapes::kind_of(found.kind), title, found.at)
}

/// A list under its name, with a source for each.
fn all<T, S: Serialize>(name: &str, found: &[T], shape: fn(&T) -> S, source: fn(&T) -> Source) -> Done {
    let shapes: Vec<S> = found.iter().map(shape).collect();
    Ok(Output { value: json!({ name: shapes }), sources: found.iter().map(source).collect() })
}

fn one_item(item: Option<&ActionItem>) -> Done {
    let item = item.ok_or(ToolFailure("There is no such action item.".to_owned()))?;
    Ok(Output { value: json!(shapes::action_item(item)), sources: vec![of_item(item)] })
}

fn of_item(item: &ActionItem) -> Source {
    source(item.id.as_str(), SourceKind::ActionItem, &item.description, item.created_at)
}

fn of_memory(memory: &Memory) -> Source {
    source(memory.id.as_str(), SourceKind::Memory, &memory.content, memory.created_at)
}

fn of_goal(goal: &Goal) -> Source {
    source(goal.id.as_str(), SourceKind::Goal, &goal.title, goal.created_at)
}

fn source(id: &str, kind: SourceKind, title: &str, created_at: Timestamp) -> Source {
    let title = title.chars().take(200).collect();
    Source { id: id.to_owned(), kind, title, created_at }
}

fn of_kind(value: Value, kind: &str) -> Value {
    shapes::with(value, "kind", kind)
}

/// A text; Postgres' cannot hold U+0000.
fn clean(arguments: &Value, name: &str) -> Option<String> {
    Some(arguments.get(name)?.as_str()?.replace('\0', ""))
}

fn required(arguments: &Value, name: &str) -> Result<String, ToolFailure> {
    let text = clean(arguments, name).unwrap_or_default().trim().to_owned();
    if text.is_empty() { Err(ToolFailure(format!("{name} must not be blank."))) } else { Ok(text) }
}

/// A moment, where one is given. One that cannot be read is a failure: as none, it would take a date away.
fn at(arguments: &Value, name: &str) -> Result<Option<Timestamp>, ToolFailure> {
    let Some(text) = arguments.get(name).and_then(Value::as_str) else { return Ok(None) };
    let read = DateTime::parse_from_rfc3339(text).ok().map(|at| at.to_utc());
    match read.filter(|at| in_calendar(*at)) {
        Some(at) => Ok(Some(at)),
        None => Err(ToolFailure(format!(
            "{name} must be a moment of RFC 3339, within the years 1 to 9999 in UTC."
        ))),
    }
}

/// A whole number, also where it is written `5.0`.
fn limit(arguments: &Value, default: i64) -> i64 {
    let limit = arguments.get("limit");
    let whole = |limit: &Value| limit.as_i64().or_else(|| limit.as_f64().map(|limit| limit as i64));
    limit.and_then(whole).unwrap_or(default)
}

/// What the database said goes to the log, and to no engine.
fn broken(error: db::Error) -> ToolFailure {
    if matches!(error, db::Error::TurnLost) {
        return ToolFailure("The turn was interrupted before: nothing was changed.".to_owned());
    }
    tracing::warn!(%error, "a tool found no database");
    ToolFailure("The data cannot be reached at the moment.".to_owned())
}
