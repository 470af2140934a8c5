//! The wire schema of PegaFlow: generated messages, clients and servers, and the limits of the protocol.
//!
//! `src/v1.rs` is generated from `pegaflow/v1/*.proto` and committed, so that a build needs no protobuf
//! compiler; `tests/generated_code_is_current.rs` compares the two and can write the file anew.

pub mod limits;
#[expect(
    missing_docs,
    unused_qualifications,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    reason = "generated code"
)]
#[rustfmt::skip]
pub mod v1;
mod version;

pub use version::{PROTOCOL_VERSION, is_compatible};
