//! What is on a picture: one question with the picture in it, answered in plain text.

use job::FailureCode;
use serde_json::{Value, json};
use stages::Failure;

use super::{OpenAi, prompt};

/// How the base64 of a PNG begins; every other picture that is stored is a JPEG.
const PNG: &str = "iVBORw0KGgo";

impl OpenAi {
    /// Asks the model that sees. No field is sent that a server may not know.
    pub(super) async fn see(&self, base64: &str, language: &str) -> Result<String, Failure> {
        let (model, _) = self.sight.as_ref().ok_or(FailureCode::ModelRejected)?;
        let request = question(model, base64, language);
        let answer = self.sight_line.post("describe_photos", "chat/completions", &request).await;
        let body = answer.map_err(Failure::from)?;
        let text = self.read_text("describe_photos", &body)?;
        Ok(text.rsplit_once("</think>").map_or(text.as_str(), |(_, answer)| answer).to_owned())
    }
}

fn question(model: &str, base64: &str, language: &str) -> Value {
    let kind = if base64.starts_with(PNG) { "png" } else { "jpeg" };
    let url = format!("data:image/{kind};base64,{base64}");
    json!({
        "model": model,
        "messages": [
            { "role": "system", "content": prompt::PHOTO },
            { "role": "user", "content": [
                { "type": "text", "text": format!("Language: {language}") },
                { "type": "image_url", "image_url": { "url": url } },
            ] },
        ],
    })
}
