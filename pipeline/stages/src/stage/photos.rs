//! `describe_photos`: what is on the pictures of a conversation.

use std::sync::Arc;

use futures::future::join_all;
use job::FailureCode;

use super::{Provenance, Stage, StageName};
use crate::{Describe, Failure, Photo, PhotoDescription, check};

/// How many pictures are asked about at once.
const AT_ONCE: usize = 3;

/// Describes pictures. One that cannot be described stays without a description: that never fails the job.
pub struct DescribePhotos {
    engine: Arc<dyn Describe>,
}

impl DescribePhotos {
    /// Asks `engine`.
    pub fn new(engine: Arc<dyn Describe>) -> Self {
        Self { engine }
    }

    async fn describe(&self, photo: &Photo, language: &str) -> Option<PhotoDescription> {
        let described = self.engine.describe_photo(&photo.base64, language).await;
        let description = described
            .and_then(|text| check::photo(&text).ok_or_else(|| Failure::from(FailureCode::ModelMalformed)));
        match description {
            Ok(description) => Some(PhotoDescription { id: photo.id.clone(), description }),
            Err(failure) => {
                tracing::warn!(code = failure.code.as_str(), "a picture could not be described");
                None
            }
        }
    }
}

impl Stage for DescribePhotos {
    const NAME: StageName = "describe_photos";
    type Input<'a> = (&'a [Photo], &'a str);
    type Output = Vec<PhotoDescription>;

    fn provenance(&self) -> Provenance<'_> {
        Provenance { engine: self.engine.sight_id(), costs: self.engine.costs() }
    }

    async fn run<'a>(
        &'a self,
        (photos, language): Self::Input<'a>,
    ) -> Result<Vec<PhotoDescription>, Failure> {
        let mut described = Vec::new();
        for some in photos.chunks(AT_ONCE) {
            let all = join_all(some.iter().map(|photo| self.describe(photo, language))).await;
            described.extend(all.into_iter().flatten());
        }
        Ok(described)
    }
}
