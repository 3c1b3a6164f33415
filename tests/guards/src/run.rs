//! One guard after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};

use crate::reach::Reach;
use crate::splice::{self, READ_SWITCH, SWITCH};
use crate::table::Guard;
use crate::tests::{self, Built, Program, Said};
use crate::tree::Tree;
use crate::{Result, mutants};

/// What became of the guards.
#[derive(Default)]
struct Tally {
    caught: u32,
    survived: Vec<String>,
    unclear: Vec<String>,
    unbuildable: Vec<String>,
    equivalent: u32,
    unviable: usize,
}

/// Tries `guards`: those that can be switched in one build, then the others in builds of their own.
pub(crate) async fn all(root: &Path, guards: &[Guard], how: &How) -> Result<ExitCode> {
    let kit = Kit {
        tree: Tree::of(root),
        limit: Duration::from_secs(how.limit),
        at_once: how.at_once.max(1),
        reached: how.reached,
    };
    let mut tally = Tally::default();
    let (tried, left): (Vec<&Guard>, Vec<&Guard>) =
        guards.iter().partition(|guard| how.all || guard.equivalent.is_none());
    tally.equivalent = u32::try_from(left.len()).unwrap_or(u32::MAX);
    let (alone, together): (Vec<&Guard>, Vec<&Guard>) = tried.into_iter().partition(|guard| guard.alone);
    kit.together(&together, &mut tally).await?;
    for guard in alone {
        kit.alone(guard, &mut tally).await?;
    }
    Ok(tally.say())
}

/// Whether a copy compiles in which all of `guards` can be switched off that one build serves.
pub(crate) async fn check(root: &Path, guards: &[Guard]) -> Result<ExitCode> {
    let (tree, guards) = copied(root, guards)?;
    tests::check(tree.folder(), &programs(&guards)?).await?;
    println!("{} guards can be switched off", guards.len());
    Ok(ExitCode::SUCCESS)
}

/// Builds the service in a copy in which all of `guards` can be switched off that one build serves, and says where it is.
pub(crate) async fn service(root: &Path, guards: &[Guard]) -> Result<ExitCode> {
    let (tree, guards) = copied(root, guards)?;
    let program = tests::build_service(tree.folder()).await?;
    println!("{}", program.display());
    eprintln!("{} guards can be switched off in it, one at a time: {SWITCH}=(name)", guards.len());
    Ok(ExitCode::SUCCESS)
}

/// A copy in which all of `guards` can be switched off that one build serves, and those.
fn copied<'a>(root: &Path, guards: &'a [Guard]) -> Result<(Tree, Vec<&'a Guard>)> {
    let tree = Tree::of(root);
    let guards: Vec<&Guard> = guards.iter().filter(|guard| !guard.alone).collect();
    tree.set(&switched(&tree, &guards)?)?;
    Ok((tree, guards))
}

/// How guards are tried.
#[derive(clap::Args)]
pub(crate) struct How {
    /// Tries also those that are declared equivalent.
    #[arg(long)]
    all: bool,
    /// Seconds after which a test program that does not end counts as failed.
    #[arg(long, default_value_t = 600)]
    limit: u64,
    /// Guards that are tried at once, where one build serves them.
    #[arg(long, default_value_t = 2)]
    at_once: usize,
    /// First runs each test by itself to see which guards it comes by, and asks no other tests about a guard. Takes some
    /// minutes, and saves more where many guards are tried.
    #[arg(long)]
    reached: bool,
}

pub(crate) struct Kit {
    tree: Tree,
    pub(crate) limit: Duration,
    pub(crate) at_once: usize,
    reached: bool,
}

impl Kit {
    async fn together(&self, guards: &[&Guard], tally: &mut Tally) -> Result<()> {
        if guards.is_empty() {
            return Ok(());
        }
        let (guards, built) = self.built_together(guards, tally).await?;
        let reach = match self.reached {
            true => Some(Reach::of(&built, &programs(&guards)?, &self.tree.scratch("reached")?, self).await?),
            false => None,
        };
        let tries = guards.iter().map(|guard| self.try_one(guard, &built, reach.as_ref()));
        let mut fates = stream::iter(tries).buffer_unordered(self.at_once);
        while let Some(fate) = fates.next().await {
            tally.add(fate?);
        }
        Ok(())
    }

    /// One build of all of `guards` but the mutants that the compiler refuses.
    async fn built_together<'a>(
        &self,
        guards: &[&'a Guard],
        tally: &mut Tally,
    ) -> Result<(Vec<&'a Guard>, Built)> {
        let mut guards = guards.to_vec();
        loop {
            println!("building {} guards to be switched", guards.len());
            let texts = switched(&self.tree, &guards)?;
            self.tree.set(&texts)?;
            let error = match tests::build(self.tree.folder(), &programs(&guards)?).await {
                Ok(built) => return Ok((guards, built)),
                Err(error) => error,
            };
            let mutants: Vec<&Guard> = guards.iter().copied().filter(|guard| guard.at.is_some()).collect();
            let refused: BTreeSet<&str> = mutants::complained_of(&error.to_string(), &texts, &mutants)
                .into_iter()
                .map(|guard| guard.name.as_str())
                .collect();
            if refused.is_empty() {
                return Err(error);
            }
            for name in &refused {
                println!("UNVIABLE  {name}");
            }
            tally.unviable += refused.len();
            guards.retain(|guard| !refused.contains(guard.name.as_str()));
        }
    }

