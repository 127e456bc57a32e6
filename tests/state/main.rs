//! The laws of keyed state and checkpoint storage. Each says which broken mechanism it would catch.

mod damage;
mod exactness;
mod lifecycle;
mod refusals;
mod snapshots;
mod support;
