//! Binding the socket so that nobody but its owner can ever connect in between.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;

use pegaflow_core::error::{Error, ErrorKind, Result};
use rustix::fs::{Gid, Mode, chown, fchmod};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen as start_listening,
    socket_with,
};

/// Connections that wait to be accepted: the most that the system allows by default, as whoever finds the queue full is refused.
const BACKLOG: i32 = 4_096;

/// Listens at `path`, where nothing is, with mode 0600, or with 0660 for the members of `group`.
pub(super) fn listen(path: &Path, group: Option<Gid>) -> Result<UnixListener> {
    let bound = bind_owner_only(path).map_err(|error| io_error("listen at", path, error))?;
    if let Some(group) = group {
        chown(path, None, Some(group))
            .map_err(|error| io_error("give to the socket's group", path, error.into()))?;
        fs::set_permissions(path, Permissions::from_mode(0o660))
            .map_err(|error| io_error("set the mode of", path, error))?;
    }
    Ok(bound)
}

/// The number of a group of this host, given by name or number.
pub(super) fn group_id(group: &str) -> Result<Gid> {
    let by_number = group.parse().ok();
    let by_name = || {
        let table = fs::read_to_string("/etc/group").ok()?;
        table.lines().find_map(|line| {
            let mut fields = line.split(':');
            (fields.next() == Some(group))
                .then(|| fields.nth(1)?.parse().ok())
                .flatten()
        })
    };
    by_number.or_else(by_name).map(Gid::from_raw).ok_or_else(|| {
        Error::new(
            ErrorKind::Config,
            format!("socket_group = {group} is not in /etc/group: give the name of a group there, or a group's number"),
        )
    })
}

/// Removes a socket from `path`: the lock is held, so its daemon has ended, unless somebody removed the lock's file.
pub(super) fn remove_stale(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() && is_listening(path) => Err(Error::new(
            ErrorKind::Config,
            format!(
                "a daemon serves {} already, though its lock's file is gone: end it with `pegaflow stop`, or choose another socket",
                path.display()
            ),
        )),
        Ok(found) if found.file_type().is_socket() => {
            fs::remove_file(path).map_err(|error| io_error("replace", path, error))
        }
        Ok(_) => Err(Error::new(
            ErrorKind::Config,
            format!(
                "socket = {} is there and is not a socket: remove it, or choose another path",
                path.display()
            ),
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io_error("look at", path, error)),
    }
}

/// Whether there is a process behind the socket, be it stopped or out of room for connections.
fn is_listening(path: &Path) -> bool {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (Ok(socket), Ok(address)) = (
        socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None),
        SocketAddrUnix::new(path),
    ) else {
        return false;
    };
    matches!(connect(&socket, &address), Ok(()) | Err(Errno::AGAIN))
}

fn bind_owner_only(path: &Path) -> io::Result<UnixListener> {
    let socket = socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    // Linux gives the file the mode of the socket: it is never open to others, not even for a moment.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    start_listening(&socket, BACKLOG)?;
    Ok(socket.into())
}

fn io_error(what: &str, path: &Path, error: io::Error) -> Error {
    Error::io(format_args!("{what} {}", path.display()), error)
}
