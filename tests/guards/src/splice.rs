//! A source whose guards can be switched off while the program runs, so that one build serves them all.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::Result;
use crate::constant::{CHOICE, as_functions, chosen};
use crate::literal::literals;
use crate::table::Guard;

/// Which guard is off, for the process of a test.
pub(crate) const SWITCH: &str = "LISTEN_GUARD_OFF";

/// The file to which the process of a test writes which guards it came by, one name a line.
pub(crate) const REACHED: &str = "LISTEN_GUARDS_REACHED";

/// What a crate with switched guards has at the end of its root.
pub(crate) const READ_SWITCH: &str = r#"
/// The name of the guard that is off, for a place where there are `here`.
pub(crate) fn guard_off(here: &'static [&'static str]) -> &'static str {
    use std::{collections::BTreeSet, io::Write, sync::Mutex, sync::OnceLock};
    static OFF: OnceLock<String> = OnceLock::new();
    static REACHED: OnceLock<Option<(std::fs::File, Mutex<BTreeSet<&'static str>>)>> = OnceLock::new();
    let reached = REACHED.get_or_init(|| {
        let path = std::env::var_os("LISTEN_GUARDS_REACHED")?;
        let file = std::fs::File::options().create(true).append(true).open(path).ok()?;
        Some((file, Mutex::default()))
    });
    if let Some((file, told)) = reached {
        let mut told = told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let new: String = here.iter().filter(|name| told.insert(name)).map(|name| format!("{name}\n")).collect();
        let _best_effort = (&*file).write_all(new.as_bytes());
    }
    OFF.get_or_init(|| std::env::var("LISTEN_GUARD_OFF").unwrap_or_default())
}
"#;

/// The guards of one place, each with where its own text stands.
type Here<'a> = Vec<(&'a Guard, Range<usize>)>;

/// `text` without `guard`.
pub(crate) fn without(text: &str, guard: &Guard) -> Result<String> {
    let mut text = text.to_owned();
    let place = guard.place(&text)?;
    text.replace_range(place..place + guard.takes.len(), &guard.leaves);
    Ok(text)
}

/// `text` with `guards` that can be switched off. A guard within a string literal turns the literal into a choice of
/// literals; any other must be an expression, or a statement with its semicolon or braces.
pub(crate) fn switched(text: &str, guards: &[&Guard]) -> Result<String> {
    let literals = literals(text);
    let mut choices: BTreeMap<(usize, usize), Here<'_>> = BTreeMap::new();
    for guard in guards {
        let place = guard.place(text)?;
        let own = place..place + guard.takes.len();
        let around = literals.iter().find(|literal| literal.start < own.start && own.end < literal.end);
        let around = around.map(|literal| call_around(text, &literals, literal).unwrap_or(literal.clone()));
        let around = around.unwrap_or_else(|| own.clone());
        let is_part = ["if ", "."].iter().any(|start| guard.takes.starts_with(start))
            || ["&&", "||"].iter().any(|end| guard.takes.trim_end().ends_with(end));
        // What stands at a place of its own is the whole body of a function, whatever it begins with.
        if around == own && is_part && guard.at.is_none() && !guard.takes.ends_with('}') {
            return Err(format!("{}: a part of an expression cannot be chosen", guard.name).into());
        }
        if text[..around.start].ends_with("!(") {
            return Err(
                format!("{}: a macro's text cannot be chosen while a program runs", guard.name).into()
            );
        }
        choices.entry((around.start, around.end)).or_default().push((guard, own));
    }
    let (mut out, mut written) = (String::new(), 0);
    for ((start, end), guards) in choices {
        if written > start {
            return Err(format!("{}: it overlaps another guard", guards[0].0.name).into());
        }
        out.push_str(&text[written..start]);
        out.push_str(&choice(&text[start..end], start, &guards));
        written = end;
    }
    out.push_str(&text[written..]);
    let mut out = as_functions(&out);
    if let Some(name) = chosen(&out) {
        return Err(format!("{name}: this constant's text cannot be chosen while a program runs").into());
    }
    let rewrites: BTreeSet<&(String, String)> = guards.iter().flat_map(|guard| &guard.rewrites).collect();
    for (said, instead) in rewrites {
        out = out.replace(said, instead);
    }
    Ok(out)
}

/// Macros that take nothing but literals; the last one is the product's own.
const OF_LITERALS: [&str; 3] = ["format!(", "concat!(", "for_each!("];

/// The macro that a literal stands in, where it takes nothing but literals: it is chosen as a whole.
fn call_around(text: &str, literals: &[Range<usize>], literal: &Range<usize>) -> Option<Range<usize>> {
    let calls = OF_LITERALS.map(|call| text[..literal.start].rfind(call));
    let start = calls.into_iter().flatten().max()?;
    let mut depth = 0;
    for (place, character) in
        text[start..].char_indices().map(|(place, character)| (start + place, character))
    {
        let is_said = literals.iter().any(|literal| literal.contains(&place));
        depth += match character {
            '(' if !is_said => 1,
            ')' if !is_said => -1,
            _ => continue,
        };
        if depth == 0 {
            return (place > literal.start).then_some(start..place + 1);
        }
    }
    None
}

