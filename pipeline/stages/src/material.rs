//! What a run works on: the words, and what the stages read besides them.

use std::borrow::Cow;

use records::{Folder, FolderId, Talk, Timestamp};
use serde::{Deserialize, Serialize};

use crate::PhotoDescription;

/// Descriptions of pictures that the stages read, the oldest; all of them together are no longer than a short text.
const READ: usize = 20;

/// An action item of the last two days, as the item stage compares new ones with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecentItem {
    /// Its id.
    pub id: String,
    /// What is, or was, to be done; completed items are compared too.
    pub description: String,
    /// When it is due, if it has a due date.
    pub due_at: Option<Timestamp>,
}

/// A prompt app of the user's: it asks a model for a summary of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptApp {
    /// Its id.
    pub id: String,
    /// What it asks for.
    pub prompt: String,
}

/// A picture that is to be described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Photo {
    /// Its id in its conversation.
    pub id: String,
    /// JPEG or PNG.
    pub base64: String,
}

/// All that one run is given, read when it begins.
#[derive(Clone, Debug)]
pub struct Material {
    /// The words and what is needed to understand them, with the pictures that an earlier revision described; fixed by the
    /// revision.
    pub talk: Talk,
    /// What the stages read besides the words, as it is now.
    pub context: Context,
    /// The pictures that no description has yet; none where the engine sees none.
    pub photos: Vec<Photo>,
}

impl Material {
    /// The talk as the stages read it: with what was `seen` on its pictures in this revision.
    pub(crate) fn talk_with<'a>(&'a self, seen: &[PhotoDescription]) -> Cow<'a, Talk> {
        let known = self.talk.background.pictures.len();
        let new: Vec<String> =
            seen.iter().take(READ.saturating_sub(known)).map(|photo| photo.description.clone()).collect();
        if new.is_empty() {
            return Cow::Borrowed(&self.talk);
        }
        let mut talk = self.talk.clone();
        talk.background.pictures.extend(new);
        Cow::Owned(talk)
    }
}

/// What the stages read besides the words, as the first run of a revision found it: an output that an
/// earlier run paid for and one that this run makes must rest on the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The person's folders.
    #[serde(with = "folders_as_rules")]
    pub folders: Vec<Folder>,
    /// The person's action items created in the 2 days before now, without this conversation's: new ones are compared with them.
    pub recent_items: Vec<RecentItem>,
    /// The contents of the person's memories, without this conversation's: new ones are compared with them.
    pub memories: Vec<String>,
    /// The summarization apps that the person enabled.
    pub apps: Vec<String>,
    /// Installed prompt apps, with their prompts as they were: a later change of one changes no revision that was begun.
    #[serde(default)]
    pub prompt_apps: Vec<PromptApp>,
}

/// A folder as a checkpoint keeps it; `records` has no serialized shape of its own.
mod folders_as_rules {
    use serde::{Deserializer, Serializer};

    use super::{Deserialize, Folder, FolderId, Serialize};

    #[derive(Serialize, Deserialize)]
    struct Rule {
        id: String,
        name: String,
        description: Option<String>,
    }

    pub(super) fn serialize<S: Serializer>(folders: &[Folder], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(folders.iter().map(|folder| Rule {
            id: folder.id.as_str().to_owned(),
            name: folder.name.clone(),
            description: folder.description.clone(),
        }))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Folder>, D::Error> {
        let rules = Vec::<Rule>::deserialize(from)?;
        Ok(rules
            .into_iter()
            .map(|rule| Folder { id: FolderId::new(rule.id), name: rule.name, description: rule.description })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn run_context_round_trips_through_its_checkpoint() {
        let folder = |id: &str, description: Option<&str>| Folder {
            id: FolderId::new(id),
            name: "Work".to_owned(),
            description: description.map(str::to_owned),
        };
        let context = Context {
            folders: vec![folder("f1", None), folder("f2", Some("What is paid for"))],
            recent_items: vec![RecentItem {
                id: "i".to_owned(),
                description: "Call Tom".to_owned(),
                due_at: Timestamp::from_timestamp(1_800_000_000, 0),
            }],
            memories: vec!["Likes tea".to_owned()],
            apps: vec!["minutes".to_owned()],
            prompt_apps: vec![PromptApp { id: "a".to_owned(), prompt: "What was funny?".to_owned() }],
        };
        let kept = serde_json::to_value(&context).unwrap();
        assert_eq!(serde_json::from_value::<Context>(kept).unwrap(), context);
    }
}
