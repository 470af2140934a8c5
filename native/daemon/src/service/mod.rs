//! What is served over the Unix socket.

mod attach;
mod caller;
mod check;
mod control;
mod engine;
mod layer;
mod load;
mod lookup;
mod memory;
mod operate;
mod refusal;
mod register;
mod save;
mod server;

pub(crate) use server::serve;
