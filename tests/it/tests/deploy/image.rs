//! The two recipes of the image, and the compose file's services beside those that serve.

use crate::files::{documents, read, text};

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

/// `deploy/test` runs the image of `Containerfile` alone. That of `Dockerfile` must have the same labels, ports, user and stop signal.
#[test]
fn pulled_base_and_own_base_start_the_program_alike() {
    let from_label = |file: &str| {
        let text = read(file);
        text[text.find("\nLABEL ").expect("it has labels")..].to_owned()
    };
    let [pulls, own] = ["Dockerfile", "Containerfile"].map(|file| format!("deploy/container/{file}"));
    assert_eq!(from_label(&pulls), from_label(&own));
    assert!(
        read(&pulls).contains("deploy/program target/dist/listen /out\n"),
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

/// `up --wait` waits until `migrate` ends. Restarted without a limit, as with a wrong password, it never ends.
#[test]
fn compose_gives_up_a_migration_that_fails_again_and_again() {
    let file = &documents("deploy/compose.yaml")[0];
    let restart = text(&file["services"]["migrate"]["restart"]);
    let tries = restart.strip_prefix("on-failure:").expect("as often as it says");
    assert!(tries.parse::<u8>().is_ok_and(|tries| (1..=10).contains(&tries)), "{restart}");
}

/// PostgreSQL's image makes a new database with a temporary server that listens on the socket only. A probe of the socket takes it
/// for the real one, and the migration starts too early.
#[test]
fn compose_asks_the_database_at_the_address_that_services_use() {
    let file = &documents("deploy/compose.yaml")[0];
    let probe = file["services"]["database"]["healthcheck"]["test"].as_vec().expect("words");
    let words: Vec<&str> = probe.iter().map(text).collect();
    assert!(words.windows(2).any(|pair| pair == ["-h", "127.0.0.1"]), "{words:?}");
}
