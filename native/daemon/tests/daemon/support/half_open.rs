//! Clients that begin a conversation and leave it at that.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How far a client of HTTP goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Silent,
    HalfALine,
    HalfTheHeaders,
    IdleAfterAnAnswer,
    NoBody,
    HalfABody,
    TakesNoAnswer,
    TakesNoneOfMany,
}

/// Those that cost the daemon next to nothing but a connection.
pub(crate) const KINDS: [Kind; 7] = [
    Kind::Silent,
    Kind::HalfALine,
    Kind::HalfTheHeaders,
    Kind::IdleAfterAnAnswer,
    Kind::NoBody,
    Kind::HalfABody,
    Kind::TakesNoAnswer,
];

const METRICS: &str = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

impl Kind {
    /// A connection of this kind; the daemon may have closed it by the time that this returns.
    pub(crate) fn open(self, address: &str, token: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        // What it does not read is soon more than the system takes for it.
        set_socket_recv_buffer_size(&stream, 4 << 10).unwrap();
        stream.set_nonblocking(true).unwrap();
        let operation = |authorization: &str, body: &str| {
            format!(
                "POST /v1/operations/tier-verify HTTP/1.1\r\nHost: x\r\n{authorization}Content-Length: 18\r\n\r\n{body}"
            )
        };
        let said = match self {
            Self::Silent => String::new(),
            Self::HalfALine => "GET /hea".to_owned(),
            Self::HalfTheHeaders => "GET /healthz HTTP/1.1\r\nHost: x\r\nX-".to_owned(),
            Self::IdleAfterAnAnswer => "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
            Self::NoBody => operation("", ""),
            Self::HalfABody => operation(&format!("Authorization: Bearer {token}\r\n"), "{\"tier\""),
            Self::TakesNoAnswer => METRICS.to_owned(),
            Self::TakesNoneOfMany => METRICS.repeat(500),
        };
        // One that was closed already, or takes no more, has heard enough.
        drop(stream.write(said.as_bytes()));
        stream
    }
}

/// Whether the daemon has closed the connection; what came before is read.
pub(crate) fn is_closed(stream: &mut TcpStream) -> bool {
    let mut bytes = [0; 1 << 16];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}

/// Lets this process have as many descriptors as it may.
pub(crate) fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).unwrap();
}
