//! A client that speaks into a live socket, in tones that the mock speech engine hears.

use std::time::Duration;

use futures::SinkExt;
use mock_speech::{RATE, silence, tone};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest};

use crate::process::Process;
use crate::world::World;

/// How much audio a frame holds.
const FRAME: Duration = Duration::from_millis(100);

/// Speaks for a second and is silent for a second, as fast as people do, until it is dropped.
pub(crate) async fn speak(world: &World, process: &Process) {
    let base = process.api.replacen("http", "ws", 1);
    let mut request = format!("{base}/v4/listen?uid=u1&codec=pcm16&sample_rate={RATE}")
        .into_client_request()
        .expect("a URL");
    let bearer = format!("Bearer {}", world.key()).parse().expect("a header");
    request.headers_mut().insert("authorization", bearer);
    let (mut socket, _) = connect_async(request).await.expect("the socket opens");
    let words = [tone(440, 1.0), silence(1.0)].concat();
    for frame in words.chunks(RATE / 10).cycle() {
        let bytes: Vec<u8> = frame.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        socket.send(Message::binary(bytes)).await.expect("the socket is open");
        tokio::time::sleep(FRAME).await;
    }
}