    async fn alone(&self, guard: &Guard, tally: &mut Tally) -> Result<()> {
        let text = splice::without(&self.tree.read(&guard.file)?, guard)?;
        self.tree.set(&BTreeMap::from([(guard.file.clone(), text)]))?;
        match tests::build(self.tree.folder(), &programs(&[guard])?).await {
            Ok(built) => {
                tally.add(self.try_one(guard, &built, None).await?);
                Ok(())
            }
            Err(error) => {
                println!("UNBUILT   {}\n{error}", guard.name);
                tally.unbuildable.push(guard.name.clone());
                Ok(())
            }
        }
    }

    async fn try_one(&self, guard: &Guard, built: &Built, reach: Option<&Reach>) -> Result<Fate> {
        let begun = Instant::now();
        let off = (!guard.alone).then_some(guard.name.as_str());
        let mut noticed = None;
        let programs = match reach {
            Some(reach) => reach.narrowed(&programs_of(guard)?, &guard.name)?,
            None => programs_of(guard)?.into_iter().map(|program| (program, self.limit)).collect(),
        };
        let how_many = programs.len();
        for (program, limit) in programs {
            match tests::ask(built, &program, off, limit.min(self.limit)).await? {
                Said::Passed => {}
                Said::Failed(test) => {
                    noticed = Some(test);
                    break;
                }
                Said::Unclear(test) => {
                    println!("UNCLEAR   {:44} with every guard in place, {test} fails", guard.name);
                    return Ok(Fate::Unclear(guard.name.clone()));
                }
            }
        }
        let seconds = begun.elapsed().as_secs_f32();
        match noticed {
            Some(test) => {
                println!("caught    {:44} {seconds:5.1} s  {test}", guard.name);
                Ok(Fate::Caught)
            }
            None if how_many == 0 => {
                println!("SURVIVED  {:44} no test comes by it  {}", guard.name, guard.file);
                Ok(Fate::Survived(guard.name.clone()))
            }
            None => {
                println!("SURVIVED  {:44} {seconds:5.1} s  {}: {:?}", guard.name, guard.file, guard.takes);
                Ok(Fate::Survived(guard.name.clone()))
            }
        }
    }
}

/// What became of one.
enum Fate {
    Caught,
    Survived(String),
    Unclear(String),
}

impl Tally {
    fn add(&mut self, fate: Fate) {
        match fate {
            Fate::Caught => self.caught += 1,
            Fate::Survived(name) => self.survived.push(name),
            Fate::Unclear(name) => self.unclear.push(name),
        }
    }

    fn say(&self) -> ExitCode {
        println!(
            "{} caught, {} survived, {} unclear, {} could not be built, {} equivalent and not tried",
            self.caught,
            self.survived.len(),
            self.unclear.len(),
            self.unbuildable.len(),
            self.equivalent
        );
        if self.unviable > 0 {
            println!("{} mutants that the compiler refuses", self.unviable);
        }
        for name in &self.survived {
            println!("survived: {name}");
        }
        for name in &self.unclear {
            println!("unclear: {name}");
        }
        match self.survived.is_empty() && self.unclear.is_empty() && self.unbuildable.is_empty() {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        }
    }
}

/// The files of `guards`, with all of them to be switched.
fn switched(tree: &Tree, guards: &[&Guard]) -> Result<BTreeMap<String, String>> {
    let files: BTreeSet<&str> = guards.iter().map(|guard| guard.file.as_str()).collect();
    let mut texts = BTreeMap::new();
    for file in files {
        let here: Vec<&Guard> = guards.iter().copied().filter(|guard| guard.file == file).collect();
        texts.insert(file.to_owned(), splice::switched(&tree.read(file)?, &here)?);
        let root = crate_root(file)?;
        let text = match texts.remove(&root) {
            Some(text) => text,
            None => tree.read(&root)?,
        };
        let is_switched = text.ends_with(READ_SWITCH);
        texts.insert(root, if is_switched { text } else { text + READ_SWITCH });
    }
    Ok(texts)
}

/// The root of the crate that a file belongs to.
fn crate_root(file: &str) -> Result<String> {
    let (folder, _) = file.split_once("/src/").ok_or_else(|| format!("{file} is not in a crate"))?;
    Ok(format!("{folder}/src/lib.rs"))
}

/// The test programs of one guard, in the order of its table.
fn programs_of(guard: &Guard) -> Result<Vec<Program>> {
    guard.tests.iter().map(|words| Program::parse(words)).collect()
}

/// The test programs of many, each once.
fn programs(guards: &[&Guard]) -> Result<Vec<Program>> {
    let mut programs = BTreeSet::new();
    for guard in guards {
        programs.extend(programs_of(guard)?);
    }
    Ok(programs.into_iter().collect())
}
