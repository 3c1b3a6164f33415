//! What the API asks of the text engine.

use records::MemoryCategory;

/// Finds the category of a memory that came without one. Tied to an engine in `src/wiring.rs`.
pub trait Categorize: Send + Sync {
    /// What `content` is about. Called while a client waits: free and quick, never a model server.
    fn memory(&self, content: &str) -> MemoryCategory;
}

/// Where nothing understands text, every memory is about something else.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uncategorized;

impl Categorize for Uncategorized {
    fn memory(&self, _: &str) -> MemoryCategory {
        MemoryCategory::Other
    }
}
