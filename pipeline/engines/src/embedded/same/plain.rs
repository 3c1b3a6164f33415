//! Ways of saying a task brought to one: "give grandma a call", "get the car washed", "pick the parcel up".

use super::idioms::{ACTS, GIVEN, IDIOMS, NEEDED, OCCASION, PAIRS, PAPERS};
use crate::embedded::lexicon::{
    base_of_gerund, base_of_participle, is_completive, is_task_verb, meanings_of,
};
use crate::embedded::text::{decapitalised, words};

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
    let text = OCCASION.replace(text, "").into_owned();
    let text = &*needed(&text).unwrap_or(text);
    let lead = |word: &String| matches!(word.as_str(), "please" | "also" | "then" | "to" | "just");
    let written: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | '.' | '!' | '?' | ';' | '"' | '(' | ')'))
        .collect();
    let names = written.iter().skip(1).filter(|word| word.starts_with(char::is_uppercase));
    let names = names.flat_map(|word| words(word).collect::<Vec<_>>()).collect();
    let mut all: Vec<String> = words(text).skip_while(lead).collect();
    let verb = if all.is_empty() { String::new() } else { all.remove(0) };
    let mut plain = Plain { verb, rest: all, names, particle: None };
    plain.one_for_two();
    plain.light_verb();
    plain.noun_of_an_act();
    plain.gather_particle();
    plain.join_particle();
    plain.discussion();
    plain
}

/// "The hedge needs cutting", "cards to be signed": cut the hedge, sign cards.
fn needed(text: &str) -> Option<String> {
    let needed = NEEDED.captures(text)?;
    let done = needed["done"].to_lowercase();
    let verb = base_of_participle(&done).map(str::to_owned).or_else(|| base_of_gerund(&done))?;
    let what = needed["what"].trim_end_matches(',');
    let first = words(what).next()?;
    (is_task_verb(&verb) && (!is_task_verb(&first) || is_noun_too(&first)))
        .then(|| format!("{verb} {}{}", decapitalised(what), &needed["rest"]))
}

/// The verb of a participle, of those as well that are hardly said of tasks ("get the shelves put up").
fn done_verb(word: &str) -> Option<&'static str> {
    let others = match word {
        "put" => "put",
        "shut" => "shut",
        "looked" => "look",
        "swept" => "sweep",
        "hung" => "hang",
        "given" => "give",
        "driven" => "drive",
        "drawn" => "draw",
        "dropped" => "drop",
        "ground" => "grind",
        "framed" => "frame",
        "seen" => "see",
        _ => return base_of_participle(word),
    };
    Some(others)
}

