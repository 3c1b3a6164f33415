//! Texts among which repetitions of a new one are looked up. What "the same" means is an engine's to say.

/// Texts in the order in which they were added.
pub trait KnownTexts: Send {
    /// Adds a text at the end.
    fn add(&mut self, text: &str);

    /// The place of the first text that says the same as `text`, counted from 0.
    fn find(&self, text: &str) -> Option<usize>;
}

/// Texts that are compared one by one, by a function: for tests, and as what a faster list is held against.
pub fn pairwise(same: impl Fn(&str, &str) -> bool + Send + 'static) -> Box<dyn KnownTexts> {
    Box::new(Pairwise { texts: Vec::new(), same })
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
