//! Tests of the tier, by property.

mod budget;
mod damage;
mod faults;
mod fixture;
mod foreign;
mod format;
mod gone;
mod hung;
mod leaving;
mod lifecycle;
mod mounts;
mod power;
mod refusal;
mod removal;
mod resize;
mod reuse;
mod room;
mod sharing;
mod workers;
