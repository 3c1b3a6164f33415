//! Which phrases belong in a title.

use std::collections::HashSet;

use super::super::phrases::{self, Candidate};
use super::super::tests::read_of;
use super::{Example, Taught, assert_kept, parts, taught};

/// The phrases of a talk that may be topics, and the stems of its title.
struct Phrases {
    candidates: Vec<Candidate>,
    examples: Vec<Example>,
    title: HashSet<String>,
}

fn examples() -> Vec<Phrases> {
    taught().iter().map(of).collect()
}

fn of(taught: &Taught) -> Phrases {
    let read = read_of(&taught.talk);
    let title: HashSet<String> = read.language.content_stems(&taught.title).into_iter().collect();
    let candidates = phrases::candidates(&read.sentences, &read.known());
    let features = phrases::features_of_all(&candidates, &read.known());
    let examples = features.into_iter().zip(&candidates).map(|(features, candidate)| {
        let stems = &candidate.phrase.stems;
        let named = stems.iter().filter(|stem| title.contains(*stem)).count();
        let names = stems.last().is_some_and(|head| title.contains(head)) && 2 * named >= stems.len();
        Example { features, of_first: Vec::new(), known: Vec::new(), names: vec![names] }
    });
    Phrases { examples: examples.collect(), candidates, title }
}

#[test]
fn weights_are_those_that_the_taught_titles_give() {
    assert_kept("titles.bin", examples().iter().flat_map(|phrases| &phrases.examples));
}

/// Prints how many words of titles of talks that were left out of the training are found, and how many of those found are
/// right; and by the scores of the phrases alone.
#[test]
#[ignore = "a report"]
fn report() {
    let talks = examples();
    let (mut weighed, mut scored) = ([0; 3], [0; 3]);
    for (weights, left_out) in parts(&talks, |phrases| &phrases.examples) {
        for Phrases { candidates, examples, title } in left_out {
            let mut order: Vec<usize> = (0..examples.len()).collect();
            count(&mut scored, &order, candidates, title);
            let odds: Vec<f32> = examples.iter().map(|example| example.sum(&weights, 0)).collect();
            order.sort_by(|one, other| odds[*other].total_cmp(&odds[*one]));
            count(&mut weighed, &order, candidates, title);
        }
    }
    for (name, [hits, said, wanted]) in [("weighed", weighed), ("by scores", scored)] {
        println!("titles, {name}: {hits} words of {wanted}, of {said} said");
    }
}

fn count(sums: &mut [usize; 3], order: &[usize], candidates: &[Candidate], title: &HashSet<String>) {
    let ordered = order.iter().map(|at| candidates[*at].phrase.clone());
    let stems: HashSet<String> =
        phrases::distinct(ordered, 3).into_iter().flat_map(|phrase| phrase.stems).collect();
    let more = [stems.intersection(title).count(), stems.len(), title.len()];
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}
