//! Where connections to users' servers are read: in a thread of their own.

use std::{io, sync::LazyLock};

use anyhow::anyhow;
use tokio::runtime::{Builder, Handle, Runtime};

/// The process's one such thread. What a server sends as fast as it can, and is read byte by byte, holds up other servers' answers
/// at most: no lease, no request and no probe.
pub(super) fn receivers() -> anyhow::Result<Handle> {
    static RUNTIME: LazyLock<io::Result<Runtime>> = LazyLock::new(|| {
        Builder::new_multi_thread().worker_threads(1).thread_name("receivers").enable_all().build()
    });
    match &*RUNTIME {
        Ok(runtime) => Ok(runtime.handle().clone()),
        Err(error) => Err(anyhow!("starting the thread for users' servers: {error}")),
    }
}
