//! The tables: which guards there are, and which tests are to notice.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use crate::Result;

/// A guard and what is left of it when it is off.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// Its name, the same in the whole kit.
    pub(crate) name: String,
    /// The source file, from the root of the workspace.
    pub(crate) file: String,
    /// A text that stands once in the file, before the guard; without one, the guard's own text stands there once.
    pub(crate) after: Option<String>,
    /// Where it stands, when that is known.
    pub(crate) at: Option<usize>,
    /// What is taken out.
    pub(crate) takes: String,
    /// What is put there instead.
    pub(crate) leaves: String,
    /// The test programs that are asked, in this order: a package, a target, and arguments.
    pub(crate) tests: Vec<String>,
    /// It stands where nothing can be switched while the program runs (a constant, a macro's literal, a migration), and
    /// has a build of its own.
    pub(crate) alone: bool,
    /// What else its file says in the copy, so that it can be switched: (text, what stands there instead), everywhere.
    pub(crate) rewrites: Vec<(String, String)>,
    /// Why no test can notice: the proof that the product does the same without it.
    pub(crate) equivalent: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    file: String,
    tests: Vec<String>,
    #[serde(default)]
    rewrites: Vec<(String, String)>,
    guard: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    after: Option<String>,
    takes: String,
    #[serde(default)]
    leaves: String,
    tests: Option<Vec<String>>,
    #[serde(default)]
    alone: bool,
    equivalent: Option<String>,
}

impl Guard {
    /// Whether one of `names` is part of its name or of its file; everybody is asked for when nobody is named.
    pub(crate) fn is_asked_for(&self, names: &[String]) -> bool {
        names.is_empty()
            || names.iter().any(|name| self.name.contains(name.as_str()) || self.file.contains(name.as_str()))
    }

    /// The same, of which only the first test program is asked.
    pub(crate) fn asking_the_first(mut self) -> Self {
        self.tests.truncate(1);
        self
    }

    /// Where the guard stands in the text of its file.
    pub(crate) fn place(&self, text: &str) -> Result<usize> {
        if let Some(place) = self.at {
            return Ok(place);
        }
        let Some(anchor) = &self.after else {
            let places = text.matches(self.takes.as_str()).count();
            if places != 1 {
                return Err(format!("{}: its text stands {places} times in {}", self.name, self.file).into());
            }
            return Ok(text.find(&self.takes).ok_or("it was counted")?);
        };
        let places = text.matches(anchor.as_str()).count();
        if places != 1 {
            return Err(
                format!("{}: what stands before it is in {} {places} times", self.name, self.file).into()
            );
        }
        let begin = text.find(anchor.as_str()).ok_or("it was counted")?;
        let place = text[begin..].find(&self.takes);
        Ok(begin + place.ok_or_else(|| format!("{}: its text is not in {}", self.name, self.file))?)
    }
}

/// All guards of a folder's tables, in the order of their names.
pub(crate) fn read(folder: &Path) -> Result<Vec<Guard>> {
    let mut guards = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        let text = std::fs::read_to_string(&path)?;
        let table: Table = toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let Table { file, tests, rewrites, guard } = table;
        guards.extend(guard.into_iter().map(|(name, entry)| Guard {
            name,
            file: file.clone(),
            after: entry.after,
            at: None,
            takes: entry.takes,
            leaves: entry.leaves,
            tests: entry.tests.unwrap_or_else(|| tests.clone()),
            alone: entry.alone,
            rewrites: rewrites.clone(),
            equivalent: entry.equivalent,
        }));
    }
    guards.sort_by(|one, other| one.name.cmp(&other.name));
    let names: BTreeSet<&str> = guards.iter().map(|guard| guard.name.as_str()).collect();
    if names.len() < guards.len() {
        return Err("two guards have one name".into());
    }
    Ok(guards)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod checks {
    use super::*;

    #[test]
    fn every_guard_of_the_tables_stands_in_the_source() {
        let root = crate::workspace().unwrap();
        let guards = read(&root.join("tests/guards/table")).unwrap();
        assert!(guards.len() > 100, "the tables were found");
        for guard in &guards {
            let text = std::fs::read_to_string(root.join(&guard.file)).unwrap();
            guard.place(&text).unwrap();
            assert_ne!(guard.takes, guard.leaves, "{}", guard.name);
            assert!(!guard.tests.is_empty(), "{} names tests", guard.name);
        }
    }

    #[test]
    fn every_file_of_guards_can_be_switched() {
        let root = crate::workspace().unwrap();
        let guards = read(&root.join("tests/guards/table")).unwrap();
        let files: BTreeSet<&str> = guards.iter().map(|guard| guard.file.as_str()).collect();
        for file in files {
            let text = std::fs::read_to_string(root.join(file)).unwrap();
            let here: Vec<&Guard> =
                guards.iter().filter(|guard| guard.file == file && !guard.alone).collect();
            crate::splice::switched(&text, &here).unwrap();
        }
    }
}
