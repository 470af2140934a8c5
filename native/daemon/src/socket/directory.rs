//! The folders that the daemon needs: that of the socket, and that of grant files.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use pegaflow_core::error::{Error, ErrorKind, Result};
use rustix::fs::{Access, access};

/// The name of the default folders, in $XDG_RUNTIME_DIR and /run: only such a folder is made.
const DEFAULT_NAME: &str = "pegaflow";

/// Refuses a socket whose folder cannot hold it; makes a default folder with mode 0700.
pub(super) fn prepare(socket: &Path) -> Result<()> {
    let Some(directory) = socket
        .parent()
        .filter(|_| socket.is_absolute() && socket.file_name().is_some())
    else {
        return Err(refused(
            socket,
            "is not an absolute path of a file",
            "give one such as /run/pegaflow/daemon.sock",
        ));
    };
    if directory.file_name().is_some_and(|name| name == DEFAULT_NAME) {
        match DirBuilder::new().mode(0o700).create(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(refused(
                    socket,
                    &format!(
                        "cannot be made: {} cannot be created ({error})",
                        directory.display()
                    ),
                    "create it, or choose a socket elsewhere",
                ));
            }
            _ => {}
        }
    }
    match fs::metadata(directory) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => {
            return Err(refused(
                socket,
                "is not in a directory",
                "choose a socket elsewhere",
            ));
        }
        Err(error) => {
            let what = format!("cannot be made: {} cannot be used ({error})", directory.display());
            return Err(refused(
                socket,
                &what,
                "create that directory, or choose a socket elsewhere",
            ));
        }
    }
    access(directory, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
        let what = format!(
            "cannot be made: {} cannot be written ({error})",
            directory.display()
        );
        refused(
            socket,
            &what,
            "give the daemon's user write access, or choose a socket elsewhere",
        )
    })
}

/// Makes `directory` anew, or empties it of what a daemon that was killed left there.
pub(super) fn make_empty(directory: &Path, is_shared: bool) -> Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("empty", directory, error)),
        _ => make(directory, if is_shared { 0o711 } else { 0o700 }),
    }
}

/// The mode of the folder that a socket is in.
pub(super) fn mode_above(socket: &Path) -> Result<u32> {
    let metadata = fs::metadata(above(socket)).map_err(|error| io_error("look at", above(socket), error))?;
    Ok(metadata.permissions().mode() & 0o7777)
}

/// Makes the folder that a socket was in again, with this mode, unless it is there.
pub(super) fn make_above(socket: &Path, mode: u32) -> Result<()> {
    if above(socket).exists() {
        return Ok(());
    }
    make(above(socket), mode)
}

fn above(socket: &Path) -> &Path {
    socket.parent().unwrap_or(Path::new("/"))
}

/// Members of the socket's group reach their own files in a folder of mode 0711 by name, and cannot list the others.
fn make(directory: &Path, mode: u32) -> Result<()> {
    DirBuilder::new()
        .mode(0o700)
        .create(directory)
        .map_err(|error| io_error("create", directory, error))?;
    fs::set_permissions(directory, Permissions::from_mode(mode))
        .map_err(|error| io_error("set the mode of", directory, error))
}

fn io_error(what: &str, directory: &Path, error: io::Error) -> Error {
    Error::io(format_args!("{what} {}", directory.display()), error)
}

fn refused(socket: &Path, what: &str, remedy: &str) -> Error {
    Error::new(
        ErrorKind::Config,
        format!("socket = {} {what}: {remedy}", socket.display()),
    )
}
