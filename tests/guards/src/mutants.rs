//! Mutants that cargo-mutants thought of (`cargo mutants --list --json`), tried as guards are: all of one build, each
//! switched on for the tests alone. A mutant that would cost a build of minutes costs what its tests take.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::Result;
use crate::table::Guard;

/// The test programs of packages, besides their unit tests; of some packages the quick ones first.
const PROGRAMS: [(&str, &[&str]); 10] = [
    ("api", &["answers"]),
    ("embedded", &["cluster"]),
    ("engines", &["corpus", "dates", "hostile", "openai", "pool", "same_tasks"]),
    ("job", &["edges", "properties", "simulation", "model"]),
    ("ledger", &["jobs", "resources", "crash"]),
    ("outside", &["sender"]),
    ("records", &[]),
    ("reconciler", &["pass", "replays", "watch"]),
    ("stages", &["rules", "interruptions", "durability"]),
    ("worker", &["it"]),
];

fn programs_of(package: &str) -> Option<&'static [&'static str]> {
    PROGRAMS.iter().find(|(name, _)| *name == package).map(|(_, programs)| *programs)
}

/// Which mutants.
#[derive(clap::Args)]
pub(crate) struct Which {
    /// Tries mutants of this list, as `cargo mutants --list --json` writes it, instead of the guards of the tables.
    #[arg(long)]
    pub(crate) mutants: Option<PathBuf>,
    /// How many of them.
    #[arg(long, default_value_t = 100)]
    sample: usize,
    /// Draws other ones.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Deserialize)]
struct Mutant {
    name: String,
    package: String,
    file: String,
    function: Option<Function>,
    span: Span,
    replacement: String,
}

#[derive(Deserialize)]
struct Function {
    return_type: String,
    span: Span,
}

#[derive(Clone, Copy, Deserialize)]
struct Span {
    start: Place,
    end: Place,
}

/// A place in a text: both count from one.
#[derive(Clone, Copy, Deserialize)]
struct Place {
    line: usize,
    column: usize,
}

impl Which {
    /// A sample of the mutants of `list`, as guards: the function's body is the guard, and what is left of it the body with
    /// the mutant. `guards` say which tests are asked first about a file; a survivor survived all of its package's.
    pub(crate) fn sampled(
        &self,
        root: &Path,
        list: &Path,
        guards: &[Guard],
        names: &[String],
    ) -> Result<Vec<Guard>> {
        let mutants: Vec<Mutant> = serde_json::from_str(&std::fs::read_to_string(list)?)?;
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        let mut tried = Vec::new();
        for mutant in &mutants {
            if programs_of(&mutant.package).is_none() {
                return Err(format!("the kit does not know the test programs of {}", mutant.package).into());
            }
            if !texts.contains_key(&mutant.file) {
                texts.insert(mutant.file.clone(), std::fs::read_to_string(root.join(&mutant.file))?);
            }
            tried
                .extend(mutant.guard(&texts[&mutant.file], guards).filter(|guard| guard.is_asked_for(names)));
        }
        println!("{} mutants, {} of them where a program can choose", mutants.len(), tried.len());
        tried.sort_by_key(|guard| draw(self.seed, &guard.name));
        // In the order they are drawn: a run that is cut off has tried a sample, too.
        tried.truncate(self.sample);
        Ok(tried)
    }
}

impl Mutant {
    /// `None`: it stands where nothing can be chosen while the program runs, or in a function whose type is that of its body,
    /// of which there is one.
    fn guard(&self, text: &str, guards: &[Guard]) -> Option<Guard> {
        let function = self.function.as_ref().filter(|function| !function.return_type.contains("impl "))?;
        let (begin, end) = (function.span.start.offset(text)?, function.span.end.offset(text)?);
        let (own, own_end) = (self.span.start.offset(text)?, self.span.end.offset(text)?);
        let body = begin + body(&text[begin..end])?;
        if text[begin..body].contains("const fn ") {
            return None;
        }
        let whole = text[body..end - 1].trim_end();
        let mut leaves = whole.to_owned();
        leaves.replace_range(own.checked_sub(body)?..own_end.checked_sub(body)?, &self.replacement);
        Some(Guard {
            name: self.name.clone(),
            file: self.file.clone(),
            after: None,
            at: Some(body),
            takes: whole.to_owned(),
            leaves,
            tests: self.tests(guards),
            alone: false,
            rewrites: Vec::new(),
            equivalent: None,
        })
    }

