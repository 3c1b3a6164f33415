//! One listener: gets what is new, until it leaves, is too slow, or has listened for long enough.

use std::{convert::Infallible, time::Duration};

use axum::response::sse::Event;
use futures::{Stream, stream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::hub::{Lost, Seat, Seen};

/// Who has not taken what they were sent for this long is dropped.
const PATIENCE: Duration = Duration::from_secs(10);
/// Then the browser comes again, and shows anew who it is.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// What a listener is sent, until `over` (the end of their session) at most.
pub(super) fn events(
    seat: Seat,
    may_act: bool,
    over: impl Future<Output = ()> + Send + 'static,
    stop: CancellationToken,
) -> impl Stream<Item = Result<Event, Infallible>> + Send {
    // What is newest lies with the hub: nothing is piled up for a listener.
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let told = tokio::time::timeout(LONGEST, tell(seat, may_act, sender));
        tokio::select! {
            _ended = stop.run_until_cancelled(told) => {}
            () = over => {}
        }
    });
    stream::unfold(receiver, |mut receiver| async move {
        let event = receiver.recv().await?;
        Some((Ok(event), receiver))
    })
}

async fn tell(mut permit: Seat, may_act: bool, sender: mpsc::Sender<Event>) {
    loop {
        let seen = tokio::select! {
            seen = permit.next() => seen,
            () = sender.closed() => return,
        };
        let Some(seen) = seen else { return };
        let sent = tokio::time::timeout(PATIENCE, sender.send(event(&seen, may_act))).await;
        // Of what is gone nothing can follow.
        if seen == Err(Lost::Gone) || !matches!(sent, Ok(Ok(()))) {
            return;
        }
    }
}

fn event(seen: &Seen, may_act: bool) -> Event {
    match seen {
        Ok(views) => Event::default().data(if may_act { &views.operator } else { &views.reader }),
        Err(Lost::Away) => Event::default().event("away").data(""),
        Err(Lost::Gone) => Event::default().event("gone").data(""),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::{
        future::pending,
        sync::{
            Arc,
            atomic::{AtomicU64, Ordering},
        },
    };

    use futures::{FutureExt, StreamExt};

    use super::*;
    use crate::console::live::hub::{Hub, LISTENERS, Views};

    /// Sees something new at every look.
    fn restless(stop: &CancellationToken) -> Arc<Hub<u8>> {
        let looks = AtomicU64::new(0);
        let read = move |_| {
            let text: Arc<str> = looks.fetch_add(1, Ordering::Relaxed).to_string().into();
            async move { Ok(Views { reader: text.clone(), operator: text }) }.boxed()
        };
        Hub::start(stop.clone(), read)
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_is_dropped_and_gives_the_place_free() {
        let stop = CancellationToken::new();
        let hub = restless(&stop);
        let slow: Vec<_> = (0..LISTENERS)
            .map(|_| Box::pin(events(hub.join(&1).unwrap(), false, pending(), stop.clone())))
            .collect();
        assert!(hub.join(&1).is_none());
        tokio::time::sleep(PATIENCE + Duration::from_secs(3)).await;
        assert!(hub.join(&1).is_some());
        let first = slow.into_iter().next().unwrap();
        assert_eq!(
            first.collect::<Vec<_>>().await.len(),
            1,
            "what was sent is still there, and then it ends"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn who_listens_is_told_until_the_service_stops() {
        let stop = CancellationToken::new();
        let hub = restless(&stop);
        let mut heard = Box::pin(events(hub.join(&1).unwrap(), true, pending(), stop.clone()));
        for _ in 0..3 {
            assert!(heard.next().await.is_some());
        }
        stop.cancel();
        assert!(heard.next().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_listens_for_ever_without_showing_who_they_are() {
        let stop = CancellationToken::new();
        let heard = events(restless(&stop).join(&1).unwrap(), true, pending(), stop.clone());
        let all = heard.count().await as u64;
        assert!((LONGEST.as_secs() - 2..=LONGEST.as_secs() + 1).contains(&all), "{all}");
    }
}
