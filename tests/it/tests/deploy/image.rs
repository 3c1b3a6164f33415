//! The two recipes of the image.

use crate::files::read;

#[test]
fn image_build_context_excludes_secrets_and_target() {
    let (left_out, ignored) = (read(".dockerignore"), read(".gitignore"));
    let is_path = |line: &&str| !line.is_empty() && !line.starts_with('#');
    for path in ignored.lines().filter(is_path).chain(["/.git"]) {
        assert!(
            left_out.lines().any(|line| line.trim_start_matches("**/") == path.trim_start_matches('/')),
            "{path}"
        );
    }
}

/// Whoever builds with an engine that pulls gets another image than the one that `deploy/test` runs, but no other program,
/// labels, ports, user or stop signal.
#[test]
fn pulled_base_and_own_base_start_the_program_alike() {
    let from_label = |file: &str| {
        let text = read(file);
        text[text.find("\nLABEL ").expect("it has labels")..].to_owned()
    };
    let [pulls, own] = ["Dockerfile", "Containerfile"].map(|file| format!("deploy/container/{file}"));
    assert_eq!(from_label(&pulls), from_label(&own));
    assert!(
        read(&pulls).contains("deploy/program target/release/listen /out\n"),
        "manual pages and completions"
    );
}

#[test]
fn pulled_image_is_compiled_by_the_workspaces_toolchain() {
    let (toolchain, recipe) = (read("rust-toolchain.toml"), read("deploy/container/Dockerfile"));
    let channel = toolchain.split('"').nth(1).expect("a channel");
    let (minor, _patch) = channel.rsplit_once('.').expect("MAJOR.MINOR.PATCH");
    assert!(recipe.contains(&format!("FROM docker.io/library/rust:{minor}-bookworm AS build")), "{channel}");
    // Or rustup fetches the components of the file into every image.
    assert!(recipe.contains("ENV RUSTUP_TOOLCHAIN=$RUST_VERSION"));
}
