//! Texts among which repetitions of a new one are looked up. What "the same" means is an engine's to say.

use std::{future::ready, pin::Pin};

/// Texts in the order in which they were added.
pub trait KnownTexts: Send {
    /// Adds a text at the end.
    fn add(&mut self, text: &str);

    /// The place of the first text that says the same as `text`, counted from 0.
    fn find(&self, text: &str) -> Option<usize>;
}

/// Finds action items, or memories, that say the same thing. Deterministic and free, so that
/// completion can ask it again under the user's lock. Prefers a missed merge to a lost task.
pub trait SameThing: Send + Sync {
    /// An empty list of texts that are the same when they name one task.
    fn tasks(&self) -> Box<dyn KnownTexts>;

    /// An empty list of texts that are the same when they state one fact.
    fn facts(&self) -> Box<dyn KnownTexts>;

    /// Reads `tasks` and `facts` that will be compared, away from the caller's thread: lists then find them read.
    fn read(&self, tasks: Vec<String>, facts: Vec<String>) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let _ = (tasks, facts);
        Box::pin(ready(()))
    }
}

/// A function that compares two texts, one by one: for tests, and as what a faster list is held against.
impl<F: Fn(&str, &str) -> bool + Clone + Send + Sync + 'static> SameThing for F {
    fn tasks(&self) -> Box<dyn KnownTexts> {
        Box::new(Pairwise { texts: Vec::new(), same: self.clone() })
    }

    fn facts(&self) -> Box<dyn KnownTexts> {
        self.tasks()
    }
}

struct Pairwise<F> {
    texts: Vec<String>,
    same: F,
}

impl<F: Fn(&str, &str) -> bool + Send> KnownTexts for Pairwise<F> {
    fn add(&mut self, text: &str) {
        self.texts.push(text.to_owned());
    }

    fn find(&self, text: &str) -> Option<usize> {
        self.texts.iter().position(|known| (self.same)(known, text))
    }
}
