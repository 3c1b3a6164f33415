//! General English word lists. None of them is tuned to a sample: a word is here because of what it
//! means in the language.

mod adjectives;
mod categories;
mod finite_verbs;
mod languages;
mod nouns;
mod people;
mod stop_words;
mod synonyms;
mod verbs;
mod word_list;

pub(super) use adjectives::is_adjective;
pub(super) use categories::{HINTS, SUBJECTS, emoji_of};
pub(super) use finite_verbs::ends_a_phrase;
pub(super) use languages::{LANGUAGES, TIMES};
pub(super) use nouns::{AMBIGUOUS_EVENT_NOUNS, EVENT_NOUNS, PAYABLES, is_event_noun};
pub(super) use people::{is_person, relatives, trades};
pub(super) use stop_words::{FILLERS, MIC_TEST, is_stop_word};
pub(super) use synonyms::{is_completive, is_contrast, kinds_of, meanings_of, one_noun};
pub(super) use verbs::{
    base_of_gerund, base_of_participle, base_of_past, is_advice_verb, is_narrative_verb, is_task_verb,
    is_vague_verb,
};
pub(super) use word_list::{Listed, WordList};
