//! Whether a fetched manifest may be kept: every problem at once, each with the place where it is.

mod mcp;
mod schema;
mod written;

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use url::Url;

use crate::{ChatMessages, Manifest, Method, Parameter, ParameterType, Target, Tool};

pub use mcp::add_mcp_tools;
pub(crate) use schema::compile;
use schema::{check_schema, patterns};
pub(crate) use written::written_out;

/// How much of an app's server is read when its manifest is fetched.
pub const MAX_MANIFEST_BYTES: usize = 256 * 1_024;
/// How long a manifest may be once it is checked and written out.
const MAX_KEPT_BYTES: usize = 128 * 1_024;
/// How many tools an app may have.
pub const MAX_TOOLS: usize = 64;
const MAX_PARAMETERS: usize = 32;
/// How many regular expressions all schemas of a manifest may hold: each is compiled.
const MAX_PATTERNS: usize = 200;
const MAX_DESCRIPTION: usize = 1_024;
const MAX_STATUS_MESSAGE: usize = 200;
const MAX_ENDPOINT: usize = 2_048;
/// How many problems are named at most.
const MOST_PROBLEMS: usize = 20;
/// What every call holds besides the parameters.
const RESERVED: [&str; 4] = ["uid", "app_id", "tool_name", "geolocation"];

/// Checks what an app's server answered. `home_url` is what paths of endpoints are resolved against, `may_call` says whether a
/// URL may be called at all.
///
/// # Errors
/// Everything that is wrong with it, up to 20 problems: where and what, such as
/// `tools[3].parameters.required: names "city", which is no property`.
pub fn check(
    body: &[u8],
    home_url: Option<&str>,
    may_call: impl Fn(&str) -> bool,
) -> Result<Manifest, Vec<String>> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let whole = |text: &str| Err(vec![text.to_owned()]);
    let fields = match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) => return whole("the manifest must be a JSON object"),
        Err(_) => return whole("the manifest is not JSON"),
    };
    let Some(Value::Array(entries)) = fields.get("tools") else {
        return whole("tools: must be an array");
    };
    if entries.len() > MAX_TOOLS {
        return whole(&format!("tools: at most {MAX_TOOLS} tools are allowed, not {}", entries.len()));
    }
    let home = home_url.and_then(|home| Url::parse(home).ok());
    let mut checking =
        Checking { home, may_call: &may_call, problems: Vec::new(), patterns_left: MAX_PATTERNS };
    let mut names = BTreeSet::new();
    let mut tools = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let location = format!("tools[{index}]");
        let Some(tool) = checking.tool(&location, entry) else { continue };
        if !names.insert(tool.name.clone()) {
            checking.problem(format!("{location}.name"), format!("another tool is called \"{}\"", tool.name));
        }
        tools.push(tool);
    }
    let chat_messages = checking.chat_messages(fields.get("chat_messages"));
    let manifest = Manifest { tools, chat_messages };
    if checking.problems.is_empty() && manifest.to_text().len() > MAX_KEPT_BYTES {
        checking.problem(
            "tools".to_owned(),
            format!("the manifest is longer than {} KiB", MAX_KEPT_BYTES / 1_024),
        );
    }
    match checking.problems.is_empty() {
        true => Ok(manifest),
        false => {
            checking.problems.truncate(MOST_PROBLEMS);
            Err(checking.problems)
        }
    }
}

/// A check under way.
struct Checking<'a> {
    home: Option<Url>,
    may_call: &'a dyn Fn(&str) -> bool,
    problems: Vec<String>,
    patterns_left: usize,
}

