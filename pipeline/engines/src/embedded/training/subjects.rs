//! What talks are about.

use records::Category;

use super::super::Read;
use super::super::learned::{features, subjects};
use super::super::subject;
use super::{Example, Taught, assert_kept, parts, taught};

fn examples() -> Vec<[Example; 1]> {
    taught().iter().map(|taught| [of(taught)]).collect()
}

fn of(taught: &Taught) -> Example {
    let Read { sentences, frequency, language, .. } = Read::of(&taught.talk, None);
    let scores = subject::scores(&sentences, &frequency, language);
    Example {
        features: subjects::of(&features::read(&sentences)),
        of_first: Vec::new(),
        known: Category::ALL.iter().map(|category| subject::said(&scores, *category) as f32).collect(),
        names: Category::ALL.iter().map(|category| taught.categories.contains(category)).collect(),
    }
}

#[test]
fn weights_are_those_that_the_taught_subjects_give() {
    assert_kept("subjects.bin", examples().iter().flatten());
}

/// Prints of how many talks that were left out of the training the subject is found, and by the lists of words alone.
#[test]
#[ignore = "a report"]
fn report() {
    let talks = examples();
    let (mut found, mut by_words) = (0, 0);
    for (weights, left_out) in parts(&talks, |talk| talk) {
        for [example] in left_out {
            let best = |of: &dyn Fn(usize) -> f32| {
                let labels = 0..Category::ALL.len();
                let best = labels.max_by(|one, other| of(*one).total_cmp(&of(*other)));
                usize::from(best.is_some_and(|label| example.names[label]))
            };
            found += best(&|label| example.sum(&weights, label));
            by_words += best(&|label| example.known[label]);
        }
    }
    println!("subjects: {found} of {}, by words alone {by_words}", talks.len());
}
