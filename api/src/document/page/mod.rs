//! The page for people.
