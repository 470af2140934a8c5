//! Tests of the tier, by property.

mod budget;
mod damage;
mod faults;
mod fixture;
mod foreign;
mod format;
mod gone;
mod hung;
mod lifecycle;
mod power;
mod refusal;
mod resize;
mod reuse;
mod sharing;
