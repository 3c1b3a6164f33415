//! Live sessions on the real binary: how many can speak on one core, what each keeps in memory, and how long words, the end of a
//! conversation and other clients' admissions wait meanwhile.

mod engine;
mod program;
mod sound;
mod speaker;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use api::Scope;
use clap::Parser;
use futures::{StreamExt, future::join_all, stream};
use records::UserId;
use store::UserChange;
use tokio::time::{interval, sleep};

use crate::{
    figures::percentiles,
    http::Client,
    setup::{Setup, WIDTH, key_of},
};
use engine::SpeechEngine;
use program::Program;
use sound::Sound;
use speaker::{Person, Received, Socket, ms, open, speak};

/// Silence that ends a conversation: longer than between two utterances.
const SILENCE: Duration = Duration::from_secs(6);
/// Until all sessions have spoken once.
const WARM_UP: Duration = Duration::from_secs(5);
/// Sessions that one user may have.
const OF_ONE_USER: usize = 3;
/// Admissions a second beside the speech.
const ADMISSIONS: usize = 50;

/// How much is measured.
#[derive(Debug, Parser)]
#[command(name = "live")]
pub(crate) struct Sizes {
    /// Sessions that speak at once.
    #[arg(long, default_value_t = 200)]
    sessions: usize,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 15)]
    seconds: u64,
    /// Sessions that are open and silent.
    #[arg(long, default_value_t = 5_000)]
    idle: usize,
}

/// Prints the table.
pub(crate) async fn table(setup: &Setup, sizes: &Sizes) {
    let people = people(setup, sizes.sessions.max(sizes.idle.div_ceil(OF_ONE_USER))).await;
    let (engine, speech) = SpeechEngine::start().await;
    let program = Program::start(&setup.url(), &speech, sizes.sessions.max(sizes.idle) + 1).await;
    let bench = Bench { setup, sizes, people: &people, keys: &setup.keys().await, engine, program };
    let alone = bench.admissions("alone").await;
    println!(
        "Live sessions, an engine that costs nothing; each speaks for 2 s and is silent for 2 s; {} sessions for {} s\n",
        sizes.sessions, sizes.seconds
    );
    println!("| | measured | aim | ratio |\n|---|---|---|---|");
    for (sound, aim) in [(Sound::pcm16(), 500.0), (Sound::opus(), 300.0)] {
        bench.speaking(&sound, aim, &alone).await;
    }
    bench.idle().await;
    println!();
}

/// Everything that a measurement needs.
struct Bench<'a> {
    setup: &'a Setup,
    sizes: &'a Sizes,
    /// Who speaks.
    people: &'a [Person],
    /// Keys of those who finalize.
    keys: &'a [String],
    engine: SpeechEngine,
    program: Program,
}

impl Bench<'_> {
    /// All sessions speak in one codec: first alone, then beside admissions, and then they fall silent.
    async fn speaking(&self, sound: &Sound, aim: f64, alone: &[f64]) {
        let Self { setup, sizes, engine, program, .. } = self;
        let before = program.resident();
        let sockets = self.opened(sizes.sessions, sound.query).await;
        let window = Duration::from_secs(sizes.seconds);
        let until = Instant::now() + WARM_UP + 2 * window + Duration::from_secs(1);
        let each = sound.frames.len().div_ceil(sizes.sessions.max(1));
        let sessions = sockets
            .into_iter()
            .enumerate()
            .map(|(number, socket)| speak(socket, sound, number * each % sound.frames.len(), until, engine));
        let measuring = async {
            sleep(WARM_UP).await;
            let (cpu, server, began) = (program.cpu(), setup.server_cpu(), Instant::now());
            sleep(window).await;
            let passed = ms(began.elapsed());
            let cores = ((program.cpu() - cpu) / passed, (setup.server_cpu() - server) / passed);
            let memory = (program.resident() - before) / sizes.sessions as f64;
            (cores, memory, self.admissions(sound.query).await)
        };
        let (heard, ((own, server), memory, beside)) = tokio::join!(join_all(sessions), measuring);
        let name = sound.name;
        row(&format!("{name}: speaking sessions per core"), sizes.sessions as f64 / own, "", Aim::Least(aim));
        println!("| {name}: cores of the database meanwhile | {server:.2} | | |");
        row(&format!("{name}: memory of a session"), memory, " KiB", Aim::Most(150.0));
        latencies(name, &heard);
        let (p50, p99) = percentiles(beside).unwrap_or_default();
        let (alone50, alone99) = percentiles(alone.to_vec()).unwrap_or_default();
        println!(
            "| {name}: an admission meanwhile, p50 / p99 | {p50:.1} / {p99:.1} ms | alone {alone50:.1} / {alone99:.1} ms | {:.2} / {:.2} |",
            alone50 / p50,
            alone99 / p99
        );
        let finalized = self.finalized(sound.query).await;
        let count = finalized.len();
        let (p50, p99) = percentiles(finalized).unwrap_or_default();
        println!(
            "| {name}: from an admission to its results, p50 / p99 of {count} | {p50:.0} / {p99:.0} ms | | |"
        );
    }

    /// Sessions that only are open: a stub each, and no word.
    async fn idle(&self) {
        let (program, sessions) = (&self.program, self.sizes.idle);
        let (before, cpu) = (program.resident(), program.cpu());
        let sockets = self.opened(sessions, "custom_stt=enabled").await;
        let (opened, began) = (program.cpu(), Instant::now());
        sleep(Duration::from_secs(12)).await;
        let cores = (program.cpu() - opened) / ms(began.elapsed());
        let all = (program.resident() - before) / 1_024.0;
        row(&format!("{} idle sessions: memory", sockets.len()), all, " MiB", Aim::Most(1_024.0));
        println!("| {sessions} idle sessions: cores | {cores:.2} | | |");
        let opening = (opened - cpu) / sessions as f64;
        println!("| {sessions} idle sessions: opening one | {opening:.2} ms of processor | | |");
    }

    /// Opens sessions, some at a time, at most three of each user.
    async fn opened(&self, sessions: usize, query: &str) -> Vec<Socket> {
        stream::iter(0..sessions)
            .map(|number| async move {
                let query = format!("{query}&client_device_id=d{}", number / self.people.len());
                open(&self.program.api, &self.people[number % self.people.len()], &query).await
            })
            .buffer_unordered(WIDTH)
            .collect()
            .await
    }

    /// Finalizes stored conversations over HTTP at a steady rate: how long each took, in milliseconds.
    async fn admissions(&self, prefix: &str) -> Vec<f64> {
        let stored = self.setup.stored_many(prefix, ADMISSIONS * self.sizes.seconds as usize).await;
        let address: SocketAddr = self.program.api.trim_start_matches("http://").parse().unwrap();
        let mut clock = interval(Duration::from_secs_f64(1.0 / ADMISSIONS as f64));
        let mut asked = Vec::new();
        for (_, id) in stored {
            clock.tick().await;
            // Conversations are dealt to people in turn, and so are keys.
            let number: usize = id.as_str().rsplit('-').next().unwrap().parse().unwrap();
            let key = self.keys[number % self.keys.len()].clone();
            asked.push(tokio::spawn(async move {
                let began = Instant::now();
                let path = format!("/v1/conversations/{}/finalize", id.as_str());
                let status = Client::connect(address).await.post(&path, &key).await;
                assert_eq!(status, 200, "a run with losses is not a number");
                ms(began.elapsed())
            }));
        }
        join_all(asked).await.into_iter().map(Result::unwrap).collect()
    }
}

