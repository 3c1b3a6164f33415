//! Does nothing: with a build script, `[build-dependencies]` count, and programs and tests share one build (see Cargo.toml).

fn main() {}
