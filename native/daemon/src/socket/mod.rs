//! The daemon's place in the file system: the socket, its lock, and the folder of grant files.

mod directory;
mod listener;
mod lock;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use pegaflow_core::error::Result;
use rustix::fs::Gid;

use self::lock::SocketLock;
use crate::boot::Boot;
use crate::config::DaemonConfig;

/// A socket that this daemon alone serves; its files are removed when this is dropped.
#[derive(Debug)]
pub(crate) struct SocketPlace {
    socket: PathBuf,
    grants: PathBuf,
    group: Option<Gid>,
    /// The mode of the folder that the socket is in.
    mode: u32,
    /// Device and number of the socket's file; None before there is one.
    file: Option<(u64, u64)>,
    /// The last to go: with it, the place is free.
    lock: SocketLock,
}

impl SocketPlace {
    /// Takes the place, which no living daemon may have, and listens there.
    ///
    /// # Errors
    /// `Config`, with what is in the way and what to do about it.
    pub(crate) fn take(config: &DaemonConfig, boot: &Boot) -> Result<(Self, UnixListener)> {
        let socket = &config.socket;
        directory::prepare(socket)?;
        let lock = SocketLock::take(socket, boot.process)?;
        let group = config
            .socket_group
            .as_deref()
            .map(listener::group_id)
            .transpose()?;
        listener::remove_stale(socket)?;
        // From here on, what is at these paths is this daemon's, and goes with the place.
        let mut place = Self {
            socket: socket.clone(),
            grants: grants_directory(socket),
            group,
            mode: directory::mode_above(socket)?,
            file: None,
            lock,
        };
        directory::make_empty(&place.grants, group.is_some())?;
        let listener = place.listen()?;
        Ok((place, listener))
    }

    /// Makes again what was removed, so that who tidies a folder up cuts no engine off; a new listener if the socket is new.
    ///
    /// # Errors
    /// Why it cannot be made; `Config` when it is another daemon's now.
    pub(crate) fn restore(&mut self, boot: &Boot) -> Result<Option<UnixListener>> {
        let (has_grants, has_socket) = (self.grants.exists(), self.socket.symlink_metadata().is_ok());
        if has_grants && has_socket {
            return Ok(None);
        }
        directory::make_above(&self.socket, self.mode)?;
        if !has_grants {
            directory::make_empty(&self.grants, self.group.is_some())?;
            tracing::warn!(
                "{} was removed while it was in use, and is there again",
                self.grants.display()
            );
        }
        if has_socket {
            return Ok(None);
        }
        if !self.lock.is_in_place() {
            self.lock = SocketLock::take(&self.socket, boot.process)?;
        }
        let listener = self.listen()?;
        tracing::warn!(
            "{} was removed while it was in use, and is there again",
            self.socket.display()
        );
        Ok(Some(listener))
    }

    fn listen(&mut self) -> Result<UnixListener> {
        let listener = listener::listen(&self.socket, self.group)?;
        self.file = identity(&self.socket);
        Ok(listener)
    }
}

/// Which file is at a path.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

impl Drop for SocketPlace {
    fn drop(&mut self) {
        if identity(&self.socket).is_some_and(|found| Some(found) != self.file) {
            // Somebody else's is there, in the place of what was removed.
            return;
        }
        // The next daemon replaces what cannot be removed here.
        drop(fs::remove_file(&self.socket));
        drop(fs::remove_dir_all(&self.grants));
    }
}

/// Where the grant files of the daemon at `socket` are.
pub(crate) fn grants_directory(socket: &Path) -> PathBuf {
    DaemonConfig::beside_socket(socket, ".grants")
}
