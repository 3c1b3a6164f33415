//! A queue in which users take turns: first in, first out for each, round robin between them.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

pub(crate) struct Queue<W> {
    waiting: HashMap<Arc<str>, VecDeque<W>>,
    /// The users who wait, in the order of their turns.
    turns: VecDeque<Arc<str>>,
}

impl<W> Default for Queue<W> {
    fn default() -> Self {
        Self { waiting: HashMap::new(), turns: VecDeque::new() }
    }
}

impl<W> Queue<W> {
    pub(crate) fn push(&mut self, user: Arc<str>, work: W) {
        let theirs = self.waiting.entry(Arc::clone(&user)).or_default();
        if theirs.is_empty() {
            self.turns.push_back(user);
        }
        theirs.push_back(work);
    }

    pub(crate) fn pop(&mut self) -> Option<W> {
        let user = self.turns.pop_front()?;
        let theirs = self.waiting.get_mut(&user)?;
        let work = theirs.pop_front();
        if theirs.is_empty() {
            self.waiting.remove(&user);
        } else {
            self.turns.push_back(user);
        }
        work
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compute_queue_alternates_between_users() {
        let mut queue = Queue::default();
        let ann = ["a1", "a2", "a3"].map(|work| ("ann", work));
        for (user, work) in ann.into_iter().chain([("bob", "b1"), ("carla", "c1"), ("bob", "b2")]) {
            queue.push(Arc::from(user), work);
        }
        assert_eq!(queue.len(), 6);
        let order: Vec<&str> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, ["a1", "b1", "c1", "a2", "b2", "a3"]);
        assert!(
            queue.waiting.is_empty() && queue.turns.is_empty(),
            "users who wait for nothing cost nothing"
        );
    }
}
