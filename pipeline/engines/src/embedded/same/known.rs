//! Lists of known tasks and facts. Candidates come from an index of stems: two texts that are the same share some, so
//! that the work grows with what texts have in common and not with their number.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use records::KnownTexts;

use super::{Fact, Task};

/// Which texts have which stems.
#[derive(Default)]
struct Index(HashMap<String, Vec<usize>>);

impl Index {
    fn add(&mut self, position: usize, stems: &BTreeSet<String>) {
        for stem in stems {
            match self.0.get_mut(stem) {
                Some(places) => places.push(position),
                None => drop(self.0.insert(stem.clone(), vec![position])),
            }
        }
    }

    /// The places of texts that have any of `stems`, in order, each with how many.
    fn sharing(&self, stems: &BTreeSet<String>) -> Vec<(usize, usize)> {
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for place in stems.iter().filter_map(|stem| self.0.get(stem)).flatten() {
            *shared.entry(*place).or_default() += 1;
        }
        let mut shared: Vec<(usize, usize)> = shared.into_iter().collect();
        shared.sort_unstable();
        shared
    }
}

/// Known tasks.
#[derive(Default)]
pub(super) struct KnownTasks {
    all: Vec<Arc<Task>>,
    objects: Index,
    /// The first task of each that has no object, by verb.
    bare: HashMap<String, Vec<usize>>,
}

impl KnownTexts for KnownTasks {
    fn add(&mut self, text: &str) {
        let (task, place) = (Task::of(text), self.all.len());
        self.objects.add(place, &task.object);
        if task.object.is_empty() {
            self.bare.entry(task.verb.clone()).or_default().push(place);
        }
        self.all.push(task);
    }

    fn find(&self, text: &str) -> Option<usize> {
        let task = Task::of(text);
        let is_same = |place: usize, shared: usize| {
            self.all.get(place).is_some_and(|known| known.is_same_sharing(&task, shared))
        };
        if task.object.is_empty() {
            return self.bare.get(&task.verb)?.iter().copied().find(|place| is_same(*place, 0));
        }
        let candidates = self.objects.sharing(&task.object);
        candidates.into_iter().find(|(place, shared)| is_same(*place, *shared)).map(|(place, _)| place)
    }
}

/// Known facts.
#[derive(Default)]
pub(super) struct KnownFacts {
    all: Vec<Arc<Fact>>,
    words: Index,
}

impl KnownTexts for KnownFacts {
    fn add(&mut self, text: &str) {
        let fact = Fact::of(text);
        self.words.add(self.all.len(), &fact.stems);
        self.all.push(fact);
    }

    fn find(&self, text: &str) -> Option<usize> {
        let fact = Fact::of(text);
        let is_same = |place: usize, shared: usize| {
            self.all.get(place).is_some_and(|known| known.is_same_sharing(&fact, shared))
        };
        let candidates = self.words.sharing(&fact.stems);
        candidates.into_iter().find(|(place, shared)| is_same(*place, *shared)).map(|(place, _)| place)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use records::SameThing;

    use super::*;

    /// Texts of few words, so that many are the same.
    fn texts() -> impl Strategy<Value = Vec<String>> {
        const WORDS: [&str; 30] = [
            "send",
            "email",
            "call",
            "phone",
            "book",
            "please",
            "the",
            "report",
            "reports",
            "budget",
            "to",
            "Tom",
            "Tom's",
            "invoice",
            "for",
            "two",
            "7",
            "42",
            "not",
            "never",
            "on Monday",
            "tomorrow",
            "by 5 March",
            "company",
            "user",
            "lives",
            "in",
            "Porto",
            "sister",
            "and",
        ];
        let text =
            prop::collection::vec(prop::sample::select(&WORDS[..]), 0..8).prop_map(|words| words.join(" "));
        prop::collection::vec(text, 0..24)
    }

    /// What a list finds of each text in those before it, all of which it knows.
    fn found(mut known: Box<dyn KnownTexts>, texts: &[String]) -> Vec<Option<usize>> {
        texts
            .iter()
            .map(|text| {
                let place = known.find(text);
                known.add(text);
                place
            })
            .collect()
    }

    proptest! {
        #[test]
        fn an_index_finds_what_comparing_each_pair_finds(texts in texts()) {
            let same_task = |one: &str, other: &str| Task::read(one).is_same(&Task::read(other));
            prop_assert_eq!(found(Box::<KnownTasks>::default(), &texts), found(same_task.tasks(), &texts));
            let same_fact = |one: &str, other: &str| {
                let (one, other) = (Fact::read(one), Fact::read(other));
                one.is_same_sharing(&other, one.stems.intersection(&other.stems).count())
            };
            prop_assert_eq!(found(Box::<KnownFacts>::default(), &texts), found(same_fact.facts(), &texts));
        }
    }
}
