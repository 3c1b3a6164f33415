//! `describe_photos`: what is on the pictures of a conversation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use job::FailureCode;

use super::{Provenance, Stage, StageName};
use crate::{Describe, Failure, Photo, PhotoDescription, check};

/// How many pictures are asked about at once.
const AT_ONCE: usize = 3;
/// How long after the stage began no further picture is asked about: a run is ended at its limit, whatever it paid for.
const LONGEST: Duration = Duration::from_secs(3 * 60);

/// Describes pictures. One that cannot be described stays without a description. The stage fails only where none was
/// described for a reason that may pass, so that this is not recorded.
pub struct DescribePhotos {
    engine: Arc<dyn Describe>,
    longest: Duration,
}

impl DescribePhotos {
    /// Asks `engine`, for three minutes and as long as the last questions take.
    pub fn new(engine: Arc<dyn Describe>) -> Self {
        Self { engine, longest: LONGEST }
    }

    /// The same, with another time.
    #[must_use]
    pub fn within(self, longest: Duration) -> Self {
        Self { longest, ..self }
    }

    async fn describe(&self, photo: &Photo, language: &str) -> Result<PhotoDescription, Failure> {
        let described = self.engine.describe_photo(&photo.base64, language).await;
        let description = described
            .and_then(|text| check::photo(&text).ok_or_else(|| Failure::from(FailureCode::ModelMalformed)));
        description.map(|description| PhotoDescription { id: photo.id.clone(), description }).inspect_err(
            |failure| tracing::warn!(code = failure.code.as_str(), "a picture could not be described"),
        )
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
        let began = Instant::now();
        let (mut described, mut passing) = (Vec::new(), None);
        for some in photos.chunks(AT_ONCE) {
            if began.elapsed() >= self.longest {
                tracing::warn!("the time for pictures is over: the others stay without a description");
                break;
            }
            for answer in join_all(some.iter().map(|photo| self.describe(photo, language))).await {
                match answer {
                    Ok(description) => described.push(description),
                    Err(failure) if may_pass(&failure) => passing = Some(failure),
                    Err(_) => {}
                }
            }
        }
        match passing {
            Some(failure) if described.is_empty() => Err(failure),
            _ => Ok(described),
        }
    }
}

/// Whether the failure says nothing of the picture: the server was away or busy, or another key may do.
fn may_pass(failure: &Failure) -> bool {
    failure.circuit_open
        || matches!(
            failure.code,
            FailureCode::ModelUnavailable
                | FailureCode::ModelTimeout
                | FailureCode::ModelRateLimited
                | FailureCode::ByokKeyRejected
        )
}
