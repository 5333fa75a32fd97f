//! Snapshots and the log of a running server: when they are written and read.

pub mod load;
pub mod log;
pub mod replay;
pub mod snapshots;

use super::Shared;
use crate::engine::Engine;

/// What is due by the clock: figures for INFO, refusals while the log is at fault.
pub fn tick(shared: &Shared, engine: &mut Engine) {
    let figures = &mut engine.persistence.log;
    figures.current_bytes = shared.log.current_bytes();
    figures.base_bytes = shared.log.base_bytes();
    figures.waiting_bytes = shared.log.waiting_bytes();
    let fault = shared.log.fault();
    figures.last_write_ok = fault.is_none();
    engine.write_refusal = fault;
}
