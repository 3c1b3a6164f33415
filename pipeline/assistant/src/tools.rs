//! The tools over a user's own data. One list serves the assistant's engines and the MCP server.

use serde_json::{Value, json};

records::named! {
    /// A tool over a user's data. No tool deletes.
    DataTool {
        /// Full text over conversations, memories and action items.
        Search = "search",
        /// One thing, whole.
        Fetch = "fetch",
        /// Conversations by time.
        ListConversations = "list_conversations",
        /// Action items by state and due date.
        ListActionItems = "list_action_items",
        /// A new action item.
        CreateActionItem = "create_action_item",
        /// Changes an action item.
        UpdateActionItem = "update_action_item",
        /// Memories, optionally about something.
        ListMemories = "list_memories",
        /// A new memory.
        CreateMemory = "create_memory",
        /// Goals.
        ListGoals = "list_goals",
        /// Sets where a goal stands.
        SetGoalProgress = "set_goal_progress",
    }
}

/// What the document of a parameter says of every moment.
const MOMENT: &str = "RFC 3339 with a zone, such as 2026-11-20T09:00:00Z";

impl DataTool {
    /// The scope that a key must hold. `search` and `fetch` need `conversations:read` and show action items and memories
    /// only to keys that may read these.
    pub const fn scope(self) -> &'static str {
        match self {
            Self::Search | Self::Fetch | Self::ListConversations => "conversations:read",
            Self::ListActionItems => "action_items:read",
            Self::CreateActionItem | Self::UpdateActionItem => "action_items:write",
            Self::ListMemories => "memories:read",
            Self::CreateMemory => "memories:write",
            Self::ListGoals => "goals:read",
            Self::SetGoalProgress => "goals:write",
        }
    }

    /// Whether it changes something.
    pub const fn writes(self) -> bool {
        matches!(
            self,
            Self::CreateActionItem | Self::UpdateActionItem | Self::CreateMemory | Self::SetGoalProgress
        )
    }

    /// Whether the same call twice leaves what one call leaves.
    pub const fn is_idempotent(self) -> bool {
        !matches!(self, Self::CreateActionItem | Self::CreateMemory)
    }

    /// A short title for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Search => "Search",
            Self::Fetch => "Fetch",
            Self::ListConversations => "List conversations",
            Self::ListActionItems => "List action items",
            Self::CreateActionItem => "Create an action item",
            Self::UpdateActionItem => "Update an action item",
            Self::ListMemories => "List memories",
            Self::CreateMemory => "Create a memory",
            Self::ListGoals => "List goals",
            Self::SetGoalProgress => "Set a goal's progress",
        }
    }

    /// What is shown while it runs.
    pub const fn status(self) -> &'static str {
        match self {
            Self::Search => "Searching…",
            Self::Fetch => "Reading…",
            Self::ListConversations => "Looking through your conversations…",
            Self::ListActionItems => "Looking through your tasks…",
            Self::CreateActionItem => "Adding a task…",
            Self::UpdateActionItem => "Changing a task…",
            Self::ListMemories => "Looking through what is remembered…",
            Self::CreateMemory => "Remembering…",
            Self::ListGoals => "Looking at your goals…",
            Self::SetGoalProgress => "Noting your progress…",
        }
    }

    /// What it is for, as models read it.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Search => {
                "Searches everything the user has: what was said in conversations, memories (facts about the user) and \
                 action items (tasks). Use a few keywords; words in double quotes must stand together. Returns the best \
                 passages with ids for `fetch`."
            }
            Self::Fetch => {
                "Reads one result of `search` or of a list in full: a conversation with its transcript, a memory, or an \
                 action item."
            }
            Self::ListConversations => {
                "Lists the user's conversations of a time span, newest first, with title and overview but without \
                 transcripts. Use it for questions about a day or a week."
            }
            Self::ListActionItems => {
                "Lists the user's action items (tasks), optionally only open or completed ones, or those that are due in a \
                 time span or whose words match."
            }
            Self::CreateActionItem => "Creates an action item (a task or a reminder) for the user.",
            Self::UpdateActionItem => {
                "Changes an action item: marks it completed or open, rewords it, or moves its due date. Look its id up \
                 with `list_action_items` first."
            }
            Self::ListMemories => {
                "Lists memories: short facts about the user and the people around the user, newest first, optionally only \
                 those that match some words."
            }
            Self::CreateMemory => "Remembers a short fact about the user for good.",
            Self::ListGoals => "Lists the user's goals and how far each has come.",
            Self::SetGoalProgress => {
                "Sets the current value of one goal. Look its id up with `list_goals` first."
            }
        }
    }

    /// The JSON Schema of its arguments.
    pub fn parameters(self) -> Value {
        let (properties, required): (Value, &[&str]) = match self {
            Self::Search => (
                json!({
                    "query": {"type": "string", "minLength": 1, "maxLength": 500, "description": "Keywords; \"double quotes\" for an exact phrase"},
                    "kinds": {"type": "array", "items": {"type": "string", "enum": ["conversation", "memory", "action_item"]}, "description": "Only these kinds"},
                    "start_date": moment("Not before this moment"),
                    "end_date": moment("Before this moment"),
                    "limit": limit(20, 10),
                }),
                &["query"],
            ),
            Self::Fetch => (
                json!({"id": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The id of a search result or a listed thing"}}),
                &["id"],
            ),
            Self::ListConversations => (
                json!({
                    "start_date": moment("Began at or after this moment"),
                    "end_date": moment("Began before this moment"),
                    "limit": limit(100, 25),
                }),
                &[],
            ),
            Self::ListActionItems => (
                json!({
                    "completed": {"type": "boolean", "description": "true: only completed ones; false: only open ones"},
                    "query": {"type": "string", "maxLength": 200, "description": "Only items that share a word with this"},
                    "due_after": moment("Due at or after this moment"),
                    "due_before": moment("Due before this moment"),
                    "completed_after": moment("Completed at or after this moment"),
                    "completed_before": moment("Completed before this moment"),
                    "limit": limit(100, 50),
                }),
                &[],
            ),
            Self::CreateActionItem => (
                json!({
                    "description": {"type": "string", "minLength": 1, "maxLength": 500, "description": "What is to be done, beginning with a verb"},
                    "due_at": moment("When it is due"),
                }),
                &["description"],
            ),
            Self::UpdateActionItem => (
                json!({
                    "id": {"type": "string", "minLength": 1, "maxLength": 200},
                    "completed": {"type": "boolean"},
                    "description": {"type": "string", "minLength": 1, "maxLength": 500},
                    "due_at": {"type": ["string", "null"], "format": "date-time", "description": format!("{MOMENT}; null takes it away")},
                }),
                &["id"],
            ),
            Self::ListMemories => (
                json!({
                    "query": {"type": "string", "maxLength": 200, "description": "Only memories that share a word with this"},
                    "limit": limit(100, 50),
                }),
                &[],
            ),
            Self::CreateMemory => (
                json!({"content": {"type": "string", "minLength": 1, "maxLength": 500, "description": "One short fact"}}),
                &["content"],
            ),
            Self::ListGoals => (
                json!({"include_inactive": {"type": "boolean", "description": "Goals that are no longer active, too"}}),
                &[],
            ),
            Self::SetGoalProgress => (
                json!({
                    "id": {"type": "string", "minLength": 1, "maxLength": 200},
                    "current_value": {"type": "number"},
                }),
                &["id", "current_value"],
            ),
        };
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }
}

fn moment(words: &str) -> Value {
    json!({"type": "string", "format": "date-time", "description": format!("{words}; {MOMENT}")})
}

fn limit(most: u32, default: u32) -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": most, "description": format!("At most this many; {default} when left out")})
}

/// A tool of an app that the user has installed.
#[derive(Clone, Debug, PartialEq)]
pub struct AppTool {
    /// The app.
    pub app_id: String,
    /// The app's name.
    pub app_name: String,
    /// The tool's own name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments: `properties` and `required` at least.
    pub parameters: Value,
    /// What is shown while it runs.
    pub status_message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assistant_tools_are_found_by_name_and_require_known_properties() {
        for &tool in DataTool::ALL {
            assert_eq!(DataTool::from_name(tool.as_str()), Some(tool));
            let schema = tool.parameters();
            for name in schema["required"].as_array().into_iter().flatten() {
                assert!(
                    schema["properties"].get(name.as_str().unwrap_or_default()).is_some(),
                    "{tool:?} {name}"
                );
            }
            assert_eq!(tool.scope().ends_with(":write"), tool.writes(), "{tool:?}");
        }
    }
}
