//! How long a job that was running in a killed process waits for another one, at default settings.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::{
    adapter::Adapter,
    facts::{Manner, Peer},
    sizes::Sizes,
};
use crate::setup::Setup;

/// From the kill to the next start of the job.
#[derive(Clone)]
pub(crate) enum Recovery {
    /// Seconds, of each kill.
    Seconds(Vec<f64>),
    /// It was not taken within so many.
    Beyond(u64),
    /// Why there is no figure.
    None(String),
}

impl Recovery {
    pub(crate) fn words(&self, peer: &Peer) -> String {
        match self {
            Self::Seconds(seconds) => {
                let each: Vec<String> = seconds.iter().map(|seconds| format!("{seconds:.1} s")).collect();
                each.join(", ")
            }
            Self::Beyond(bound) => format!("> {bound} s ({})", peer.recovery),
            Self::None(why) => why.clone(),
        }
    }
}

/// Kills workers of `peer`, one after the other.
pub(crate) async fn measure(setup: &Setup, peer: &Peer, sizes: &Sizes) -> Recovery {
    let mut each = Vec::new();
    for kill in 0..sizes.kills {
        let database = format!("{}_kill{kill}", peer.slug());
        let url = setup.empty_database(&database).await;
        let measured = once(peer, &url, sizes.wait).await;
        setup.drop_database(&database).await;
        match measured {
            Ok(Some(seconds)) => each.push(seconds),
            Ok(None) => return Recovery::Beyond(sizes.wait),
            Err(why) => return Recovery::None(why),
        }
    }
    Recovery::Seconds(each)
}

async fn once(peer: &Peer, url: &str, bound: u64) -> Result<Option<f64>, String> {
    let mut first = Adapter::start(peer, Manner::Shipped, url)?;
    first.ask("setup").await?;
    first.ask("prepare 1").await?;
    first.ask("enqueue 1 1").await?;
    held(&mut first, Some(Duration::from_secs(15))).await?.ok_or("the job was never started")?;
    let mut second = Adapter::start(peer, Manner::Shipped, url)?;
    second.ask("setup").await?;
    held(&mut second, None).await?;
    // The second has registered, listens, and has looked for work once.
    sleep(Duration::from_secs(2)).await;
    first.kill().await;
    let killed = Instant::now();
    let started = second.hear(Duration::from_secs(bound)).await;
    let seconds = killed.elapsed().as_secs_f64();
    second.kill().await;
    Ok(started.is_ok_and(|answer| answer.get("started").is_some()).then_some(seconds))
}

/// Starts a worker that finishes nothing, and waits for its first job if that is to come.
async fn held(adapter: &mut Adapter, patience: Option<Duration>) -> Result<Option<()>, String> {
    let mut answers = vec![adapter.ask("hold 1").await?];
    if let Some(patience) = patience {
        answers.push(adapter.hear(patience).await?);
    }
    Ok(answers.iter().any(|answer| answer.get("started").is_some()).then_some(()))
}
