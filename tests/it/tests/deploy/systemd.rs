//! Notifications to systemd (`Type=notify`): waiting for the schema, ready, stopping.

use std::os::unix::net::UnixDatagram;

use rustix::process::Signal;
use testbed::TestDatabase;

use crate::binary::printed;
use crate::process::{PATIENCE, Process};

#[tokio::test(flavor = "multi_thread")]
async fn systemd_is_notified_of_readiness_and_stopping() {
    let folder = testbed::empty_directory("notified");
    let path = folder.join("socket");
    let socket = UnixDatagram::bind(&path).expect("a socket can be made");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time can be set");
    let heard = || {
        let mut state = [0; 256];
        let length = socket.recv(&mut state).expect("something is sent in time");
        String::from_utf8_lossy(&state[..length]).into_owned()
    };
    let database = TestDatabase::empty().await;
    let url = database.url();
    let mut process = Process::serve(&url, &[("NOTIFY_SOCKET", &path.display().to_string())]).await;
    let state = heard();
    assert!(state.starts_with("STATUS=") && state.contains("listen migrate"), "{state}");

    printed(&url, &["migrate"]);
    // A database that was busy for a moment may be named between the two.
    let state = std::iter::repeat_with(heard).find(|state| !state.starts_with("STATUS=")).unwrap_or_default();
    assert!(state.starts_with("READY=1\n"), "{state}");

    process.signal(Signal::TERM);
    let state = heard();
    assert!(state.starts_with("STOPPING=1\n"), "{state}");
    assert!(process.ended().await.success());
    std::fs::remove_dir_all(folder).expect("the folder can be removed");
}
