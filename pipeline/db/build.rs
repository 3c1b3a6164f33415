//! `sqlx::migrate!` notices changed files only: a new migration would not be in the next build.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