/// Verbs that more often are nouns when a sentence begins with them.
fn is_noun_too(word: &str) -> bool {
    ACTS.iter().any(|(noun, _)| *noun == word)
        || matches!(word, "light" | "post" | "plant" | "water" | "book" | "shop")
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
        if let Some((at, count, verb)) = IDIOMS.get(&*self.verb).and_then(|idioms| {
            idioms.iter().find_map(|(words, verb)| Some((self.position(words)?, words.len(), *verb)))
        }) {
            self.said_with(verb, at, count);
            if verb.is_empty() && !self.rest.is_empty() {
                self.verb = self.rest.remove(0);
            }
            return;
        }
        match self.verb.clone().as_str() {
            "get" | "have" | "ask" if self.asks_somebody() => self.light_verb(),
            "get" if self.gets_anew() => self.verb = "renew".to_owned(),
            "get" | "have" => self.done_by_others(),
            "sort" if self.sorts_one() => {
                self.said_with("sort a", 0, usize::from(self.rest.first().is_some_and(|word| word == "out")))
            }
            "give" => self.given(),
            "do" => self.done(),
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

    /// "Sort out a babysitter", and not "sort the photos".
    fn sorts_one(&self) -> bool {
        self.rest
            .iter()
            .find(|word| *word != "out")
            .is_some_and(|word| matches!(word.as_str(), "a" | "an" | "some"))
    }

    /// One word for two: "vacuum cleaner".
    fn one_for_two(&mut self) {
        let mut at = 0;
        while let [first, second, ..] = self.rest.get(at..).unwrap_or_default() {
            let owner = second.strip_suffix("'s").filter(|_| !PAIRS.contains_key(&(&**first, &**second)));
            if let Some(one) = PAIRS.get(&(&**first, owner.unwrap_or(second))) {
                let one = if owner.is_some() { format!("{one}'s") } else { (*one).to_owned() };
                self.rest.splice(at..at + 2, [one]);
            }
            at += 1;
        }
    }

    /// "Arrange the boiler service", "boiler service": service the boiler. "New batteries for the lamp": replace them.
    fn noun_of_an_act(&mut self) {
        if self.verb == "new" && self.rest.iter().any(|word| word == "for") {
            self.verb = "replace".to_owned();
            return;
        }
        let unsaid = !is_task_verb(&self.verb) && meanings_of(&self.verb).is_empty();
        if unsaid {
            self.rest.insert(0, std::mem::take(&mut self.verb));
        } else if !matches!(
            self.verb.as_str(),
            "arrange"
                | "book"
                | "schedule"
                | "organise"
                | "organize"
                | "do"
                | "order"
                | "sort"
                | "sort a"
                | "handle"
        ) {
            return;
        }
        let ends = |at: usize| self.rest.get(at + 1).is_none_or(|next| PREPOSITIONS.contains(&next.as_str()));
        let act = self.rest.iter().enumerate().find_map(|(at, word)| {
            let (_, verb) = ACTS.iter().find(|(noun, _)| noun == word && ends(at))?;
            Some((at, *verb))
        });
        // "Book a service" is of nothing.
        let of_something = |at: usize| {
            let before = at.checked_sub(1).and_then(|before| self.rest.get(before));
            before.is_some_and(|before| before != "out" && !ARTICLES.contains(&before.as_str()))
                || matches!(self.rest.get(at + 1).map(String::as_str), Some("of" | "for"))
        };
        if let Some((at, verb)) = act.filter(|(at, _)| of_something(*at)) {
            self.said_with(verb, at, 1);
            // "Sort out the renewal of the lease".
            if self.rest.first().is_some_and(|word| word == "out") {
                self.rest.remove(0);
            }
        } else if unsaid && !self.rest.is_empty() {
            self.verb = self.rest.remove(0);
        }
    }

    /// "Get someone to fix the tap", "have somebody look at it": fix the tap.
    fn asks_somebody(&mut self) -> bool {
        let [who, rest @ ..] = self.rest.as_slice() else { return false };
        if !matches!(who.as_str(), "someone" | "somebody") {
            return false;
        }
        let verb = match rest {
            [to, verb, ..] if to == "to" => Some((verb.clone(), 3)),
            [verb, ..] if self.verb == "have" => Some((verb.clone(), 2)),
            _ => None,
        };
        verb.is_some_and(|(verb, count)| {
            self.said_with(&verb, 0, count);
            true
        })
    }

    /// "Get a new passport": renew it.
    fn gets_anew(&mut self) -> bool {
        let new = self
            .rest
            .windows(2)
            .position(|two| matches!(two, [new, paper] if new == "new" && PAPERS.contains(&paper.as_str())));
        let new = new.or_else(|| {
            let three = |three: &[String]| {
                matches!(three, [new, _, paper] if new == "new" && PAPERS.contains(&paper.as_str()))
            };
            self.rest.windows(3).position(three)
        });
        if let Some(at) = new {
            self.rest.remove(at);
        }
        new.is_some()
    }

    /// "Give the floor a good mop": mop the floor.
    fn given(&mut self) {
        let given = |word: &String| GIVEN.contains(&word.as_str());
        let Some(at) = self.rest.iter().rposition(given) else { return };
        let from = (0..at).rev().find(|from| self.rest.get(*from).is_some_and(|word| word == "a"));
        let Some(from) = from.filter(|from| at - from < 3) else { return };
        let verb = match self.rest.get(at).map(String::as_str) {
            Some("ring" | "shout" | "bell" | "buzz") => "call".to_owned(),
            other => other.unwrap_or_default().to_owned(),
        };
        self.said_with(&verb, from, at + 1 - from);
    }

    /// "Do the ironing": iron.
    fn done(&mut self) {
        let Some(verb) = self.rest.last().and_then(|last| base_of_gerund(last)) else { return };
        let before = self.rest.len() - 1;
        if self.rest.iter().take(before).all(|word| ARTICLES.contains(&word.as_str())) && is_task_verb(&verb)
        {
            self.said_with(&verb, before, 1);
        }
    }

    /// "Get the car washed", "get the boiler looked at": wash the car, look at the boiler. "Get the keys to Ben": bring them.
    fn done_by_others(&mut self) {
        let next = |at: usize| self.rest.get(at).map(String::as_str);
        let ends = |at: usize| next(at).is_none_or(|next| PREPOSITIONS.contains(&next));
        let done = (1..self.rest.len()).find_map(|at| {
            let verb = done_verb(next(at)?)?;
            let joined = next(at + 1).map(|particle| format!("{verb} {particle}"));
            match joined.filter(|joined| ends(at + 2) && !meanings_of(joined).is_empty()) {
                Some(joined) => Some((at, 2, joined)),
                None => ends(at + 1).then(|| (at, 1, verb.to_owned())),
            }
        });
        if let Some((at, count, verb)) = done {
            self.said_with(&verb, at, count);
        } else if self.verb == "get" && self.brings() {
            self.verb = "bring".to_owned();
        }
    }

    /// "Get the receipts to the accountant", and not "get Tom to sign".
    fn brings(&self) -> bool {
        let to = self.rest.iter().skip(1).position(|word| word == "to").map(|at| at + 2);
        to.and_then(|at| self.rest.get(at)).is_some_and(|whom| {
            matches!(whom.as_str(), "the" | "my" | "our" | "his" | "her" | "their" | "your")
                || self.names.contains(whom)
        })
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

#[cfg(test)]
mod tests {
    use super::super::tests::same_task;

    #[test]
    fn what_is_given_had_done_and_arranged_is_the_act_itself() {
        for (one, other) in [
            ("Give the stairs a good sweep", "Sweep the stairs"),
            ("Get somebody to mend the gate", "Mend the gate"),
            ("Book the piano repair", "Get the piano repaired"),
            ("Do the ironing", "Iron"),
            ("Get a new driving licence", "Renew the driving licence"),
            ("Collect the proofs on my way home", "Collect the proofs"),
            ("Lock the shed while they are away", "Lock the shed"),
            ("Buy a vacuum cleaner", "Buy a new hoover"),
            ("Send an invitation to the choir", "Invite the choir"),
            ("The hedge needs cutting", "Cut the hedge"),
            ("Invitations to be printed", "Print the invitations"),
            ("Passport renewal", "Renew the passport"),
            ("New batteries for the torch", "Replace the batteries in the torch"),
            ("Let Karim borrow the ladder", "Lend Karim the ladder"),
            ("Ring Ann re the lease, please", "Call Ann about the lease"),
            ("Take the bins out tonight", "Put the trash out this evening"),
        ] {
            assert!(same_task(one, other), "{one} / {other}");
        }
    }

    #[test]
    fn another_act_day_or_kind_is_another_task() {
        for (one, other) in [
            ("Give the stairs a good sweep", "Give the stairs a coat of paint"),
            ("Get somebody to mend the gate", "Get somebody to paint the gate"),
            ("Book the piano repair", "Cancel the piano repair"),
            ("Book a service", "Book a repair"),
            ("Get a new driving licence", "Cancel the driving licence"),
            ("Buy bread on my way home", "Buy rye bread on my way home"),
            ("Move the review to next week", "Move the review to the evening"),
            ("Move the review to next week", "Cancel the review"),
            ("Turn on the boiler", "Turn off the boiler"),
            ("Pay back the loan", "Pay in the loan"),
            ("Send an invitation to the choir", "Send an invoice to the choir"),
            ("Get a new phone", "Get the old phone"),
            ("The hedge needs cutting", "The hedge needs watering"),
            ("Passport renewal", "Passport collection"),
            ("New batteries for the torch", "New batteries for the clock"),
            ("Translate the menu into German", "Translate the menu from German"),
            ("Wash my football kit", "Wash your football kit"),
        ] {
            assert!(!same_task(one, other), "{one} / {other}");
        }
    }
}
