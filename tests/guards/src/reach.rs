//! Which tests come by which guards. A test that never comes to where a guard stands says the same without it, and need not
//! be asked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};

use crate::Result;
use crate::run::Kit;
use crate::tests::{self, Built, Program};

/// So many tests are asked first, of those that come by a guard: the ones that come by the fewest others.
const NEAREST: usize = 12;

/// What each test does with every guard in place.
pub(crate) struct Reach {
    /// The tests of the whole programs.
    traced: BTreeMap<Program, BTreeMap<String, Trace>>,
    /// Which of them each program runs.
    names: BTreeMap<Program, BTreeSet<String>>,
}

struct Trace {
    /// The guards that it comes by. `None`: it did not pass by itself, and may come by any.
    by: Option<BTreeSet<String>>,
    lasts: Duration,
}

impl Reach {
    /// Runs each test of `programs` by itself; what they come by is written in `folder`.
    pub(crate) async fn of(built: &Built, programs: &[Program], folder: &Path, kit: &Kit) -> Result<Self> {
        let wholes: BTreeSet<Program> = programs.iter().map(Program::whole).collect();
        let mut traced = BTreeMap::new();
        for whole in wholes {
            let names = tests::names(built, &whole).await?;
            println!("{} tests of {whole} are asked which guards they come by", names.len());
            let traces = names.into_iter().enumerate().map(|(number, name)| {
                let (one, file) = (whole.exactly([name.as_str()]), folder.join(number.to_string()));
                async move {
                    let begun = Instant::now();
                    let passed = tests::trace(built, &one, &file, kit.limit).await?;
                    let lasts = begun.elapsed();
                    let by: BTreeSet<String> = match std::fs::read_to_string(&file) {
                        Ok(said) => said.lines().map(str::to_owned).collect(),
                        Err(_it_came_by_none) => BTreeSet::new(),
                    };
                    let _none_there = std::fs::remove_file(&file);
                    crate::Result::Ok((name, Trace { by: passed.then_some(by), lasts }))
                }
            });
            let traces = stream::iter(traces).buffer_unordered(kit.at_once).try_collect().await?;
            traced.insert(whole, traces);
        }
        let mut names = BTreeMap::new();
        for program in programs {
            names.insert(program.clone(), tests::names(built, program).await?);
        }
        Ok(Self { traced, names })
    }

    /// Of `programs`, the tests that come by `guard`, each once and the nearest first, with how long they may take.
    pub(crate) fn narrowed(&self, programs: &[Program], guard: &str) -> Result<Vec<(Program, Duration)>> {
        let mut narrowed = Vec::new();
        let mut asked = BTreeSet::new();
        for program in programs {
            let whole = program.whole();
            let (Some(traced), Some(names)) = (self.traced.get(&whole), self.names.get(program)) else {
                return Err(format!("{program} was not traced").into());
            };
            let mut near: Vec<(usize, &str, Duration)> = traced
                .iter()
                .filter(|(name, _)| names.contains(name.as_str()))
                .filter_map(|(name, trace)| match &trace.by {
                    Some(by) => by.contains(guard).then_some((by.len(), name.as_str(), trace.lasts)),
                    None => Some((usize::MAX, name.as_str(), trace.lasts)),
                })
                .filter(|(_, name, _)| asked.insert((whole.clone(), *name)))
                .collect();
            near.sort_unstable();
            let (nearest, others) = near.split_at(near.len().min(NEAREST));
            for tests in [nearest, others].into_iter().filter(|tests| !tests.is_empty()) {
                let lasts: Duration = tests.iter().map(|(_, _, lasts)| *lasts).sum();
                narrowed.push((program.exactly(tests.iter().map(|(_, name, _)| *name)), patience(lasts)));
            }
        }
        Ok(narrowed)
    }
}

/// How long tests may take that took so long one after the other. They run side by side, but other guards are tried, too.
fn patience(lasts: Duration) -> Duration {
    Duration::from_secs(30) + 2 * lasts
}