    /// Unit tests first, then what the file's table says, then everything.
    fn tests(&self, guards: &[Guard]) -> Vec<String> {
        let own = guards.iter().find(|guard| guard.file == self.file);
        let named = own.into_iter().flat_map(|guard| guard.tests.iter().cloned());
        let first = std::iter::once(format!("{} lib", self.package));
        let mut tests: Vec<String> = first.chain(named.filter(|words| !words.contains("--skip"))).collect();
        let targets = programs_of(&self.package).unwrap_or_default();
        tests.extend(targets.iter().map(|target| format!("{} {target}", self.package)));
        let mut once = BTreeSet::new();
        tests.retain(|words| once.insert(words.clone()));
        tests
    }
}

impl Place {
    fn offset(self, text: &str) -> Option<usize> {
        let begin: usize = text.split_inclusive('\n').take(self.line - 1).map(str::len).sum();
        let column = text[begin..].char_indices().nth(self.column - 1).map(|(place, _)| place);
        Some(begin + column?)
    }
}

/// Where the first word of a function's body stands in its text: behind the brace that follows its signature.
fn body(function: &str) -> Option<usize> {
    let is_told = |line: &str| {
        let line = line.trim_start();
        line.starts_with("//") || line.starts_with("#[")
    };
    let lines = function.split_inclusive('\n');
    let told: usize = lines.take_while(|line| is_told(line)).map(str::len).sum();
    let open = told + function[told..].find('{')? + 1;
    Some(open + function[open..].find(|character: char| !character.is_whitespace())?)
}

/// The mutant, of those in `text`, that does not compile: the last one whose copy begins before a place that the compiler
/// complains of.
pub(crate) fn complained_of<'a>(
    said: &str,
    texts: &BTreeMap<String, String>,
    tried: &[&'a Guard],
) -> Vec<&'a Guard> {
    let mut found = Vec::new();
    let complaints = said.split("\nerror").filter_map(|complaint| complaint.split_once("--> "));
    for (_, place) in complaints {
        let mut words = place.split([':', '\n', ' ']);
        let (Some(file), Some(line), Some(column)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let (Ok(line), Ok(column), Some(text)) = (line.parse(), column.parse(), texts.get(file)) else {
            continue;
        };
        let Some(end) = (Place { line, column }).offset(text) else { continue };
        let begins = |guard: &&&Guard| text[..end].rfind(&format!("{:?} => {{", guard.name));
        let here = tried.iter().filter(|guard| guard.file == file && begins(guard).is_some());
        found.extend(here.max_by_key(begins).copied());
    }
    found
}

fn draw(seed: u64, name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, name).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod checks {
    use super::*;

    const TEXT: &str = "/// Says {so}.\nfn f(a: i32) -> bool {\n    a > 1\n}\n";

    fn mutant(replacement: &str, start: (usize, usize), end: (usize, usize)) -> Mutant {
        let place = |(line, column)| Place { line, column };
        let all = Span { start: place((1, 1)), end: place((4, 2)) };
        Mutant {
            name: replacement.into(),
            package: "ledger".into(),
            file: "f.rs".into(),
            function: Some(Function { return_type: "-> bool".into(), span: all }),
            span: Span { start: place(start), end: place(end) },
            replacement: replacement.into(),
        }
    }

    #[test]
    fn a_mutant_is_the_body_of_its_function_with_one_change() {
        let greater = mutant(">=", (3, 7), (3, 8)).guard(TEXT, &[]).unwrap();
        let always = mutant("true", (3, 5), (3, 10)).guard(TEXT, &[]).unwrap();
        assert_eq!((greater.takes.as_str(), greater.leaves.as_str()), ("a > 1", "a >= 1"));
        let switched = crate::splice::switched(TEXT, &[&greater, &always]).unwrap();
        assert!(
            switched.contains(r#"{ ">=" => { a >= 1 } "true" => { true } _ => { a > 1 } })"#),
            "{switched}"
        );
    }

    #[test]
    fn every_test_program_of_a_package_is_asked() {
        let root = crate::workspace().unwrap();
        for (package, programs) in PROGRAMS {
            let folders = [root.join(package), root.join("pipeline").join(package)];
            let folder = folders.iter().find(|folder| folder.is_dir()).unwrap().join("tests");
            let entries = folder.read_dir().into_iter().flatten().map(|entry| entry.unwrap().path());
            let programs_there = entries.filter(|path| path.is_file() || path.join("main.rs").is_file());
            let there: BTreeSet<String> =
                programs_there.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
            assert_eq!(there, programs.iter().map(|name| (*name).to_owned()).collect(), "{package}");
        }
    }

    #[test]
    fn the_compiler_says_which_mutant_it_refuses() {
        let text = "fn f() {\n match off() { \"one\" => { 1 } \"two\" => { 2 } _ => {} }";
        let texts = BTreeMap::from([("f.rs".to_owned(), text.to_owned())]);
        let (one, two) = (mutant("one", (3, 5), (3, 10)), mutant("two", (3, 5), (3, 10)));
        let (one, two) = (one.guard(TEXT, &[]).unwrap(), two.guard(TEXT, &[]).unwrap());
        let names = |place: &str| -> Vec<String> {
            let said = format!("\nerror[E0308]: mismatched types\n --> f.rs:{place}\n  |\n");
            complained_of(&said, &texts, &[&one, &two]).iter().map(|guard| guard.name.clone()).collect()
        };
        assert_eq!(names("2:27"), ["one"]);
        assert_eq!(names("2:42"), ["two"]);
        assert!(names("1:1").is_empty());
    }
}
