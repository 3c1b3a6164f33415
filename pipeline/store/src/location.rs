//! Where users were within the last 30 minutes, for the tools of apps that they call.

use db::{Error, query, query_as};
use records::{Geolocation, Timestamp, UserId};

use crate::Store;

impl Store {
    /// Notes where a user is, also when nothing changed: it is known for 30 minutes from `at`, or from now, on. A newer note
    /// stays. `false`: no such user, or a newer one is known.
    pub async fn note_location(
        &self,
        user: &UserId,
        place: &Geolocation,
        at: Option<Timestamp>,
    ) -> Result<bool, Error> {
        let noted = query!(
            "location/note.sql",
            user,
            place.latitude,
            place.longitude,
            place.address.as_deref(),
            place.google_place_id.as_deref(),
            place.location_type.as_deref(),
            at
        )
        .execute(self.db.pool())
        .await?;
        Ok(noted.rows_affected() > 0)
    }

    /// Where a user is, if that was noted within the last 30 minutes.
    pub async fn location(&self, user: &UserId) -> Result<Option<Geolocation>, Error> {
        Ok(query_as!("location/read.sql", user).fetch_optional(self.db.pool()).await?)
    }

    pub async fn forget_location(&self, user: &UserId) -> Result<(), Error> {
        query!("location/delete.sql", user).execute(self.db.pool()).await?;
        Ok(())
    }
}