impl Bench<'_> {
    /// How long what was admitted beside the speech took until it was completed, in milliseconds. All of it is.
    async fn finalized(&self, prefix: &str) -> Vec<f64> {
        let taken = "select extract(epoch from finished_at - admitted_at)::float8 * 1000 from finalization_jobs \
             where conversation_id like $1 and origin = 'finalize'";
        loop {
            let all: Vec<Option<f64>> = sqlx::query_scalar(taken)
                .bind(format!("{prefix}%"))
                .fetch_all(&self.setup.pool)
                .await
                .unwrap();
            match all.into_iter().collect() {
                Some(completed) => return completed,
                None => sleep(Duration::from_millis(100)).await,
            }
        }
    }
}

fn latencies(name: &str, heard: &[Received]) {
    let all = |of: fn(&Received) -> &[f64]| {
        heard.iter().flat_map(|one| of(one).iter().copied()).collect::<Vec<_>>()
    };
    let (since_voice, beyond) = (all(|one| &one.since_voice), all(|one| &one.beyond_engine));
    let utterances = beyond.len();
    if let Some((p50, p99)) = percentiles(since_voice) {
        println!("| {name}: from the last voice to the segment, p50 / p99 | {p50:.0} / {p99:.0} ms | | |");
    }
    if let Some((_, p99)) = percentiles(beyond) {
        let what = format!("{name}: from the engine's answer to the segment, p99 of {utterances}");
        row(&what, p99, " ms", Aim::Most(300.0));
    }
    let processing: Vec<f64> = heard.iter().filter_map(|one| one.processing).collect();
    assert_eq!(
        processing.len(),
        heard.len(),
        "every conversation is processed: a run with losses is not a number"
    );
    if let Some((_, p99)) = percentiles(processing) {
        row(&format!("{name}: from the timeout to processing, p99"), p99, " ms", Aim::Most(1_000.0));
    }
}

enum Aim {
    Least(f64),
    Most(f64),
}

/// A ratio of 1 or more is as good as the aim.
fn row(what: &str, measured: f64, unit: &str, aim: Aim) {
    let (sign, aim, ratio) = match aim {
        Aim::Least(aim) => ("≥", aim, measured / aim),
        Aim::Most(aim) => ("≤", aim, aim / measured.max(0.1)),
    };
    println!("| {what} | {measured:.0}{unit} | {sign} {aim:.0}{unit} | {ratio:.2} |");
}

/// Users who speak, each with a key.
async fn people(setup: &Setup, count: usize) -> Vec<Person> {
    stream::iter(0..count)
        .map(|number| async move {
            let id = format!("speaker-{number}");
            let user = UserId::new(id.clone());
            let random = std::array::from_fn(|byte| (number >> (byte % 4 * 8)) as u8 ^ 0x5a);
            assert!(setup.ledger.store().create_user(&user, &UserChange::default()).await.unwrap());
            Person { id, key: key_of(&setup.ledger, &user, random, &[Scope::ConversationsWrite]).await }
        })
        .buffer_unordered(WIDTH)
        .collect()
        .await
}
