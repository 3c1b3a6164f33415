//! Signed feature hashing: a vector from nothing but the words. Texts are near when they share
//! stems, pairs of stems, or parts of words; it knows no synonyms.

use stages::Embedding;

use super::text::{content_stems, words};

/// The name under which these vectors are stored; vectors of other models are not comparable.
const MODEL: &str = "hash-512";
const DIMENSIONS: usize = 512;

/// The L2-normalised vector of `text`. Where no word carries a topic ("Yes, and you?"), all of its words count; texts
/// without words are all alike. It always has a direction: a conversation must not fail for having said little.
pub(super) fn embedding(text: &str) -> Embedding {
    let stems = match content_stems(text) {
        none if none.is_empty() => words(text).collect(),
        stems => stems,
    };
    let mut vector = vec![0.0_f32; DIMENSIONS];
    for stem in &stems {
        add(&mut vector, "w", stem, 1.0);
        let padded: Vec<char> = format!("^{stem}$").chars().collect();
        for gram in padded.windows(4) {
            add(&mut vector, "g", &gram.iter().collect::<String>(), 0.3);
        }
    }
    for pair in stems.windows(2) {
        add(&mut vector, "p", &pair.join(" "), 0.6);
    }
    normalise(&mut vector);
    Embedding { model: MODEL.to_owned(), vector }
}

fn add(vector: &mut [f32], kind: &str, feature: &str, weight: f32) {
    let hash = mixed(fnv1a(kind.bytes().chain([0]).chain(feature.bytes())));
    let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
    let slots = vector.len() as u64;
    let slot = usize::try_from((hash & (u64::MAX >> 1)) % slots).unwrap_or(0);
    if let Some(cell) = vector.get_mut(slot) {
        *cell += sign * weight;
    }
}

/// FNV-1a, 64 bits.
pub(super) fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A final mix: stable across builds and machines, because vectors are stored.
fn mixed(hash: u64) -> u64 {
    let mixed = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 33)
}

fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    } else if let Some(first) = vector.first_mut() {
        *first = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(one: &str, other: &str) -> f32 {
        embedding(one).vector.iter().zip(embedding(other).vector).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn vectors_have_unit_length_and_the_models_dimensions() {
        let vector = embedding("The migration of the orders table timed out").vector;
        assert_eq!(vector.len(), 512);
        assert!((vector.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5);
    }

    #[test]
    fn related_texts_are_nearer_than_unrelated_ones() {
        let near = cosine("We moved the database migration", "The migration of the databases failed");
        let far = cosine("We moved the database migration", "Grandmother baked a cherry cake");
        assert!(near > far + 0.2, "near {near}, far {far}");
    }

    #[test]
    fn a_text_without_content_has_a_direction_too() {
        for text in ["uh, yeah", "It was what it was.", "...", " ", "", "\u{1f9e0}"] {
            let length: f32 = embedding(text).vector.iter().map(|x| x * x).sum();
            assert!((length - 1.0).abs() < 1e-5, "{text}");
        }
        assert!(
            cosine("It was what it was", "It is what it is") > cosine("It was what it was", "You and me")
        );
    }

    #[test]
    fn what_is_too_long_to_be_a_word_is_left_as_it_is() {
        let long = "\u{e9}".repeat(100_000);
        assert_eq!(content_stems(&long), [long]);
    }
}
