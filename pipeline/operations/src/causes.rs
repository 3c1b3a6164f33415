//! Of what the dead letters died that a filter finds.

use db::Error;
use sqlx::QueryBuilder;

use crate::{JobFilter, Operations};

/// Dead letters that are looked at; where there are more, the newest ones.
const MOST: i64 = 10_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    /// Per failure code, most frequent first.
    pub codes: Vec<Cause>,
    /// There were more than 10,000: only the newest of them were looked at.
    pub cut: bool,
}

/// The dead letters of one cause.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Cause {
    pub code: String,
    /// How many, settled ones among them.
    pub jobs: i64,
    pub settled: i64,
}

impl Causes {
    /// Adds what was found in another shard.
    pub fn add(&mut self, other: &Self) {
        for found in &other.codes {
            match self.codes.iter_mut().find(|cause| cause.code == found.code) {
                Some(cause) => {
                    cause.jobs += found.jobs;
                    cause.settled += found.settled;
                }
                None => self.codes.push(found.clone()),
            }
        }
        self.codes.sort_by(|one, two| (two.jobs, &one.code).cmp(&(one.jobs, &two.code)));
        self.cut |= other.cut;
    }
}

impl Operations {
    /// Counts the dead letters that `filter` finds, whatever its status, place and limit say.
    ///
    /// # Errors
    /// When the database does not answer within its limits.
    pub async fn causes(&self, filter: &JobFilter) -> Result<Causes, Error> {
        let dead = JobFilter { status: Some("dead_letter".to_owned()), ..filter.clone() };
        let (mut transaction, _) = self.db.begin().await?;
        let mut query = QueryBuilder::new(
            "select dead_code as code, count(*) as jobs, count(settled_at) as settled from \
                 (select dead_code, settled_at from finalization_jobs where status = 'dead_letter'",
        );
        dead.narrow(&mut query);
        query.push(" order by created_at desc, job_id desc limit ").push_bind(MOST + 1);
        query.push(") found group by dead_code order by 2 desc, 1");
        let codes: Vec<Cause> = query.build_query_as().fetch_all(&mut *transaction).await?;
        let cut = codes.iter().map(|cause| cause.jobs).sum::<i64>() > MOST;
        Ok(Causes { codes, cut })
    }
}
