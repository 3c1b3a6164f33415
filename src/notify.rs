//! What a unit reports to systemd with `Type=notify`: when the process is ready, and when it stops. Without
//! `NOTIFY_SOCKET` nothing is sent.

#[cfg(target_os = "linux")]
use std::os::{linux::net::SocketAddrExt, unix::ffi::OsStrExt};
use std::{
    ffi::OsStr,
    io,
    os::unix::net::{SocketAddr, UnixDatagram},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use crate::admin::Readiness;

/// How often readiness is asked for until it is there.
const EVERY: Duration = Duration::from_millis(500);

/// Sends `READY=1` as soon as the process is ready, the reason why it is not until then, and `STOPPING=1` at the end.
pub(crate) async fn report(readiness: Readiness, stop: CancellationToken) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else { return };
    let send = |state: &str| {
        if let Err(error) = send(&socket, state) {
            tracing::warn!(%error, "systemd could not be notified");
        }
    };
    let mut sent = None;
    while !stop.is_cancelled() {
        let unready = match readiness.check().await {
            Ok(()) => {
                send("READY=1\nSTATUS=ready");
                break;
            }
            Err(reason) => reason,
        };
        if sent.replace(unready) != Some(unready) {
            send(&format!("STATUS={unready}"));
        }
        stop.run_until_cancelled(tokio::time::sleep(EVERY)).await;
    }
    stop.cancelled().await;
    send("STOPPING=1\nSTATUS=stopping: requests and runs come to their ends");
}

/// Sends one datagram.
fn send(socket: &OsStr, state: &str) -> io::Result<()> {
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address(socket)?).map(drop)
}

/// A name that begins with `@` is an abstract socket of Linux.
fn address(socket: &OsStr) -> io::Result<SocketAddr> {
    #[cfg(target_os = "linux")]
    if let Some(name) = socket.as_bytes().strip_prefix(b"@") {
        return SocketAddr::from_abstract_name(name);
    }
    SocketAddr::from_pathname(socket)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn systemd_notification_reaches_path_and_abstract_sockets() {
        let name = format!("listen-notify-{}", std::process::id());
        let path = std::env::temp_dir().join(&name);
        let _none_there = std::fs::remove_file(&path);
        let by_path = UnixDatagram::bind(&path).unwrap();
        let by_name =
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name.as_bytes()).unwrap()).unwrap();
        for (heard, socket) in [(by_path, path.display().to_string()), (by_name, format!("@{name}"))] {
            send(OsStr::new(&socket), "READY=1").unwrap();
            let mut state = [0; 32];
            let length = heard.recv(&mut state).unwrap();
            assert_eq!(&state[..length], b"READY=1", "{socket}");
        }
        std::fs::remove_file(&path).unwrap();
    }
}
