//! What is wrong with settings, found without starting a daemon.

use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::pool;

use crate::config::{DaemonConfig, SsdPath};
use crate::operator::Token;

/// Refuses settings that no daemon can start with here, whatever room there is at the moment.
///
/// # Errors
/// `Config`, as for [`run`](crate::run()).
pub fn check(config: &DaemonConfig) -> Result<()> {
    config.check()?;
    pool::check(config.pool_bytes, config.pool_dir.as_deref())?;
    config.ssd.iter().try_for_each(check_ssd_path)?;
    let token = config.http_token_file.as_deref().map(Token::read);
    token.transpose().map(drop)
}

fn check_ssd_path(SsdPath { path, .. }: &SsdPath) -> Result<()> {
    if path.exists() && !path.is_dir() {
        return Err(Error::new(
            ErrorKind::Config,
            format!("ssd path {path:?} is no directory: name one, which need not exist"),
        ));
    }
    Ok(())
}
