//! Pages lent to a copy: borrowed from what keeps them in place, so that no copy outlives its page.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::lease::LoadPass;
use crate::pool::PagePtr;
use crate::store::PageWriter;

/// A page that takes the bytes of block `block`.
#[derive(Debug)]
pub struct SavePage<'a> {
    block: u32,
    page: PagePtr,
    writer: PhantomData<&'a mut [u8]>,
}

impl<'a> SavePage<'a> {
    /// The page that `writer` has reserved.
    pub fn new(block: u32, writer: &'a mut PageWriter) -> Self {
        Self {
            block,
            page: writer.page(),
            writer: PhantomData,
        }
    }

    /// Bytes that are not in the pool.
    pub fn from_bytes(block: u32, bytes: &'a mut [u8]) -> Self {
        Self {
            block,
            page: PagePtr::new(NonNull::from(&mut *bytes).cast(), bytes.len()),
            writer: PhantomData,
        }
    }

    /// The engine's block.
    pub fn block(&self) -> u32 {
        self.block
    }

    /// Where its bytes go.
    pub fn page(&self) -> PagePtr {
        self.page
    }
}

/// A page that holds the bytes for block `block`.
#[derive(Debug)]
pub struct LoadPage<'a> {
    block: u32,
    page: PagePtr,
    pin: PhantomData<&'a [u8]>,
}

impl<'a> LoadPage<'a> {
    /// One shard's page of the block at `index` of a load; `None` outside of it.
    pub fn new(block: u32, pass: &'a LoadPass, index: usize, shard: u32) -> Option<Self> {
        Some(Self {
            block,
            page: pass.page(index, shard)?,
            pin: PhantomData,
        })
    }

    /// Bytes that are not in the pool.
    pub fn from_bytes(block: u32, bytes: &'a [u8]) -> Self {
        Self {
            block,
            page: PagePtr::new(NonNull::from(bytes).cast(), bytes.len()),
            pin: PhantomData,
        }
    }

    /// The engine's block.
    pub fn block(&self) -> u32 {
        self.block
    }

    /// Where its bytes are; they may only be read.
    pub fn page(&self) -> PagePtr {
        self.page
    }
}
