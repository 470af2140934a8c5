//! What is wrong with settings, found without starting a daemon.

use pegaflow_core::error::Result;
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
    config
        .http_token_file
        .as_deref()
        .map(Token::read)
        .transpose()
        .map(drop)
}
