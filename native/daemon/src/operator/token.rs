//! The secret that lets HTTP change something.

use std::fs::OpenOptions;
use std::hint::black_box;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use axum::http::HeaderValue;
use pegaflow_core::error::{Error, ErrorKind, Result};
use rustix::fs::OFlags;
use rustix::process::geteuid;
use sha2::{Digest, Sha256};

/// Fewer characters can be guessed.
const TOKEN_BYTES_MIN: usize = 16;
/// More is no token.
const TOKEN_BYTES_MAX: usize = 4096;
/// Whose case says nothing.
const SCHEME: &[u8] = b"bearer ";

/// A digest of the token: as long for each, so that comparing says nothing of it.
#[derive(Debug)]
pub(crate) struct Token([u8; 32]);

impl Token {
    /// Reads the token that a file holds, without the white space around it.
    ///
    /// # Errors
    /// `Config` for a file that cannot be read, that others than its owner can read, or that holds no token.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let refused = |why: String| {
            let message = format!("http_token_file = {} {why}", path.display());
            Error::new(ErrorKind::Config, message)
        };
        let unreadable = |error| {
            refused(format!(
                "cannot be read ({error}): name a file that holds the token"
            ))
        };
        // A pipe in its place is refused, and not waited for.
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(path)
            .map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(refused("is no file: name one that holds the token".to_owned()));
        }
        let mode = metadata.mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(refused(format!(
                "has mode {mode:04o}: others than its owner can use the token, take that away with `chmod 600`"
            )));
        }
        let (owner, own) = (metadata.uid(), geteuid().as_raw());
        if owner != own && owner != 0 {
            return Err(refused(format!(
                "belongs to user {owner}, who could change the token: it must be of user {own} or root"
            )));
        }
        let mut bytes = Vec::new();
        file.take(TOKEN_BYTES_MAX as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        let token = bytes.trim_ascii();
        if !(TOKEN_BYTES_MIN..=TOKEN_BYTES_MAX).contains(&token.len())
            || !token.iter().all(u8::is_ascii_graphic)
        {
            return Err(refused(format!(
                "holds {} bytes: a token has {TOKEN_BYTES_MIN} to {TOKEN_BYTES_MAX} printable ASCII characters, as `openssl rand -hex 32` makes one",
                token.len()
            )));
        }
        Ok(Self::of(token))
    }

    /// Whether an `Authorization` header bears the token.
    pub(super) fn admits(&self, authorization: Option<&HeaderValue>) -> bool {
        let given = authorization.map_or(&[][..], HeaderValue::as_bytes);
        let given = given.split_at_checked(SCHEME.len());
        let given = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(SCHEME));
        let given = Self::of(given.map_or(&[][..], |(_, token)| token.trim_ascii()));
        let pairs = self.0.iter().zip(&given.0);
        // Each byte counts, wherever the first difference is.
        pairs.fold(0, |different, (own, other)| black_box(different | (own ^ other))) == 0
    }

    fn of(token: &[u8]) -> Self {
        Self(Sha256::digest(token).into())
    }
}

#[cfg(test)]
mod tests;
