//! Faults of other servers: the model, and the receivers of webhooks.

use std::time::Duration;

use rand::{RngExt, rngs::StdRng};

use crate::model::Mood;
use crate::people;
use crate::receiver::Manner;
use crate::world::World;

/// The model misbehaves for a while.
pub(super) async fn model(world: &World, mood: Mood, hold: Duration) -> Option<u32> {
    world.model.be(mood);
    tokio::time::sleep(hold).await;
    world.model.be(Mood::Good);
    None
}

/// The receivers misbehave for a while.
pub(super) async fn hooks(world: &World, manner: Manner, hold: Duration) -> Option<u32> {
    world.receivers.be(manner);
    tokio::time::sleep(hold).await;
    world.receivers.be(Manner::Fine);
    None
}

/// A user has one more endpoint, which answers 410 to the first post.
pub(super) async fn gone(world: &World, chance: &mut StdRng) -> Option<u32> {
    let addresses = world.fleet.addresses();
    let person = &world.people[chance.random_range(0..world.people.len())];
    if let Some(address) = addresses.get(chance.random_range(0..addresses.len().max(1))) {
        let place = format!("gone/{}", chance.random_range(0..1_000_000_000));
        people::endpoint(&world.client, &address.api, person, &world.receivers, &place).await;
    }
    None
}
