//! The notice for users whose language the rules do not know. An empty list of tasks looks like an answer, and no
//! field of a conversation says otherwise; so the overview does, in the language of the talk.

use super::capitals;
use super::language::Language;

/// In the languages that are read by their words; in any other, English.
const NOTICES: &[(&str, &str)] = &[
    ("de", "Aufgaben, Termine und Merkenswertes wurden in dieser Sprache nicht gesucht."),
    ("es", "En este idioma no se han buscado tareas, citas ni datos que recordar."),
    ("fr", "Les tâches, les rendez-vous et les faits à retenir n'ont pas été cherchés dans cette langue."),
    ("it", "In questa lingua non sono stati cercati compiti, appuntamenti e fatti da ricordare."),
    ("pt", "Neste idioma não foram procuradas tarefas, compromissos nem factos a recordar."),
    ("nl", "Taken, afspraken en weetjes zijn in deze taal niet gezocht."),
    ("sv", "Uppgifter, möten och fakta att minnas har inte sökts på detta språk."),
    ("da", "Opgaver, aftaler og ting at huske er ikke fundet frem på dette sprog."),
    ("no", "Oppgaver, avtaler og ting å huske er ikke lett etter på dette språket."),
];
const OTHERWISE: &str = "Action items, events and memories were not looked for in this language.";

/// `overview` as a person is to read it: of a talk that was not read for items, with a paragraph that says so.
pub(super) fn said_in(language: Language, overview: String) -> String {
    if language.is_english() {
        return capitals::restored(&overview).into_owned();
    }
    if overview.is_empty() {
        return overview;
    }
    format!("{overview}\n\n{}", notice(language))
}

fn notice(language: Language) -> &'static str {
    let known = NOTICES.iter().find(|(code, _)| Some(*code) == language.code());
    known.map_or(OTHERWISE, |(_, notice)| notice)
}

#[cfg(test)]
mod tests {
    use super::super::tests::talk;
    use super::*;

    fn notice(code: &str) -> String {
        let mut said = talk("…");
        said.language = code.to_owned();
        said_in(Language::of(&said), "Es regnet.".to_owned())
    }

    #[test]
    fn a_person_is_told_in_the_language_of_the_talk_what_was_not_looked_for() {
        assert!(
            notice("de")
                .ends_with("\n\nAufgaben, Termine und Merkenswertes wurden in dieser Sprache nicht gesucht.")
        );
        assert!(notice("es").contains("no se han buscado tareas"));
        assert!(notice("xx").ends_with(OTHERWISE));
        assert_eq!(notice("en"), "Es regnet.");
    }
}
