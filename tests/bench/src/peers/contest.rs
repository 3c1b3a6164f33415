//! The run: makes adapters ready, then one peer after the other, so that no other computes while one is measured.
//! Only killed workers are waited for together: they, and who is to find it out, wait.

use std::io::IsTerminal;
use std::time::Instant;

use futures::future::join_all;

use super::{
    facts::{Manner, PEERS, Peer, Runtime},
    floor, kit,
    recovery::{self, Recovery},
    round::{self, Scene},
    sizes::Sizes,
    tables::{self, Measured},
};
use crate::setup::Setup;

/// Measures whom `sizes` names, and prints the tables.
pub(crate) async fn table(setup: &Setup, sizes: &Sizes) {
    let began = Instant::now();
    let (present, skipped) = ready(sizes).await;
    let floor = floor::measure(setup, sizes.jobs).await;
    let mut all = Vec::new();
    for (number, peer) in present.iter().enumerate() {
        let place = format!("{} of {}, {}", number + 1, present.len(), peer.name);
        all.push(Measured { peer, rounds: rounds(setup, peer, sizes, &place).await, recovery: None });
    }
    say(&format!("killing a worker of each, at most {} s each time", sizes.wait));
    let recoveries = join_all(all.iter().map(|measured| recover(setup, measured.peer, sizes))).await;
    for (measured, recovery) in all.iter_mut().zip(recoveries) {
        measured.recovery = recovery;
    }
    say(&format!("measured in {} s", began.elapsed().as_secs()));
    end_line();
    tables::print(&all, &skipped, floor, sizes);
}

async fn recover(setup: &Setup, peer: &Peer, sizes: &Sizes) -> Option<Recovery> {
    let asked = sizes.kills > 0 && peer.runtime != Runtime::Own("http");
    if asked { Some(recovery::measure(setup, peer, sizes).await) } else { None }
}

async fn ready(sizes: &Sizes) -> (Vec<&'static Peer>, Vec<(&'static Peer, String)>) {
    let (mut present, mut skipped) = (Vec::new(), Vec::new());
    for peer in PEERS.iter().filter(|peer| sizes.wants(peer.name)) {
        say(&format!("making {} ready", peer.name));
        match kit::ready(peer.runtime).await {
            Ok(()) => present.push(peer),
            Err(why) => {
                say(&format!("{} is skipped: it {why}", peer.name));
                end_line();
                skipped.push((peer, why));
            }
        }
    }
    (present, skipped)
}

async fn rounds(
    setup: &Setup,
    peer: &Peer,
    sizes: &Sizes,
    place: &str,
) -> Vec<(Manner, Scene, Result<Option<round::Round>, String>)> {
    let mut wanted: Vec<_> = peer.manners.iter().map(|manner| (*manner, Scene::Empty)).collect();
    // What the interface adds to an admission does not depend on the queue's length.
    let long = sizes.history > 0 && peer.runtime != Runtime::Own("http");
    if let Some(manner) = peer.manners.last().filter(|_| long) {
        wanted.extend([(*manner, Scene::Finished), (*manner, Scene::Waiting)]);
    }
    let mut rounds = Vec::new();
    for (manner, scene) in wanted {
        let place = format!("{place}, {}, {}", manner.word(), scene.word());
        let tell = |what: &str| say(&format!("{place}: {what}"));
        let measured = round::measure(setup, peer, manner, scene, sizes, &tell).await;
        if let Err(why) = &measured {
            tell(why);
            end_line();
        }
        rounds.push((manner, scene, measured));
    }
    rounds
}

/// Says what goes on: over the last line of a terminal, on a line of its own elsewhere.
fn say(what: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{what}");
    } else {
        eprintln!("{what}");
    }
}

fn end_line() {
    if std::io::stderr().is_terminal() {
        eprintln!();
    }
}