impl Checking<'_> {
    fn problem(&mut self, location: String, text: impl AsRef<str>) {
        self.problems.push(format!("{location}: {}", text.as_ref()));
    }

    fn too_many_patterns(&mut self, schema: &Value) -> Option<String> {
        match self.patterns_left.checked_sub(patterns(schema)) {
            Some(left) => {
                self.patterns_left = left;
                None
            }
            None => Some(format!("all schemas together hold more than {MAX_PATTERNS} patterns")),
        }
    }

    /// `None` where something is wrong, which is noted.
    fn tool(&mut self, location: &str, entry: &Value) -> Option<Tool> {
        let Value::Object(fields) = entry else {
            self.problem(location.to_owned(), "must be an object");
            return None;
        };
        let name = self.name(format!("{location}.name"), fields.get("name"));
        let description = self.text(location, fields, "description", MAX_DESCRIPTION, true);
        let endpoint = self.endpoint(location, fields.get("endpoint"));
        let method = self.method(location, fields.get("method"));
        let parameters = self.parameters(&format!("{location}.parameters"), fields.get("parameters"));
        let auth_required =
            self.truth(format!("{location}.auth_required"), fields.get("auth_required"), true);
        let status_message = self.text(location, fields, "status_message", MAX_STATUS_MESSAGE, false);
        let name = name?;
        let status_message =
            status_message.unwrap_or_else(|| format!("Using {}…", name.replace(['_', '-'], " ").trim()));
        Some(Tool {
            description: description?,
            endpoint: endpoint?,
            method: method?,
            parameters: parameters?,
            auth_required,
            status_message,
            name,
            input: None,
        })
    }

    /// A name of a tool or a parameter: `^[A-Za-z0-9_-]{1,64}$`.
    fn name(&mut self, location: String, value: Option<&Value>) -> Option<String> {
        match value {
            None => self.problem(location, "is required"),
            Some(Value::String(name)) if is_name(name) => return Some(name.clone()),
            Some(Value::String(_)) => {
                self.problem(location, "must be 1 to 64 letters, digits, underscores and hyphens");
            }
            Some(_) => self.problem(location, "must be a string"),
        }
        None
    }

    /// A string of 1 to `most` characters. `None` also where one that is not required is absent or null.
    fn text(
        &mut self,
        location: &str,
        fields: &Map<String, Value>,
        field: &str,
        most: usize,
        required: bool,
    ) -> Option<String> {
        let location = format!("{location}.{field}");
        match fields.get(field) {
            None | Some(Value::Null) if !required => {}
            None => self.problem(location, "is required"),
            Some(Value::String(text)) if text.contains('\0') => {
                self.problem(location, "the character U+0000 is not allowed");
            }
            Some(Value::String(text)) if (1..=most).contains(&text.chars().count()) => {
                return Some(text.clone());
            }
            Some(Value::String(_)) => self.problem(location, format!("must have 1 to {most} characters")),
            Some(_) => self.problem(location, "must be a string"),
        }
        None
    }

    /// An absolute URL, or a path on the app's home URL, which it may not leave.
    fn endpoint(&mut self, location: &str, value: Option<&Value>) -> Option<String> {
        let location = format!("{location}.endpoint");
        let text = match value {
            None => {
                self.problem(location, "is required");
                return None;
            }
            Some(Value::String(text)) if (1..=MAX_ENDPOINT).contains(&text.chars().count()) => text.trim(),
            Some(Value::String(_)) => {
                self.problem(location, format!("must have 1 to {MAX_ENDPOINT} characters"));
                return None;
            }
            Some(_) => {
                self.problem(location, "must be a string");
                return None;
            }
        };
        let mut url = match (Url::parse(text), &self.home) {
            (Ok(url), _) => url,
            (Err(url::ParseError::RelativeUrlWithoutBase), Some(home)) => match home.join(text) {
                Ok(url) if url.origin() == home.origin() => url,
                _ => {
                    self.problem(location, "must stay on the origin of home_url");
                    return None;
                }
            },
            (Err(url::ParseError::RelativeUrlWithoutBase), None) => {
                self.problem(location, "is a path, and the app has no home_url to resolve it against");
                return None;
            }
            (Err(_), _) => {
                self.problem(location, "must be an https URL, or a path");
                return None;
            }
        };
        url.set_fragment(None);
        if !(self.may_call)(url.as_str()) {
            self.problem(location, "must be an https URL of a public address, without user and password");
            return None;
        }
        Some(url.into())
    }

    /// In any case; null is POST.
    fn method(&mut self, location: &str, value: Option<&Value>) -> Option<Method> {
        let known = match value {
            None | Some(Value::Null) => return Some(Method::Post),
            Some(Value::String(name)) => Method::from_name(&name.to_ascii_uppercase()),
            Some(_) => None,
        };
        if known.is_none() {
            self.problem(format!("{location}.method"), "must be GET, POST, PUT, PATCH or DELETE");
        }
        known
    }

    fn truth(&mut self, location: String, value: Option<&Value>, default: bool) -> bool {
        match value {
            None | Some(Value::Null) => default,
            Some(Value::Bool(truth)) => *truth,
            Some(_) => {
                self.problem(location, "must be true or false");
                default
            }
        }
    }

    fn parameters(&mut self, location: &str, value: Option<&Value>) -> Option<Vec<Parameter>> {
        let fields = match value {
            None | Some(Value::Null) => return Some(Vec::new()),
            Some(Value::Object(fields)) => fields,
            Some(_) => {
                self.problem(location.to_owned(), "must be an object");
                return None;
            }
        };
        let none = Map::new();
        let properties = match fields.get("properties") {
            None | Some(Value::Null) => &none,
            Some(Value::Object(properties)) => properties,
            Some(_) => {
                self.problem(format!("{location}.properties"), "must be an object");
                return None;
            }
        };
        if properties.len() > MAX_PARAMETERS {
            let words = format!("at most {MAX_PARAMETERS} parameters are allowed, not {}", properties.len());
            self.problem(format!("{location}.properties"), words);
            return None;
        }
        let required = self.required(location, fields.get("required"), properties);
        let checked: Vec<Option<Parameter>> =
            properties.iter().map(|(name, schema)| self.parameter(location, name, schema)).collect();
        let mut checked: Vec<Parameter> = checked.into_iter().collect::<Option<_>>()?;
        let required = required?;
        for parameter in &mut checked {
            parameter.required = required.contains(parameter.name.as_str());
        }
        Some(checked)
    }

    fn parameter(&mut self, location: &str, name: &str, schema: &Value) -> Option<Parameter> {
        if !is_name(name) {
            let shown: String = name.chars().filter(|letter| !letter.is_control()).take(64).collect();
            let words = format!("\"{shown}\" must be 1 to 64 letters, digits, underscores and hyphens");
            self.problem(format!("{location}.properties"), words);
            return None;
        }
        let location = format!("{location}.properties.{name}");
        if RESERVED.contains(&name) {
            self.problem(location, "is a field that every call holds, and cannot be a parameter");
            return None;
        }
        let Value::Object(fields) = schema else {
            self.problem(location, "must be an object");
            return None;
        };
        let kind = match fields.get("type") {
            Some(Value::String(name)) => ParameterType::from_name(name),
            _ => None,
        };
        let Some(kind) = kind else {
            self.problem(
                format!("{location}.type"),
                "must be string, integer, number, boolean, array or object",
            );
            return None;
        };
        if let Some(words) = self.too_many_patterns(schema).or_else(|| check_schema(schema)) {
            self.problem(location, words);
            return None;
        }
        Some(Parameter { name: name.to_owned(), kind, required: false, schema: schema.clone() })
    }

    /// The names of `required`: each a property, each once.
    fn required<'v>(
        &mut self,
        location: &str,
        value: Option<&'v Value>,
        properties: &Map<String, Value>,
    ) -> Option<BTreeSet<&'v str>> {
        let location = || format!("{location}.required");
        let names = match value {
            None | Some(Value::Null) => return Some(BTreeSet::new()),
            Some(Value::Array(names)) => names,
            Some(_) => {
                self.problem(location(), "must be an array of names");
                return None;
            }
        };
        let mut required = BTreeSet::new();
        let before = self.problems.len();
        for name in names.iter().take(MAX_PARAMETERS + 1) {
            let Value::String(name) = name else {
                self.problem(location(), "must be an array of names");
                return None;
            };
            let shown: String = name.chars().filter(|letter| !letter.is_control()).take(64).collect();
            if !properties.contains_key(name) {
                self.problem(location(), format!("names \"{shown}\", which is no property"));
            } else if !required.insert(name.as_str()) {
                self.problem(location(), format!("names \"{shown}\" twice"));
            }
        }
        (self.problems.len() == before).then_some(required)
    }

    fn chat_messages(&mut self, value: Option<&Value>) -> ChatMessages {
        let default = ChatMessages::default();
        let fields = match value {
            None | Some(Value::Null) => return default,
            Some(Value::Object(fields)) => fields,
            Some(_) => {
                self.problem("chat_messages".to_owned(), "must be an object");
                return default;
            }
        };
        let target = match fields.get("target") {
            None | Some(Value::Null) => Some(default.target),
            Some(Value::String(name)) => Target::from_name(name),
            Some(_) => None,
        };
        if target.is_none() {
            self.problem("chat_messages.target".to_owned(), "must be app or main");
        }
        ChatMessages {
            enabled: self.truth("chat_messages.enabled".to_owned(), fields.get("enabled"), default.enabled),
            target: target.unwrap_or(default.target),
            notify: self.truth("chat_messages.notify".to_owned(), fields.get("notify"), default.notify),
        }
    }
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

#[cfg(test)]
mod tests;
