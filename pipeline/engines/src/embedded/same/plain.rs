//! Ways of saying a task brought to one: "give grandma a call", "get the car washed", "pick the parcel up".

use crate::embedded::lexicon::{base_of_participle, is_completive, meanings_of};
use crate::embedded::text::words;

/// A task as it is compared.
pub(super) struct Plain {
    /// Its verb, with the particle that gives it its meaning.
    pub(super) verb: String,
    /// The words behind the verb, in lower case.
    pub(super) rest: Vec<String>,
    /// Which of them were written with a capital.
    pub(super) names: Vec<String>,
    /// A particle that belongs to no known verb: "turn on".
    pub(super) particle: Option<String>,
}

const PARTICLES: &[&str] = &["up", "down", "on", "off", "in", "out", "away", "back", "over"];
/// What a verb takes its meaning from besides particles: "look for", "check with".
const TIES: &[&str] = &["for", "into", "at", "with", "of", "through", "together", "know"];
const PREPOSITIONS: &[&str] =
    &["at", "from", "to", "by", "for", "of", "with", "and", "in", "on", "about", "before", "after"];
const ARTICLES: &[&str] = &["a", "an", "some", "the", "quick", "another"];
const MEALS: &[&str] =
    &["dinner", "lunch", "breakfast", "brunch", "supper", "tea", "coffee", "drinks", "cake"];
/// Written messages, and the verb that sends each.
const LETTERS: &[(&str, &str)] = &[
    ("letter", "write"),
    ("note", "write"),
    ("line", "write"),
    ("message", "message"),
    ("text", "text"),
    ("email", "email"),
    ("e-mail", "email"),
    ("mail", "email"),
];

/// `text` without its dates, in one way of saying it.
pub(super) fn plain(text: &str) -> Plain {
    let lead = |word: &String| matches!(word.as_str(), "please" | "also" | "then" | "to" | "just");
    let written: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | '.' | '!' | '?' | ';' | '"' | '(' | ')'))
        .collect();
    let names = written.iter().skip(1).filter(|word| word.starts_with(char::is_uppercase));
    let names = names.flat_map(|word| words(word).collect::<Vec<_>>()).collect();
    let mut all: Vec<String> = words(text).skip_while(lead).collect();
    let verb = if all.is_empty() { String::new() } else { all.remove(0) };
    let mut plain = Plain { verb, rest: all, names, particle: None };
    plain.light_verb();
    plain.gather_particle();
    plain.join_particle();
    plain.discussion();
    plain
}

impl Plain {
    /// The first place of `words` in a row.
    fn position(&self, words: &[&str]) -> Option<usize> {
        self.rest.windows(words.len().max(1)).position(|window| window.iter().eq(words.iter()))
    }

    /// Takes `count` words from `at` on out, and says the rest with `verb`.
    fn said_with(&mut self, verb: &str, at: usize, count: usize) {
        let end = (at + count).min(self.rest.len());
        if at <= end {
            self.rest.drain(at..end);
        }
        self.verb = verb.to_owned();
    }

    /// Verbs that mean little by themselves.
    fn light_verb(&mut self) {
        let idioms: &[(&str, &[&str], &str)] = &[
            ("let", &["know"], "tell"),
            ("bring", &["up", "to", "date"], "update"),
            ("get", &["rid", "of"], "get rid of"),
            ("get", &["in", "touch", "with"], "get in touch"),
            ("get", &["back", "to"], "reply"),
            ("put", &["together"], "put together"),
            ("have", &["a", "look", "at"], "look at"),
            ("take", &["a", "look", "at"], "look at"),
            ("have", &["a", "word", "with"], "talk"),
            ("have", &["a", "chat", "with"], "talk"),
            ("give", &["some", "water"], "water"),
            ("give", &["a", "call"], "call"),
            ("give", &["a", "quick", "call"], "call"),
            ("give", &["a", "ring"], "call"),
            ("give", &["a", "shout"], "call"),
            ("give", &["a", "wash"], "wash"),
            ("give", &["a", "clean"], "clean"),
            ("make", &["a", "call", "to"], "call"),
            ("make", &["sure", "to"], ""),
            ("take", &["photos", "of"], "photograph"),
            ("take", &["pictures", "of"], "photograph"),
            ("take", &["a", "photo", "of"], "photograph"),
            ("take", &["a", "picture", "of"], "photograph"),
            ("put", &["in", "an", "application"], "apply"),
            ("make", &["an", "application"], "apply"),
            ("place", &["an", "order"], "order"),
            ("make", &["a", "payment"], "pay"),
        ];
        if let Some((at, count, verb)) = idioms
            .iter()
            .filter(|(light, _, _)| *light == self.verb)
            .find_map(|(_, words, verb)| Some((self.position(words)?, words.len(), *verb)))
        {
            self.said_with(verb, at, count);
            if verb.is_empty() && !self.rest.is_empty() {
                self.verb = self.rest.remove(0);
            }
            return;
        }
        match self.verb.as_str() {
            "get" | "have" => self.done_by_others(),
            "make" | "fix"
                if self
                    .rest
                    .iter()
                    .any(|word| matches!(word.as_str(), "appointment" | "reservation" | "booking")) =>
            {
                self.verb = "book".to_owned();
            }
            "send" | "write" | "drop" => {
                self.by_letter();
                self.letter();
            }
            "ask" if self.asks_to_a_meal() => self.verb = "invite".to_owned(),
            _ => {}
        }
    }

