//! Tests of the pool, by property.

mod files;
mod geometry;
mod growth;
mod header;
mod leftover;
mod machine;
mod nodes;
mod place;
mod placement;
mod rule_table;
mod slab;
mod slot;
mod space_table;
