//! The digest of what a revision fixes.

use std::collections::HashMap;

use records::{Background, Meeting, Talk};
use sha2::{Digest, Sha256};

/// Feeds fields into a hash with their lengths, so that no two different lists of fields give one digest.
struct Fields(Sha256);

impl Fields {
    fn put(&mut self, field: &[u8]) {
        self.0.update((field.len() as u64).to_be_bytes());
        self.0.update(field);
    }

    fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// SHA-256 of transcript or text, what is known beside it, started_at, language, and the time zone that the person has when the run begins: one that
/// changes between two attempts pays for the stages again, or due dates would be in a zone that was left. Speakers count by
/// the order in which they first speak and not by name: renaming a person between two runs pays for nothing twice.
pub(crate) fn of_revision(talk: &Talk) -> [u8; 32] {
    let mut fields = Fields(Sha256::new());
    fields.put(b"listen-revision/1");
    fields.put(&talk.started_at.timestamp_micros().to_be_bytes());
    fields.put(talk.language.as_bytes());
    fields.put(talk.time_zone.name().as_bytes());
    put_background(&mut fields, &talk.background);
    let mut speakers = HashMap::new();
    for line in &talk.lines {
        let next = speakers.len() as u64;
        let speaker = *speakers.entry((line.speaker.as_deref(), line.is_user)).or_insert(next);
        fields.put(&speaker.to_be_bytes());
        fields.put(&[u8::from(line.is_user)]);
        fields.put(line.text.as_bytes());
    }
    fields.finish()
}

/// Most talks have none, and nothing is put for them.
fn put_background(fields: &mut Fields, Background { kind, meeting, pictures }: &Background) {
    if let Some(kind) = kind {
        fields.put(b"kind");
        fields.put(kind.as_bytes());
    }
    if let Some(Meeting { title, participants, agenda }) = meeting {
        fields.put(b"meeting");
        for text in [title, agenda] {
            fields.put(text.as_deref().unwrap_or_default().as_bytes());
        }
        fields.put(&(participants.len() as u64).to_be_bytes());
        participants.iter().for_each(|name| fields.put(name.as_bytes()));
    }
    if !pictures.is_empty() {
        fields.put(b"pictures");
        fields.put(&(pictures.len() as u64).to_be_bytes());
        pictures.iter().for_each(|picture| fields.put(picture.as_bytes()));
    }
}

/// SHA-256 of a revision and of the engine that worked on it.
pub(crate) fn of_step(revision: &[u8; 32], engine: &str) -> [u8; 32] {
    let mut fields = Fields(Sha256::new());
    fields.put(revision);
    fields.put(engine.as_bytes());
    fields.finish()
}
