//! Talks that are longer than a model's context were read in parts; here the parts become one again. What was
//! found (items, memories, events) is put together by rule, what was written (descriptions, an app's text) by
//! the model, which reads what it wrote and not the talk again.

use records::{Folder, Talk};
use serde_json::{Value, json};
use stages::{Failure, Structure, Survey};

use super::answers::{Merged, Text, events_of};
use super::chat::{Question, malformed};
use super::{OpenAi, prompt, window};

/// About what one part's description takes.
const PART_TOKENS: u32 = 300;

impl OpenAi {
    /// One description of those of a talk's parts; of one part, that part's own.
    pub(super) async fn merge(
        &self,
        stage: &'static str,
        talk: &Talk,
        mut parts: Vec<Structure>,
        folders: &[Folder],
    ) -> Result<Structure, Failure> {
        let events = events_of(&parts);
        while parts.len() > 1 {
            let context = self.window.context();
            match self.merge_once(stage, talk, &parts, folders, context).await {
                Ok(merged) => parts = merged,
                Err(failure) if self.outgrew(context, &failure) => {}
                Err(failure) => return Err(failure),
            }
        }
        let whole = parts.pop().ok_or_else(malformed)?;
        Ok(Structure { events: if events.is_empty() { whole.events } else { events }, ..whole })
    }

    /// Fewer descriptions: one of each group that fits into `context`.
    async fn merge_once(
        &self,
        stage: &'static str,
        talk: &Talk,
        parts: &[Structure],
        folders: &[Folder],
        context: u32,
    ) -> Result<Vec<Structure>, Failure> {
        let together = (Self::room_for_answers(talk, context) / 2 / PART_TOKENS).max(2) as usize;
        let mut merged = Vec::new();
        for group in parts.chunks(together) {
            let data = prompt::parts_data(group, folders);
            let question = Question::of::<Merged>(stage, Some(&data), prompt::MERGE);
            let one: Merged = self.ask_data(talk, &question, context).await?;
            merged.push(one.structure(Vec::new(), folders));
        }
        Ok(merged)
    }

    /// One survey of those of a talk's parts. What is missing of any part is missing of the whole.
    pub(super) async fn join(
        &self,
        talk: &Talk,
        parts: Vec<Survey>,
        folders: &[Folder],
    ) -> Result<Survey, Failure> {
        let items: Option<Vec<_>> = parts.iter().map(|part| part.items.clone()).collect();
        let memories: Option<Vec<_>> = parts.iter().map(|part| part.memories.clone()).collect();
        let structures: Option<Vec<_>> = parts.into_iter().map(|part| part.structure).collect();
        if items.is_none() && memories.is_none() && structures.is_none() {
            return Err(malformed());
        }
        let structure = match structures {
            Some(structures) => Some(self.merge("survey", talk, structures, folders).await?),
            None => None,
        };
        Ok(Survey {
            structure,
            items: items.map(|all| all.concat()),
            memories: memories.map(|all| all.concat()),
        })
    }

    /// One text of an app's texts about a talk's parts.
    pub(super) async fn merge_texts(
        &self,
        talk: &Talk,
        mut parts: Vec<Text>,
        instruction: &str,
    ) -> Result<String, Failure> {
        while parts.len() > 1 {
            let context = self.window.context();
            let question = prompt::app_merge(instruction);
            let each = Self::room_for_answers(talk, context) as usize / parts.len();
            let texts: Vec<&str> = parts.iter().map(|part| window::beginning(&part.content, each)).collect();
            let data: Value = json!({"parts": texts});
            let question = Question::of::<Text>("trigger_apps", Some(&data), &question);
            match self.ask_data(talk, &question, context).await {
                Ok(text) => parts = vec![text],
                Err(failure) if self.outgrew(context, &failure) => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(parts.pop().map(|part| part.content).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use records::Category;
    use stages::EventDraft;

    use super::*;

    fn part(events: &[(&str, i64)]) -> Structure {
        let event = |(title, minute): &(&str, i64)| EventDraft {
            title: (*title).to_owned(),
            description: String::new(),
            start: chrono::DateTime::from_timestamp(1_800_000_000 + minute * 60, 0).unwrap_or_default(),
            duration: 30,
        };
        Structure {
            title: String::new(),
            overview: String::new(),
            category: Category::Other,
            emoji: String::new(),
            events: events.iter().map(event).collect(),
            folder_id: None,
        }
    }

    fn titles(parts: &[Structure]) -> Vec<String> {
        events_of(parts).into_iter().map(|event| event.title).collect()
    }

    #[test]
    fn events_that_begin_together_are_kept_and_those_that_parts_repeat_are_not() {
        let one = part(&[("Anna's birthday", 0), ("Report is due", 0), ("Report is due", 0), ("Lunch", 90)]);
        assert_eq!(titles(std::slice::from_ref(&one)), ["Anna's birthday", "Report is due", "Lunch"]);
        let next = part(&[("The lunch", 90), ("Dinner", 400)]);
        assert_eq!(titles(&[one, next]), ["Anna's birthday", "Report is due", "Lunch", "Dinner"]);
    }
}
