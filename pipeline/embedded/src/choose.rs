//! Which programs a cluster is started with.

use crate::home::Home;
use crate::places::Places;
use crate::programs::{OLDEST_MAJOR, Programs, on_this_machine};
use crate::{Error, fetch};

/// The programs to start `home`'s cluster with: those of `PG_BIN_DIR`, else the machine's, else those
/// fetched before, else those fetched now. Versions that already have data in `home` come first: a
/// cluster of another version would start empty.
pub(crate) async fn choose(home: &Home, places: &Places, notice: fn(&str)) -> Result<Programs, Error> {
    if let Some(path) = &places.bin_dir {
        let bad = || Error::BadBinDir { path: path.clone(), minimum: OLDEST_MAJOR };
        return Programs::at(path, &home.owner).await.ok_or_else(bad);
    }
    let mut found = Vec::new();
    if places.system {
        found = on_this_machine(places, &home.owner).await;
    }
    found.extend(fetch::cached(places, &home.owner).await);
    let majors = home.majors();
    found.sort_by_key(|programs| !majors.contains(&programs.major));
    let Some(best) = found.into_iter().next() else {
        return fetch::fetch(places, &home.owner, notice).await.map_err(Error::NoPrograms);
    };
    if !majors.is_empty() && !majors.contains(&best.major) {
        notice(&format!(
            "{} has data of PostgreSQL {majors:?}, but only version {} was found: it starts empty, the old \
             data stays where it is (pg_dump moves it)",
            home.dir.display(),
            best.major
        ));
    }
    Ok(best)
}
