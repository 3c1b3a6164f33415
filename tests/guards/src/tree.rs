//! A copy of the workspace in its own target folder, of which single files say something else.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::Result;

/// Folders that no build reads.
const LEFT_OUT: [&str; 4] = ["target", ".git", "node_modules", ".listen"];

/// The copy.
pub(crate) struct Tree {
    from: PathBuf,
    to: PathBuf,
}

impl Tree {
    /// A copy of `from`, under its target folder.
    pub(crate) fn of(from: &Path) -> Self {
        Self { from: from.to_owned(), to: from.join("target/guards") }
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        &self.to
    }

    /// An empty folder among what the copy builds.
    pub(crate) fn scratch(&self, name: &str) -> Result<PathBuf> {
        let folder = self.to.join("target").join(name);
        let _none_there = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// The text of a file as it really is.
    pub(crate) fn read(&self, file: &str) -> Result<String> {
        Ok(std::fs::read_to_string(self.from.join(file)).map_err(|error| format!("{file}: {error}"))?)
    }

    /// Makes the copy like the original but for the files of `other`. What is right already is not touched, so that
    /// only what changed is built anew.
    pub(crate) fn set(&self, other: &BTreeMap<String, String>) -> Result<()> {
        let mut files = BTreeSet::new();
        list(&self.from, Path::new(""), &mut files)?;
        for file in &files {
            let name = file.to_string_lossy();
            let wanted = match other.get(name.as_ref()) {
                Some(text) => text.clone().into_bytes(),
                None => std::fs::read(self.from.join(file))?,
            };
            let to = self.to.join(file);
            if std::fs::read(&to).ok().as_ref() != Some(&wanted) {
                std::fs::create_dir_all(to.parent().ok_or("a file has a folder")?)?;
                std::fs::write(&to, wanted)?;
            }
        }
        let mut there = BTreeSet::new();
        list(&self.to, Path::new(""), &mut there)?;
        for file in there.difference(&files) {
            std::fs::remove_file(self.to.join(file))?;
        }
        Ok(())
    }
}

fn list(root: &Path, folder: &Path, files: &mut BTreeSet<PathBuf>) -> Result<()> {
    let Ok(entries) = root.join(folder).read_dir() else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() && !LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
            list(root, &path, files)?;
        } else if kind.is_file() && entry.file_name() != ".git" {
            files.insert(path);
        }
    }
    Ok(())
}
