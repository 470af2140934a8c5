//! What is wrong with a pool's settings, found without making one.

use std::path::Path;

use super::geometry::Geometry;
use super::machine;
use super::place::Place;
use crate::error::Result;

/// Refuses a size and a directory that no daemon can start with here, whatever room there is at the moment.
///
/// # Errors
/// `Config`, as for the start.
pub fn check(pool_bytes: u64, dir: Option<&Path>) -> Result<()> {
    machine::check_pool_fits(pool_bytes)?;
    let huge_page_bytes = match (dir, Place::directory(dir)) {
        (_, Ok(Place::Directory { huge_page_bytes, .. })) => huge_page_bytes,
        (Some(_), Err(error)) => return Err(error),
        // Without a directory that can be used it is anonymous memory.
        (_, Ok(Place::Anonymous { .. }) | Err(_)) => 0,
    };
    Geometry::of(pool_bytes, huge_page_bytes).map(drop)
}
