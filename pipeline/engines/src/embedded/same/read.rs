//! Texts that were read lately, by their words. What a text is compared by is costly to find (its dates above all), and
//! a run asks twice: in its stage, and once more in the transaction that completes it.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// How many bytes of text each half keeps; what was read of a byte takes some twenty.
const HALF: usize = 512 * 1024;
/// A longer text is read each time.
const LONGEST: usize = 4_096;

/// Remembers what was read of the latest texts.
pub(super) struct Lately<T>(Mutex<Halves<T>>);

/// New texts go into one half. When it is full the other one is dropped, and it becomes the other one.
struct Halves<T> {
    young: HashMap<Box<str>, Arc<T>>,
    old: HashMap<Box<str>, Arc<T>>,
    bytes: usize,
}

impl<T> Lately<T> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Halves { young: HashMap::new(), old: HashMap::new(), bytes: 0 }))
    }

    /// What `read` makes of `text`. Reads outside the lock: two threads may read one text.
    pub(super) fn read(&self, text: &str, read: impl FnOnce(&str) -> T) -> Arc<T> {
        if let Some(known) = self.known(text) {
            return known;
        }
        let fresh = Arc::new(read(text));
        if text.len() <= LONGEST {
            self.keep(text, Arc::clone(&fresh));
        }
        fresh
    }

    fn known(&self, text: &str) -> Option<Arc<T>> {
        let mut halves = self.0.lock();
        if let Some(known) = halves.young.get(text) {
            return Some(Arc::clone(known));
        }
        let (text, known) = halves.old.remove_entry(text)?;
        halves.keep(text, Arc::clone(&known));
        Some(known)
    }

    fn keep(&self, text: &str, read: Arc<T>) {
        self.0.lock().keep(text.into(), read);
    }
}

impl<T> Halves<T> {
    fn keep(&mut self, text: Box<str>, read: Arc<T>) {
        self.bytes += text.len();
        if self.bytes > HALF {
            self.bytes = text.len();
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(text, read);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_once_and_what_is_kept_is_bounded() {
        let lately = Lately::new();
        let reads = std::cell::Cell::new(0);
        let length = |text: &str| {
            reads.set(reads.get() + 1);
            text.len()
        };
        assert_eq!((*lately.read("one", length), *lately.read("one", length), reads.get()), (3, 3, 1));
        for number in 0..10_000 {
            lately.read(&format!("{number:0500}"), length);
            lately.read("one", length);
        }
        assert_eq!(reads.get(), 10_001, "what is asked for again stays");
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(
            (*lately.read(&long, length), *lately.read(&long, length), reads.get()),
            (4_097, 4_097, 10_003)
        );
        let halves = lately.0.lock();
        let kept = halves.young.keys().chain(halves.old.keys()).map(|text| text.len()).sum::<usize>();
        assert!(kept <= 2 * HALF, "{kept}");
    }
}
