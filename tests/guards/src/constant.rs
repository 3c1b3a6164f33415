//! Texts in constants: a constant has no choice while the program runs, so that those of a copy become functions.

use std::ops::Range;

use crate::literal::literals;

/// How the constants begin that can be functions: private ones, outside of any function.
const BEGINS: &str = "\nconst ";

/// `text` with its constants that a macro makes, or a choice, as functions of the same name. A constant that is captured
/// by a format stays as it is.
pub(crate) fn as_functions(text: &str) -> String {
    let mut text = text.to_owned();
    for name in names(&text) {
        text = as_function(&text, &name);
    }
    text
}

/// A constant of texts that holds a choice all the same: the compiler would refuse it.
pub(crate) fn chosen(text: &str) -> Option<&str> {
    let literals = literals(text);
    text.match_indices("const ").find_map(|(place, word)| {
        let begin = place + word.len();
        let (head, _) = text[begin..].split_once('=')?;
        let (name, kind) = head.split_once(':')?;
        let made = &text[begin..end(text, &literals, begin + head.len())?];
        (is_constant(name) && kind.contains("&str") && made.contains(CHOICE)).then_some(name)
    })
}

/// What every choice begins with.
pub(crate) const CHOICE: &str = "match crate::guard_off(";

fn is_constant(name: &str) -> bool {
    name.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_')
}

/// The constants that can be functions, and need be.
fn names(text: &str) -> Vec<String> {
    let literals = literals(text);
    let begins = text.match_indices(BEGINS).map(|(place, _)| place + BEGINS.len());
    let found = begins.filter_map(|begin| {
        let (name, _) = text[begin..].split_once(": &str = ")?;
        let made = &text[begin..end(text, &literals, begin)?];
        let is_chosen = is_constant(name)
            && (made.contains(CHOICE) || made.contains("!("))
            && !text.contains(&format!("{{{name}"));
        is_chosen.then(|| name.to_owned())
    });
    found.collect()
}

fn as_function(text: &str, name: &str) -> String {
    let (literals, head) = (literals(text), format!("{BEGINS}{name}: &str = "));
    let Some(begin) = text.find(&head) else { return text.to_owned() };
    let Some(end) = end(text, &literals, begin + head.len()) else { return text.to_owned() };
    let made = text[begin + head.len()..end].to_owned();
    let function = format!("\n#[allow(non_snake_case)]\nfn {name}() -> &'static str {{ {made} }}");
    let (before, after) = (called(&text[..begin], name), called(&text[end + 1..], name));
    format!("{before}{function}{after}")
}

/// Where the semicolon behind `begin` stands that ends a constant.
fn end(text: &str, literals: &[Range<usize>], begin: usize) -> Option<usize> {
    let ends = text[begin..].match_indices(';').map(|(place, _)| begin + place);
    ends.into_iter().find(|place| !literals.iter().any(|literal| literal.contains(place)))
}

/// `text` with `name` called wherever it is said as a whole word, but in literals.
fn called(text: &str, name: &str) -> String {
    let literals = literals(text);
    let is_word = |letter: Option<char>| letter.is_some_and(|it| it.is_ascii_alphanumeric() || it == '_');
    let (mut out, mut written) = (String::new(), 0);
    for (place, _) in text.match_indices(name) {
        let end = place + name.len();
        let is_whole = !is_word(text[..place].chars().next_back()) && !is_word(text[end..].chars().next());
        if is_whole && !literals.iter().any(|literal| literal.contains(&place)) {
            out.push_str(&text[written..end]);
            out.push_str("()");
            written = end;
        }
    }
    out + &text[written..]
}

#[cfg(test)]
mod checks {
    use super::as_functions;

    #[test]
    fn a_constant_that_a_macro_makes_is_called_and_others_stay() {
        let source = "use a;\nconst ALL: &str = each!(\"a; ALL\");\nconst WHY: &str = \"because\";\n\
            fn f() { g(if a { ALL } else { SMALL }, WHY) }\n";
        assert_eq!(
            as_functions(source),
            "use a;\n#[allow(non_snake_case)]\nfn ALL() -> &'static str { each!(\"a; ALL\") }\n\
             const WHY: &str = \"because\";\nfn f() { g(if a { ALL() } else { SMALL }, WHY) }\n"
        );
    }

    #[test]
    fn a_constant_that_a_format_captures_stays() {
        let source = "use a;\nconst ALL: &str = each!(\"a\");\nfn f() { g(format!(\"select {ALL}\")) }\n";
        assert_eq!(as_functions(source), source);
    }
}
