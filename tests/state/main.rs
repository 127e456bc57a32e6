//! The laws of keyed state and checkpoint storage. Each says which broken mechanism it would catch.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may end where it stands"
)]

mod cleanup;
mod conformance;
mod damage;
mod exactness;
mod folders;
mod incremental;
mod kinds;
mod lifecycle;
mod oracle;
mod refusals;
mod rescaling;
mod snapshots;
mod stored;
mod support;