/// The text of one place, as a choice of what stands there.
fn choice(whole: &str, start: usize, guards: &[(&Guard, Range<usize>)]) -> String {
    let is_statement = whole.ends_with(';') || whole.ends_with('}');
    let mut arms = String::new();
    for (guard, own) in guards {
        let mut other = whole.to_owned();
        other.replace_range(own.start - start..own.end - start, &guard.leaves);
        arms.push_str(&format!("{:?} => {{ {other} }} ", guard.name));
    }
    let here: Vec<&str> = guards.iter().map(|(guard, _)| guard.name.as_str()).collect();
    let choice = format!("{CHOICE}&{here:?}) {{ {arms}_ => {{ {whole} }} }}");
    if is_statement { choice } else { format!("({choice})") }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod checks {
    use super::*;

    fn guard(name: &str, takes: &str, leaves: &str) -> Guard {
        Guard {
            name: name.into(),
            file: "f".into(),
            after: None,
            at: None,
            takes: takes.into(),
            leaves: leaves.into(),
            tests: Vec::new(),
            alone: false,
            rewrites: Vec::new(),
            equivalent: None,
        }
    }

    #[test]
    fn a_literal_becomes_a_choice_and_an_expression_too() {
        let (epoch, user) = (guard("epoch", " and e = 1", ""), guard("user", "u = 2", "true"));
        let check = guard("check", "now < due", "false");
        let text = r#"if now < due { query("where u = 2 and e = 1") }"#;
        let switched = switched(text, &[&epoch, &user, &check]).unwrap();
        assert_eq!(
            switched,
            r#"if (match crate::guard_off(&["check"]) { "check" => { false } _ => { now < due } }) { query((match crate::guard_off(&["epoch", "user"]) { "epoch" => { "where u = 2" } "user" => { "where true and e = 1" } _ => { "where u = 2 and e = 1" } })) }"#
        );
        assert_eq!(without(text, &epoch).unwrap(), r#"if now < due { query("where u = 2") }"#);
    }

    #[test]
    fn what_a_macro_must_read_itself_is_not_made_a_choice() {
        let user = guard("user", "u = ", "v = ");
        assert!(switched(r#"push(format_args!("u = {}", user))"#, &[&user]).is_err());
        assert!(switched(r#"push(format!("u = {user}"))"#, &[&user]).is_ok(), "these are chosen whole");
    }

    #[test]
    fn a_constant_that_is_chosen_is_a_function() {
        let user = guard("user", "u = 2", "true");
        let text = "use a;\nconst ALL: &str = \"u = 2\";\nfn f() { g(ALL) }\n";
        let switched = switched(text, &[&user]).unwrap();
        assert!(switched.contains("fn ALL() -> &'static str { (match crate::guard_off("), "{switched}");
        assert!(switched.contains("g(ALL())"), "{switched}");
    }

    #[test]
    fn a_constant_that_others_see_is_not_made_a_choice() {
        let user = guard("user", "u = 2", "true");
        assert!(switched("use a;\npub(crate) const ALL: &str = \"u = 2\";\n", &[&user]).is_err());
        assert!(switched("use a;\npub(crate) const ALL: [&str; 1] = [\"u = 2\"];\n", &[&user]).is_err());
        assert!(
            switched("use a;\nconst ALL: &str =\n    \"u = 2\";\n", &[&user]).is_err(),
            "a line of its own"
        );
        assert!(
            switched("use a;\nconst ALL: &str =\n    \"v\";\nfn f() { let u = \"u = 2\"; }", &[&user])
                .is_ok()
        );
    }

    #[test]
    fn a_part_of_an_expression_is_not_made_a_choice() {
        let text = "if due { query.push(1).push(2) } else if now && then {}";
        for part in ["if due", ".push(1)", "now &&"] {
            assert!(switched(text, &[&guard("part", part, "")]).is_err(), "{part}");
        }
        assert!(switched(text, &[&guard("whole", "due", "true")]).is_ok());
    }

    #[test]
    fn a_body_that_begins_with_a_condition_is_chosen_as_a_whole() {
        let text = "fn f() -> u8 { if now { return 1; } 2 }";
        let body = Guard {
            at: text.find("if now"),
            ..guard("body", "if now { return 1; } 2", "if !now { return 1; } 2")
        };
        let chosen = switched(text, &[&body]);
        assert!(chosen.is_ok_and(|text| text.contains("\"body\" => { if !now { return 1; } 2 }")));
    }

    #[test]
    fn a_rewrite_says_something_else_in_the_copy() {
        let rewrites = vec![("q: \"".to_owned(), "q: || \"".to_owned()), ("q: (".into(), "q: || (".into())];
        let user = Guard { rewrites, ..guard("user", "u = 2", "true") };
        assert_eq!(
            switched(r#"A { q: "u" }, A { q: "u = 2" }"#, &[&user]).unwrap(),
            r#"A { q: || "u" }, A { q: || (match crate::guard_off(&["user"]) { "user" => { "true" } _ => { "u = 2" } }) }"#
        );
    }

    #[test]
    fn a_call_that_takes_literals_is_chosen_as_a_whole() {
        let user = guard("user", "u = 2", "true");
        assert_eq!(
            switched(r#"f(format!("(where u = 2 {C}")); g("u")"#, &[&user]).unwrap(),
            r#"f((match crate::guard_off(&["user"]) { "user" => { format!("(where true {C}") } _ => { format!("(where u = 2 {C}") } })); g("u")"#
        );
        assert_eq!(
            switched(r#"f(concat!("a", c!())); g("u = 2")"#, &[&user]).unwrap(),
            r#"f(concat!("a", c!())); g((match crate::guard_off(&["user"]) { "user" => { "true" } _ => { "u = 2" } }))"#
        );
    }

    #[test]
    fn a_text_that_is_not_there_or_twice_is_an_error() {
        assert!(without("a b", &guard("g", "c", "")).is_err());
        assert!(without("a a", &guard("g", "a", "")).is_err());
        let anchored = Guard { after: Some("f2".into()), ..guard("g", "a", "x") };
        assert_eq!(without("f1 a f2 a a", &anchored).unwrap(), "f1 a f2 x a");
    }

    #[test]
    fn the_switch_has_one_name() {
        assert!(READ_SWITCH.contains(SWITCH) && READ_SWITCH.contains(REACHED));
    }
}
