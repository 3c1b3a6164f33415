//! Makes `[build-dependencies]` count, and nothing else: programs and tests share one build (see Cargo.toml).

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
