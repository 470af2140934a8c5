//! Tests of the policies: the contract, on all of them, and what makes each what it is.

mod conformance;
mod density;
mod lru;
mod s3fifo;
