//! Tests of the tier, by property.

mod damage;
mod faults;
mod fixture;
mod lifecycle;
mod power;
mod refusal;
mod reuse;
