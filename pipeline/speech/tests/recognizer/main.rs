//! Real speech through a real recognizer: espeak-ng speaks known sentences, every codec carries them, PocketSphinx
//! (`tests/speech-server`) reads them. Without python3 or espeak-ng nothing is proven, and the test says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, reason = "tests")]

mod encode;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use encode::Encoding;
use speech::{
    Choice, Codec, Decoder, Draft, Engine, Event, Format, Language, NoMeter, RATE, Session, Settings,
};
use tokio::time::timeout;

/// A voice and a speed that the recognizer understands.
const VOICE: [&str; 4] = ["-v", "en-us+f2", "-s", "130"];
/// Between two sentences: too long for them to be recognized as one while they wait.
const PAUSE: usize = 7 * RATE as usize / 2;

fn path_of(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// False, loudly, when a program is missing.
fn are_there(programs: &[&str]) -> bool {
    let missing = |program: &&&str| Command::new(program).arg("--version").output().is_err();
    let missing: Vec<_> = programs.iter().filter(missing).collect();
    if !missing.is_empty() {
        eprintln!("\n*** SKIPPED: {missing:?} are missing; no real speech was recognized ***\n");
    }
    missing.is_empty()
}

/// The recognizer's process; it ends with this value.
struct Server {
    process: Child,
    base_url: String,
}

impl Server {
    fn start() -> Self {
        let mut command = Command::new(path_of("tests/speech-server/run"));
        let mut process = command.stdout(Stdio::piped()).spawn().expect("the recognizer can be started");
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("http://"), "the recognizer is not ready: see above");
        Self { process, base_url: line.trim().to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn sentences() -> Vec<String> {
    let text = std::fs::read_to_string(path_of("tests/speech-server/sentences.txt")).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The sentence as 16 kHz samples.
fn spoken(sentence: &str) -> Vec<i16> {
    let output = Command::new("espeak-ng").args(VOICE).args(["--stdout", sentence]).output().unwrap();
    let rate = u32::from_le_bytes(output.stdout[24..28].try_into().unwrap());
    let mut decoder = Decoder::new(Format::new(Codec::Pcm16, rate, 1).expect("a rate that is taken"));
    let bytes = &output.stdout[44..];
    bytes.chunks(60_000).flat_map(|frame| decoder.decode(frame).unwrap().tracks.remove(0)).collect()
}

/// All of them with pauses, and where each begins and ends, in seconds.
fn track(sentences: &[String]) -> (Vec<i16>, Vec<(f64, f64)>) {
    let mut track = vec![0; PAUSE];
    let mut places = Vec::new();
    let seconds = |samples: usize| speech::seconds(samples as u64);
    for sentence in sentences {
        let start = track.len();
        track.extend(spoken(sentence));
        places.push((seconds(start), seconds(track.len())));
        track.resize(track.len() + PAUSE, 0);
    }
    (track, places)
}

/// The frames decoded, listened to and recognized.
async fn recognized(engine: &Arc<dyn Engine>, encoding: &Encoding, tracks: &[Vec<i16>]) -> Vec<Draft> {
    let format = encoding.format(tracks.len());
    let session = Session {
        language: Language::Tag("en".into()),
        channels: format.channels(),
        vocabulary: Vec::new(),
        own_key: None,
    };
    let (mut recognizer, mut events) = engine.open(session).unwrap();
    let mut decoder = Decoder::new(format);
    for frame in encoding.frames(tracks) {
        recognizer.hear(&decoder.decode(&frame).unwrap());
    }
    drop(recognizer);
    let mut drafts = Vec::new();
    while let Some(event) = timeout(Duration::from_secs(60), events.recv()).await.expect("an end") {
        match event {
            Event::Final(words) => drafts.extend(words),
            Event::Gap(gap) => panic!("{encoding:?} left {gap:?}"),
            _ => (),
        }
    }
    drafts
}

#[tokio::test]
async fn recognizer_transcribes_real_speech_through_every_codec() {
    if !are_there(&["python3", "espeak-ng"]) {
        return;
    }
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = Server::start();
    let base_url = Some(server.base_url.clone());
    let settings = Settings { engine: Choice::OpenAi, base_url, ..Settings::default() };
    let engine = settings.engine(Arc::new(NoMeter), [1; 32]).unwrap();
    let sentences = sentences();
    for (number, encoding) in Encoding::all().iter().enumerate() {
        // Each says two of them, and all are said.
        let said: Vec<String> = sentences.iter().cycle().skip(number).take(2).cloned().collect();
        let (track, places) = track(&said);
        let drafts = recognized(&engine, encoding, &[track]).await;
        let words: Vec<_> = drafts.iter().map(|draft| draft.text.as_str()).collect();
        assert_eq!(words, said, "{encoding:?}");
        for (draft, (start, end)) in drafts.iter().zip(&places) {
            let is_near = (draft.start - start).abs() < 0.6 && (draft.end - end).abs() < 0.6;
            assert!(is_near, "{encoding:?}: {draft:?} was said {start}..{end}");
        }
    }

    // Two people, a channel each, who take turns.
    let (mut one, _) = track(&sentences[..1]);
    let mut other = vec![0; one.len()];
    other.extend(track(&sentences[1..2]).0);
    one.resize(other.len(), 0);
    for encoding in Encoding::all().iter().skip(1).step_by(3) {
        let drafts = recognized(&engine, encoding, &[one.clone(), other.clone()]).await;
        let said: Vec<_> = drafts.iter().map(|draft| (draft.speaker, draft.text.as_str())).collect();
        assert_eq!(said, [(0, sentences[0].as_str()), (1, sentences[1].as_str())], "{encoding:?}");
    }
}
