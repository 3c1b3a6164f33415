//! Wake-ups between processes: at most a few `NOTIFY` in some milliseconds, always after the commit and never in
//! a deciding transaction, where it would destroy group commit (DESIGN §5). A lost one costs a poll interval.

use std::{sync::Arc, time::Duration};

use job::Queue;
use sqlx::postgres::PgListener;
use tokio::time::{Instant, sleep_until, timeout};

use crate::{Db, connect::of_one, error::Error, query};

/// Others are notified at once so many times in so long; then notifications of many commits travel as one. A timer is too coarse to
/// notify them evenly: waiting for one takes milliseconds.
const AT_ONCE: u32 = 4;
const GATHER: Duration = Duration::from_millis(5);
/// After so much silence the connection is asked whether it is still there: one that a firewall forgot is silent for ever.
const SILENCE: Duration = Duration::from_secs(10);
/// How long it may take to say so.
const SIGN_OF_LIFE: Duration = Duration::from_secs(3);
/// How long to wait before a broken connection is made anew.
const AGAIN: Duration = Duration::from_secs(1);

impl Db {
    /// Tells other processes of work that was committed here, and this one of theirs, until dropped. Has a
    /// connection of its own to hear, and borrows one to tell. Where it does not run, polling does the same up to a second later.
    pub async fn carry_wakes(&self) {
        tokio::join!(self.tell_others(), self.hear_others());
    }

    async fn tell_others(&self) {
        let (mut since, mut told) = (Instant::now(), 0);
        loop {
            self.waker.queued_here().await;
            if told >= AT_ONCE {
                sleep_until(since + GATHER).await;
            }
            if since.elapsed() >= GATHER {
                (since, told) = (Instant::now(), 0);
            }
            for queue in self.waker.take_unsent() {
                told += 1;
                if let Err(error) = self.in_time(self.notify(queue)).await {
                    tracing::debug!(%error, "other processes were not woken; they poll");
                }
            }
        }
    }

    async fn notify(&self, queue: Queue) -> Result<(), Error> {
        query!("wakes/notify.sql", self.shard.channel(), queue.as_str()).execute(&self.pool).await?;
        Ok(())
    }

    async fn hear_others(&self) {
        loop {
            if let Err(error) = self.hear_until_broken().await {
                tracing::debug!(%error, "wake-ups of other processes are not heard; polling goes on");
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    async fn hear_until_broken(&self) -> Result<(), Error> {
        let here = self.pool.connect_options();
        let mut listener = self
            .in_time(async {
                // A dropped listener says goodbye to the server first, and to a silent one it does so until TCP
                // gives up: it must hold no place of the pool meanwhile.
                let mut listener = PgListener::connect_with(&of_one(here.as_ref().clone())).await?;
                listener.eager_reconnect(false);
                listener.listen(&self.shard.channel()).await?;
                Ok(listener)
            })
            .await?;
        // What was written while no one listened is looked for.
        Queue::ALL.iter().for_each(|queue| self.waker.job_queued_elsewhere(*queue));
        loop {
            match timeout(SILENCE, listener.try_recv()).await {
                Ok(heard) => {
                    // Nothing: the server has ended the session.
                    let Some(told) = heard? else { return Ok(()) };
                    if let Some(queue) = Queue::from_name(told.payload()) {
                        self.waker.job_queued_elsewhere(queue);
                    }
                }
                // The other sessions are opened at another server by now.
                Err(_) if !Arc::ptr_eq(&here, &self.pool.connect_options()) => return Ok(()),
                Err(_) => {
                    let asked = query!("sessions/sign_of_life.sql").execute(&mut listener);
                    self.within(SIGN_OF_LIFE, async { Ok(asked.await?) }).await?;
                }
            }
        }
    }
}
