//! What a call asks for: its stages, its schema and the lines of the talk, read out of a chat request.

use serde_json::Value;

use crate::cache::tokens;

/// A chat request, as far as the server looks at it.
pub(crate) struct Question {
    pub(crate) stages: Vec<String>,
    pub(crate) format: &'static str,
    pub(crate) model: String,
    pub(crate) schema: Option<Value>,
    /// Whether it is a round of a talk with tools.
    pub(crate) talks: bool,
    /// Whether the answer is to be streamed.
    pub(crate) streams: bool,
    /// The words of each line of the talk; of the whole prompt where it holds no talk.
    pub(crate) lines: Vec<String>,
    /// Everything that is read, in the order in which large providers read it: the schema stands first.
    pub(crate) prompt: String,
}

impl Question {
    pub(crate) fn of_chat(body: &Value) -> Self {
        let format = &body["response_format"];
        let named = &format["json_schema"];
        let text = messages(body);
        let (name, schema) = match named["name"].as_str() {
            Some(name) => (name.to_owned(), Some(named["schema"].clone())),
            None => spelt_out(&text).unwrap_or_default(),
        };
        let format = match format["type"].as_str() {
            Some("json_schema") => "json_schema",
            Some("json_object") => "json_object",
            _ => "plain",
        };
        let enforced = if format == "json_schema" { named["schema"].to_string() } else { String::new() };
        Self {
            stages: name.split('-').filter(|stage| !stage.is_empty()).map(str::to_owned).collect(),
            format,
            model: body["model"].as_str().unwrap_or_default().to_owned(),
            talks: schema.is_none() && body.get("response_format").is_none(),
            streams: body["stream"] == true,
            schema,
            lines: lines_of_talk(&text),
            prompt: format!("{enforced}{text}"),
        }
    }

    pub(crate) fn of_embeddings(body: &Value) -> Self {
        let inputs = body["input"].as_array().cloned().unwrap_or_else(|| vec![body["input"].clone()]);
        let text = inputs.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n");
        Self {
            stages: vec!["embed".to_owned()],
            format: "embeddings",
            model: body["model"].as_str().unwrap_or_default().to_owned(),
            schema: None,
            talks: false,
            streams: false,
            lines: inputs.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            prompt: text,
        }
    }

    pub(crate) fn tokens(&self) -> u64 {
        tokens(&self.prompt)
    }
}

fn messages(body: &Value) -> String {
    let contents = body["messages"].as_array().into_iter().flatten();
    contents.filter_map(|message| message["content"].as_str()).collect::<Vec<_>>().join("\n")
}

/// The name and the schema that a prompt without a JSON mode spells out in its last lines.
fn spelt_out(text: &str) -> Option<(String, Option<Value>)> {
    let (_, told) = text.rsplit_once("JSON schema `")?;
    let (name, rest) = told.split_once('`')?;
    let schema = rest.split_once('\n').and_then(|(_, schema)| serde_json::from_str(schema.trim()).ok());
    Some((name.to_owned(), schema))
}

/// A talk is lines of `[number, speaker, is_user, words]`; a talk without lines is what its head says of pictures.
fn lines_of_talk(text: &str) -> Vec<String> {
    let line = |line: &str| match serde_json::from_str(line) {
        Ok(Value::Array(fields)) => fields.get(3).and_then(Value::as_str).map(str::to_owned),
        _ => None,
    };
    let mut lines: Vec<String> = text.lines().filter_map(line).collect();
    if lines.is_empty() {
        let heads = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let pictures = heads.filter_map(|mut head| head.get_mut("pictures").map(Value::take));
        lines = pictures
            .filter_map(|pictures| serde_json::from_value::<Vec<String>>(pictures).ok())
            .flatten()
            .collect();
    }
    if lines.is_empty() { vec![text.to_owned()] } else { lines }
}
