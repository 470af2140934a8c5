//! A stream that ends when its connection has to make room.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;
use tonic::transport::server::Connected;

use super::{Connections, Usage};

/// One connection of a server, which counts as open until this is dropped.
#[derive(Debug)]
pub(crate) struct Connection<S> {
    stream: S,
    /// None: it has ended.
    ended: Option<oneshot::Receiver<()>>,
    of: Arc<Connections>,
    number: u64,
    usage: Usage,
}

impl<S> Connection<S> {
    pub(super) fn new(
        stream: S,
        ended: oneshot::Receiver<()>,
        of: Arc<Connections>,
        number: u64,
        usage: Usage,
    ) -> Self {
        Self {
            stream,
            ended: Some(ended),
            of,
            number,
            usage,
        }
    }

    /// What says that it is in use.
    pub(crate) fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Nothing moves any more once the connection has ended, which wakes whoever waits for anything to move.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        let has_ended = match &mut self.ended {
            Some(ended) => Pin::new(ended).poll(context).is_ready(),
            None => true,
        };
        if has_ended {
            self.ended = None;
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }
}

impl<S> Drop for Connection<S> {
    fn drop(&mut self) {
        self.of.forget(self.number);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// What the calls of a connection know of it.
#[derive(Debug, Clone)]
pub(crate) struct CallerInfo<I> {
    /// Who is on the other side.
    pub(crate) peer: I,
    /// What says that the connection is in use.
    pub(crate) usage: Usage,
}

impl<S: Connected> Connected for Connection<S> {
    type ConnectInfo = CallerInfo<S::ConnectInfo>;

    fn connect_info(&self) -> Self::ConnectInfo {
        CallerInfo {
            peer: self.stream.connect_info(),
            usage: self.usage.clone(),
        }
    }
}