    /// "Get the car washed": wash the car.
    fn done_by_others(&mut self) {
        let ends = |at: usize| self.rest.get(at + 1).is_none_or(|next| PREPOSITIONS.contains(&next.as_str()));
        let done = |at: &usize| {
            ends(*at) && self.rest.get(*at).is_some_and(|word| base_of_participle(word).is_some())
        };
        let Some(at) = (1..self.rest.len()).find(done) else { return };
        if let Some(verb) = self.rest.get(at).and_then(|word| base_of_participle(word)) {
            self.said_with(verb, at, 1);
        }
    }

    /// "Ask the neighbours to dinner".
    fn asks_to_a_meal(&self) -> bool {
        let meal = |word: &String| MEALS.contains(&word.as_str());
        self.rest.windows(2).any(
            |pair| matches!(pair, [tie, what] if matches!(tie.as_str(), "to" | "for" | "over") && meal(what)),
        )
    }

    /// "Send her the dose by text": text her the dose.
    fn by_letter(&mut self) {
        let Some([.., by, how]) = self.rest.get(..) else { return };
        let verb = LETTERS.iter().find(|(noun, verb)| noun == how && *verb == "text").map(|(_, verb)| *verb);
        if let Some(verb) = verb.filter(|_| by == "by") {
            self.said_with(verb, self.rest.len() - 2, 2);
        }
    }

    /// "Send the council a letter about the bins", "write an email to Tom": write, email.
    fn letter(&mut self) {
        let known = |word: &String| LETTERS.iter().find(|(noun, _)| noun == word).map(|(_, verb)| *verb);
        let Some((at, verb)) = self.rest.iter().enumerate().find_map(|(at, word)| Some((at, known(word)?)))
        else {
            return;
        };
        let article = at.checked_sub(1).and_then(|before| self.rest.get(before));
        let open = self
            .rest
            .get(at + 1)
            .map_or(self.verb == "drop", |next| matches!(next.as_str(), "to" | "about" | "that"));
        if open && article.is_some_and(|article| matches!(article.as_str(), "a" | "an" | "another")) {
            self.said_with(verb, at - 1, 2);
        }
    }

    /// Brings the particle to its verb: "pick the parcel up" is "pick up the parcel".
    fn gather_particle(&mut self) {
        let particle = |word: &String| PARTICLES.contains(&word.as_str());
        if self.verb.contains(' ') || self.rest.first().is_some_and(particle) {
            return;
        }
        let ends = |at: usize| self.rest.get(at + 1).is_none_or(|next| PREPOSITIONS.contains(&next.as_str()));
        let behind_article =
            |at: usize| at > 0 && self.rest.get(at - 1).is_some_and(|word| ARTICLES.contains(&word.as_str()));
        let found = self
            .rest
            .iter()
            .enumerate()
            .find(|(at, word)| particle(word) && ends(*at) && !behind_article(*at));
        if let Some((at, _)) = found {
            let word = self.rest.remove(at);
            self.rest.insert(0, word);
        }
    }

    /// Makes one of a verb and its particle, where the two are known; else the particle stays on its own.
    fn join_particle(&mut self) {
        let Some(next) = self.rest.first().cloned() else { return };
        let particle = PARTICLES.contains(&next.as_str());
        let joined = format!("{} {next}", self.verb);
        if !meanings_of(&joined).is_empty() && (particle || TIES.contains(&next.as_str()) || next == "to") {
            self.rest.remove(0);
            self.verb = joined;
        } else if particle && is_completive(&joined) {
            self.rest.remove(0);
        } else if particle {
            self.particle = Some(self.rest.remove(0));
        }
    }

    /// "Discuss the rota with Priya" is "talk about the rota with Priya", in the order of "talk to Priya about the rota".
    fn discussion(&mut self) {
        if self.verb != "discuss" {
            return;
        }
        self.verb = "talk".to_owned();
        if let Some(at) = self.rest.iter().position(|word| word == "with") {
            let what: Vec<String> = self.rest.drain(..=at).take(at).collect();
            self.rest.push("about".to_owned());
            self.rest.extend(what);
        }
    }
}
