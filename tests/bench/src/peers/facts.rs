//! Who is measured, and what is known of each: facts, with the place where they stand.

/// How a queue is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As it comes, but for the width.
    Shipped,
    /// As its documentation tunes it for throughput.
    Tuned,
}

impl Manner {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::Tuned => "tuned",
        }
    }
}

/// What runs an adapter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runtime {
    /// This program; the word says how it admits.
    Own(&'static str),
    /// A program of the workspace `tests/bench/peers`.
    Rust(&'static str),
    /// A script in `tests/bench/peers/node`.
    Node(&'static str),
    /// A script in `tests/bench/peers/python`.
    Python(&'static str),
}

/// One who is measured.
pub(crate) struct Peer {
    /// What it is called on the command line and in tables.
    pub(crate) name: &'static str,
    /// As pinned beside its adapter.
    pub(crate) version: &'static str,
    pub(crate) runtime: Runtime,
    /// What becomes of a finished job.
    pub(crate) history: &'static str,
    /// The manners that are measured on an empty queue; the last is the one for long ones.
    pub(crate) manners: &'static [Manner],
    /// What `tuned` is.
    pub(crate) tuned: &'static str,
    /// What its defaults give after a crash, and where that is said.
    pub(crate) recovery: &'static str,
}

impl Peer {
    /// Its name in those of databases; two peers differ in a dash alone.
    pub(crate) fn slug(&self) -> String {
        self.name.replace('-', "0")
    }
}

const SHIPPED: &[Manner] = &[Manner::Shipped];
const BOTH: &[Manner] = &[Manner::Shipped, Manner::Tuned];

/// Everybody, ours first.
pub(crate) const PEERS: [Peer; 8] = [
    Peer {
        name: "listen",
        version: env!("CARGO_PKG_VERSION"),
        runtime: Runtime::Own("verb"),
        history: "keeps",
        manners: SHIPPED,
        tuned: "",
        recovery: "a lease of 30 s, looked at every 5 s: README",
    },
    Peer {
        name: "listen-http",
        version: env!("CARGO_PKG_VERSION"),
        runtime: Runtime::Own("http"),
        history: "keeps",
        manners: SHIPPED,
        tuned: "",
        recovery: "",
    },
    Peer {
        name: "apalis-postgres",
        version: "1.0.0",
        runtime: Runtime::Rust("apalis"),
        history: "keeps",
        manners: SHIPPED,
        tuned: "",
        recovery: "10 heartbeats of 30 s missed: its `Config::default`",
    },
    Peer {
        name: "awa",
        version: "0.6.9",
        runtime: Runtime::Rust("awa"),
        history: "keeps 24 h",
        manners: SHIPPED,
        tuned: "",
        recovery: "a heartbeat is stale after 90 s, looked at every 30 s: its `MaintenanceService`",
    },
    Peer {
        name: "graphile_worker",
        version: "0.14.1",
        runtime: Runtime::Rust("graphile"),
        history: "deletes",
        manners: BOTH,
        tuned: "local queue of 500",
        recovery: "locks of 4 h; recovery of 5 min is opt-in: its guide `recovery.md`",
    },
    Peer {
        name: "graphile-worker",
        version: "0.18.0",
        runtime: Runtime::Node("graphile-worker.mjs"),
        history: "deletes",
        manners: BOTH,
        tuned: "local queue of 500, batched completions",
        recovery: "locks of 4 h: its `resetLockedAt`",
    },
    Peer {
        name: "pg-boss",
        version: "12.35.0",
        runtime: Runtime::Node("pg-boss.mjs"),
        history: "keeps 7 d",
        manners: BOTH,
        tuned: "batches of 50, fetched on while full, LISTEN/NOTIFY",
        recovery: "expiry of 15 min: its `QUEUE_DEFAULTS`",
    },
    Peer {
        name: "procrastinate",
        version: "3.10.0",
        runtime: Runtime::Python("main.py"),
        history: "keeps",
        manners: SHIPPED,
        tuned: "",
        recovery: "never by itself, a task of one's own must: its page on stalled jobs",
    },
];
