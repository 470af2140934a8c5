//! Where HTTP is served.

use std::io;
use std::net::{Ipv4Addr, TcpListener, ToSocketAddrs};

use pegaflow_core::error::{Error, ErrorKind, Result};
use rustix::net::listen;

/// The first port that is tried when none is given.
const FIRST_PORT: u16 = 9_091;
/// The last one; after it the system chooses.
const LAST_PORT: u16 = 9_190;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1_024;

/// Listens at the address that was given, or else on loopback at the first port that is free.
///
/// # Errors
/// `Config` for a given address that cannot be used.
pub(crate) fn bind(address: Option<&str>) -> Result<TcpListener> {
    let listener = match address {
        Some(address) => bind_given(address)?,
        None => bind_free()?,
    };
    listener
        .set_nonblocking(true)
        .map_err(|error| Error::io("serve HTTP", error))?;
    // Whoever finds the queue full tries again a second later only, and the library's is short.
    listen(&listener, BACKLOG).map_err(|error| Error::io("serve HTTP", error.into()))?;
    Ok(listener)
}

fn bind_given(address: &str) -> Result<TcpListener> {
    let refused = |why: io::Error| {
        let remedy = "give host:port of this host that is free, or leave it out";
        Error::new(
            ErrorKind::Config,
            format!("http_addr = {address} cannot be used ({why}): {remedy}"),
        )
    };
    let candidates: Vec<_> = address.to_socket_addrs().map_err(refused)?.collect();
    TcpListener::bind(&*candidates).map_err(refused)
}

fn bind_free() -> Result<TcpListener> {
    let mut ports = (FIRST_PORT..=LAST_PORT).chain([0]);
    let taken = |bound: &io::Result<TcpListener>| {
        bound
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
    };
    ports
        .by_ref()
        .map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)))
        .find(|bound| !taken(bound))
        .unwrap_or_else(|| Err(io::ErrorKind::AddrInUse.into()))
        .map_err(|error| Error::io("serve HTTP on 127.0.0.1", error))
}
