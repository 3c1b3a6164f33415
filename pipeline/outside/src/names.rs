//! Resolves names with a time limit and in bounded numbers, once for all who ask for the same name, and remembers the answers for
//! a short while. A slow name server costs its own user's calls their time, and other users' calls nothing: a look-up is shared
//! once it runs, and each user waits for a place of the user's own until then.

use std::{collections::HashMap, io, net::IpAddr, sync::Arc, time::Duration};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use parking_lot::Mutex;
use reqwest::Url;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

use crate::lookup::Lookup;

/// How long a caller waits for an answer.
const TIME_LIMIT: Duration = Duration::from_secs(3);
/// Look-ups under way at once. One that its callers gave up keeps its place until it ends.
const AT_ONCE: usize = 32;
/// Of them, one user's.
const PER_USER: usize = 2;
/// The operating system's resolver tells no lifetime of its answers.
const FOUND_FOR: Duration = Duration::from_secs(30);
const MISSING_FOR: Duration = Duration::from_secs(5);
/// Remembered at most.
const REMEMBERED: usize = 4_096;

type Found = Result<Arc<[IpAddr]>, io::ErrorKind>;

/// Resolves names. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Names(Arc<Inner>);

struct Inner {
    lookup: Arc<dyn Lookup>,
    at_once: Arc<Semaphore>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    names: HashMap<String, Known>,
    /// Of users with look-ups under way, or waiting for a place.
    users: HashMap<String, Arc<Semaphore>>,
}

#[derive(Clone)]
enum Known {
    Running(Shared<BoxFuture<'static, Found>>),
    Answered { found: Found, at: Instant, lasts: Duration },
}

impl Known {
    async fn found(self) -> Found {
        match self {
            Self::Running(running) => running.await,
            Self::Answered { found, .. } => found,
        }
    }

    /// A look-up that panicked has ended without an answer.
    fn is_current(&self, now: Instant) -> bool {
        match self {
            Self::Running(running) => running.peek().is_none(),
            Self::Answered { at, lasts, .. } => *at + *lasts > now,
        }
    }
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Names")
    }
}

impl Names {
    pub(crate) fn new(lookup: Arc<dyn Lookup>) -> Self {
        Self(Arc::new(Inner { lookup, at_once: Semaphore::new(AT_ONCE).into(), state: Mutex::default() }))
    }

    /// The addresses of `url`'s host, for a call of `user`'s; none where they stand in it.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub(crate) async fn of(&self, user: &str, url: &Url) -> io::Result<Arc<[IpAddr]>> {
        match url.domain() {
            Some(name) => self.find(user, name).await,
            None => Ok(Arc::default()),
        }
    }

    /// A call of `url` failed, perhaps because its host has moved: its addresses are looked up again after five seconds.
    pub(crate) fn look_up_again_soon(&self, url: &Url) {
        let mut state = self.0.state.lock();
        let known = url.domain().and_then(|name| state.names.get_mut(name));
        if let Some(Known::Answered { lasts, .. }) = known {
            *lasts = MISSING_FOR;
        }
    }

    /// The addresses of `name`, for a call of `user`'s. Addresses are remembered, not whether they may be called.
    ///
    /// # Errors
    /// What the look-up says; [`io::ErrorKind::TimedOut`] after three seconds.
    async fn find(&self, user: &str, name: &str) -> io::Result<Arc<[IpAddr]>> {
        let found = async {
            let known = self.0.known(name);
            match known {
                Some(known) => known.found().await,
                None => {
                    let places = self.0.places(user).await?;
                    self.0.known_or_begun(name, places).found().await
                }
            }
        };
        let found = timeout(TIME_LIMIT, found).await.unwrap_or(Err(io::ErrorKind::TimedOut));
        found.map_err(io::Error::from)
    }
}

/// One of a user's, and one of all; the look-up gives them back.
type Places = (OwnedSemaphorePermit, OwnedSemaphorePermit);

impl Inner {
    fn known(&self, name: &str) -> Option<Known> {
        self.state.lock().known(name, Instant::now())
    }

    async fn places(&self, user: &str) -> Result<Places, io::ErrorKind> {
        let of_user = {
            let mut state = self.state.lock();
            state.users.retain(|_, of_user| Arc::strong_count(of_user) > 1);
            let of_user =
                state.users.entry(user.to_owned()).or_insert_with(|| Semaphore::new(PER_USER).into());
            Arc::clone(of_user)
        };
        let closed = |_| io::ErrorKind::Other;
        let of_user = of_user.acquire_owned().await.map_err(closed)?;
        Ok((of_user, Arc::clone(&self.at_once).acquire_owned().await.map_err(closed)?))
    }

    /// What has become known since, or a look-up in these places.
    fn known_or_begun(self: &Arc<Self>, name: &str, places: Places) -> Known {
        let now = Instant::now();
        let mut state = self.state.lock();
        if let Some(known) = state.known(name, now) {
            return known;
        }
        let lookup = tokio::spawn(Arc::clone(self).look_up(places, name.to_owned()));
        // A task of its own: it ends, and frees its places, whatever becomes of those who wait for it.
        let running = async { lookup.await.unwrap_or(Err(io::ErrorKind::Other)) }.boxed().shared();
        if state.names.len() >= REMEMBERED {
            state.names.retain(|_, known| matches!(known, Known::Running(_)) && known.is_current(now));
        }
        state.names.insert(name.to_owned(), Known::Running(running.clone()));
        Known::Running(running)
    }

