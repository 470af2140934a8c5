//! What is wrong with settings, found without starting a daemon.

use std::fs;
use std::io;
use std::path::Path;

use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::pool;

use crate::config::DaemonConfig;
use crate::operator::Token;

/// Refuses settings that no daemon can start with here, whatever room there is at the moment.
///
/// # Errors
/// `Config`, as for [`run`](crate::run()).
pub fn check(config: &DaemonConfig) -> Result<()> {
    config.check()?;
    pool::check(config.pool_bytes, config.pool_dir.as_deref())?;
    ssd_places(config)?;
    let token = config.http_token_file.as_deref().map(Token::read);
    token.transpose().map(drop)
}

/// Refuses paths of the ssd tier of which [`ssd_place`] says no.
pub(crate) fn ssd_places(config: &DaemonConfig) -> Result<()> {
    config.ssd.iter().try_for_each(|ssd| ssd_place(&ssd.path))
}

/// Refuses a path of the ssd tier that is no directory, or would be made in one that is missing: the disk that is not mounted
/// there must not fill the one below.
///
/// # Errors
/// `Config`, naming the path and what is missing. What else is wrong with it, opening it says.
pub(crate) fn ssd_place(path: &Path) -> Result<()> {
    let refused = |why: String| Err(Error::new(ErrorKind::Config, format!("ssd path {path:?} {why}")));
    let no_directory = || refused("is no directory: name one, which need not exist".to_owned());
    match fs::metadata(path).map_err(|error| error.kind()) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) | Err(io::ErrorKind::NotADirectory) => no_directory(),
        Err(io::ErrorKind::NotFound) => match missing_above(path) {
            Some(missing) => refused(format!(
                "cannot be made, as {missing:?} does not exist: mount the disk there, or make that directory"
            )),
            None => Ok(()),
        },
        Err(_) => Ok(()),
    }
}

/// The outermost directory that is missing, if it is not the path itself.
fn missing_above(path: &Path) -> Option<&Path> {
    let is_missing =
        |above: &&Path| matches!(fs::metadata(above), Err(error) if error.kind() == io::ErrorKind::NotFound);
    path.ancestors().skip(1).take_while(is_missing).last()
}
