//! The page between wanting a change and making it: what will happen, and why it is done.

use askama::Template;
use axum::response::{IntoResponse, Response};

use super::{
    error::Fault,
    page::{Frame, render},
    visitor::Visitor,
    words::Sentence,
};

/// The page, or the error that is shown instead.
pub(super) type Asked = Result<Confirm, Fault>;

/// A change that is about to be made.
#[derive(Default, Template)]
#[template(path = "confirm.html")]
pub(super) struct Confirm {
    pub(super) frame: Frame,
    pub(super) token: String,
    /// The name of what it is about, where the title does not say it.
    pub(super) subject: String,
    /// What will happen.
    pub(super) sentences: Vec<String>,
    /// What will keep it from happening for now.
    pub(super) obstacles: Vec<Sentence>,
    /// Where the form goes.
    pub(super) action: String,
    /// What the form carries along.
    pub(super) hidden: Vec<(&'static str, String)>,
    /// The button's words.
    pub(super) button: &'static str,
    /// Where to go instead.
    pub(super) back: String,
    /// Offer to pay for all stages again.
    pub(super) offers_scratch: bool,
    /// Ask for the caps of many: (jobs a minute, unfinished at once).
    pub(super) caps: Option<(i32, i32)>,
    /// Ask how far back: an age.
    pub(super) age: Option<&'static str>,
    /// Counts to look at first: (how many, what).
    pub(super) counts: Vec<(String, String)>,
}

impl Confirm {
    /// The least of such a page.
    pub(super) fn new(visitor: Visitor, here: &'static str, title: impl Into<String>) -> Self {
        let token = visitor.token.clone();
        let (frame, back) = (Frame::of(visitor, here, title), "/console".to_owned());
        Self { frame, token, button: "Do it", back, ..Self::default() }
    }
}

impl IntoResponse for Confirm {
    fn into_response(self) -> Response {
        render(&self)
    }
}