    async fn look_up(self: Arc<Self>, _until_known: Places, name: String) -> Found {
        let found = self.lookup.lookup(&name).await.map(Arc::from).map_err(|error| error.kind());
        let lasts = if found.is_ok() { FOUND_FOR } else { MISSING_FOR };
        let answered = Known::Answered { found: found.clone(), at: Instant::now(), lasts };
        self.state.lock().names.insert(name, answered);
        found
    }
}

impl State {
    fn known(&self, name: &str, now: Instant) -> Option<Known> {
        self.names.get(name).filter(|known| known.is_current(now)).cloned()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Answers after a while: names that begin with `slow` after 30 s, those that end with `missing` with an error.
    #[derive(Default)]
    struct Server {
        asked: AtomicUsize,
        running: AtomicUsize,
        most: AtomicUsize,
    }

    impl Lookup for Server {
        fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
            async move {
                self.asked.fetch_add(1, Ordering::SeqCst);
                let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
                self.most.fetch_max(running, Ordering::SeqCst);
                let takes = if name.starts_with("slow") { 30_000 } else { 10 };
                tokio::time::sleep(Duration::from_millis(takes)).await;
                self.running.fetch_sub(1, Ordering::SeqCst);
                match name.ends_with("missing") {
                    true => Err(io::ErrorKind::NotFound.into()),
                    false => Ok(vec![IpAddr::from([8, 8, 8, 8])]),
                }
            }
            .boxed()
        }
    }

    fn names() -> (Arc<Server>, Names) {
        let server = Arc::new(Server::default());
        (Arc::clone(&server), Names::new(server))
    }

    async fn kind(names: &Names, user: &str, name: &str) -> Result<usize, io::ErrorKind> {
        names.find(user, name).await.map(|found| found.len()).map_err(|error| error.kind())
    }

    #[tokio::test(start_paused = true)]
    async fn dns_slow_lookup_times_out_and_its_late_answer_is_cached() {
        let (server, names) = names();
        let began = Instant::now();
        assert_eq!(kind(&names, "ann", "slow").await, Err(io::ErrorKind::TimedOut));
        assert_eq!(began.elapsed(), TIME_LIMIT);
        assert_eq!(kind(&names, "ann", "slow").await, Err(io::ErrorKind::TimedOut));
        tokio::time::sleep(Duration::from_secs(25)).await;
        assert_eq!(kind(&names, "ann", "slow").await, Ok(1));
        assert_eq!(server.asked.load(Ordering::SeqCst), 1, "asked once for all of them");
    }

    #[tokio::test(start_paused = true)]
    async fn dns_slow_lookups_of_some_users_do_not_delay_others() {
        let (server, names) = names();
        for user in 0..8 {
            for name in 0..20 {
                let names = names.clone();
                let (user, name) = (format!("user{user}"), format!("slow{name}.of{user}"));
                tokio::spawn(async move { names.find(&user, &name).await });
            }
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        let began = Instant::now();
        assert_eq!(kind(&names, "bob", "fast").await, Ok(1));
        assert!(began.elapsed() < Duration::from_millis(50), "{:?}", began.elapsed());
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert!(server.most.load(Ordering::SeqCst) <= 8 * PER_USER + 1, "two at once of each");
        let state = names.0.state.lock();
        let running = state.names.values().filter(|known| matches!(known, Known::Running(_))).count();
        assert_eq!(running, 0, "what never had its turn is forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn dns_lookup_queued_for_one_user_runs_at_once_for_another() {
        let (server, names) = names();
        let ask = |name: &'static str| {
            let names = names.clone();
            tokio::spawn(async move { kind(&names, "ann", name).await })
        };
        let slow = ["slow.one", "slow.two"].map(ask);
        tokio::task::yield_now().await;
        let anns = ask("hooks.example");
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(server.asked.load(Ordering::SeqCst), PER_USER, "ann's other name waits for a place");
        let began = Instant::now();
        assert_eq!(kind(&names, "bob", "hooks.example").await, Ok(1));
        assert!(began.elapsed() < Duration::from_millis(50), "{:?}", began.elapsed());
        assert_eq!(kind(&names, "ann", "hooks.example").await, Ok(1), "what bob found is ann's, too");
        assert_eq!(server.asked.load(Ordering::SeqCst), PER_USER + 1);
        assert_eq!(anns.await.unwrap(), Err(io::ErrorKind::TimedOut), "it had no place in time");
        for asked in slow {
            assert_eq!(asked.await.unwrap(), Err(io::ErrorKind::TimedOut));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn dns_concurrent_lookups_are_bounded() {
        let (server, names) = names();
        for user in 0..100 {
            let names = names.clone();
            tokio::spawn(async move { names.find(&format!("user{user}"), &format!("slow{user}")).await });
        }
        tokio::time::sleep(Duration::from_secs(100)).await;
        assert_eq!(server.most.load(Ordering::SeqCst), AT_ONCE);
    }

    #[tokio::test(start_paused = true)]
    async fn dns_answers_are_cached_briefly_and_failures_shorter() {
        let (server, names) = names();
        let asked = || server.asked.load(Ordering::SeqCst);
        for (name, answer, lasts) in
            [("name", Ok(1), FOUND_FOR), ("missing", Err(io::ErrorKind::NotFound), MISSING_FOR)]
        {
            let before = asked();
            for _ in 0..3 {
                assert_eq!(kind(&names, "ann", name).await, answer);
            }
            assert_eq!(asked(), before + 1);
            tokio::time::advance(lasts).await;
            assert_eq!(kind(&names, "bob", name).await, answer);
            assert_eq!(asked(), before + 2);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn dns_cache_is_bounded() {
        let (_, names) = names();
        for name in 0..REMEMBERED + 10 {
            names.find("ann", &format!("{name}")).await.unwrap();
        }
        assert!(names.0.state.lock().names.len() <= REMEMBERED);
    }
}
