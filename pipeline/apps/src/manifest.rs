//! A manifest as it is kept: checked, complete, with every default written out.

use records::named;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// What an app offers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Tools that the assistant may call.
    pub tools: Vec<Tool>,
    /// Whether and how the app may write into the user's chat.
    pub chat_messages: ChatMessages,
}

/// One tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Unique within its app.
    pub name: String,
    /// Tells the assistant when and how to use it.
    pub description: String,
    /// The absolute URL that is called.
    pub endpoint: String,
    /// How it is called.
    pub method: Method,
    /// What it takes, in the order of the manifest.
    pub parameters: Vec<Parameter>,
    /// Whether the app needs to know the user first: a 401 of such a tool sends the user to the app's setup page.
    pub auth_required: bool,
    /// Shown while the tool runs.
    pub status_message: String,
    /// Of a tool of an MCP server: the schema of its arguments as that server has it. `parameters` are empty then, and the
    /// endpoint is the server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
}

impl Tool {
    /// The parameters as one JSON Schema, as models are shown them.
    pub fn schema(&self) -> Value {
        if let Some(input) = &self.input {
            return input.clone();
        }
        let properties: Map<String, Value> =
            self.parameters.iter().map(|one| (one.name.clone(), one.schema.clone())).collect();
        let required: Vec<Value> =
            self.parameters.iter().filter(|one| one.required).map(|one| one.name.as_str().into()).collect();
        serde_json::json!({ "type": "object", "properties": properties, "required": required })
    }
}

/// One parameter of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What kind of value it takes.
    pub kind: ParameterType,
    /// Whether a call without it is refused.
    pub required: bool,
    /// Its JSON Schema as the manifest has it.
    pub schema: Value,
}

named! {
    /// How a tool is called.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "UPPERCASE")]
    Method { Get = "GET", Post = "POST", Put = "PUT", Patch = "PATCH", Delete = "DELETE" }
}

named! {
    /// What kind of value a parameter takes: the spec's five, and `number`.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    ParameterType {
        String = "string", Integer = "integer", Boolean = "boolean", Array = "array", Object = "object",
        Number = "number",
    }
}

named! {
    /// Where an app's messages appear.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    Target { App = "app", Main = "main" }
}

/// Whether and how an app may write to its users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessages {
    /// Whether it may at all.
    pub enabled: bool,
    /// In which chat its messages appear.
    pub target: Target,
    /// Whether a push is sent, too.
    pub notify: bool,
}

impl Default for ChatMessages {
    fn default() -> Self {
        Self { enabled: false, target: Target::App, notify: false }
    }
}

impl Manifest {
    /// The text under which the manifest is kept: the same for manifests that say the same.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what [`to_text`](Self::to_text) wrote; `None` for anything else.
    pub fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// SHA-256 of its text.
    pub fn sha256(&self) -> [u8; 32] {
        Sha256::digest(self.to_text()).into()
    }

    /// The tool of that name.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// Scheme, host and port of a URL: what may be shown of it to users who do not own it.
pub fn origin(url: &str) -> Option<String> {
    Some(url::Url::parse(url).ok()?.origin().ascii_serialization())
}
