//! Both servers, until Ctrl-C: for trying things out, and for benchmarks whose engine shall cost nothing.
#![allow(clippy::print_stdout, reason = "it says where it is")]

use mock_speech::{Deepgram, Transcriber};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let (transcriber, deepgram) = (Transcriber::start().await, Deepgram::start().await);
    println!("LISTEN_SPEECH_BASE_URL={}", transcriber.base_url());
    println!("LISTEN_DEEPGRAM_BASE_URL={}", deepgram.base_url());
    tokio::signal::ctrl_c().await
}
