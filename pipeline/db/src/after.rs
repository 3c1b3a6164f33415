//! Where a page of a list goes on.

use records::Timestamp;

/// The last row of a page, by what its list is ordered by: newest first, then by place and id. It need not exist any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    pub created_at: Timestamp,
    /// Its place among those of the same moment; 0 where a list knows none.
    pub position: i32,
    pub id: String,
}
