//! Sorted sets: members with scores, the boards that this server is for.
//!
//! Every range, by rank, score or member, becomes a range of ranks first
//! ([`bounds`]), so that counting, showing, storing and removing cost O(log n) and
//! what is shown, whatever the offset. A board's encoding is its own matter here.

mod add;
mod bounds;
mod combine;
mod lookup;
mod pop;
mod random;
mod range;
mod remove;
mod scan;
#[cfg(test)]
mod tests;

use crate::engine::spec::CommandSpec;
use crate::settings::Settings;
use crate::store::sorted_set::Thresholds;

pub use add::{Options as AddOptions, add as add_members};
pub use range::store as store_board;

pub const ADD_COMMANDS: &[CommandSpec] = add::COMMANDS;
pub const COMBINE_COMMANDS: &[CommandSpec] = combine::COMMANDS;
pub const LOOKUP_COMMANDS: &[CommandSpec] = lookup::COMMANDS;
pub const POP_COMMANDS: &[CommandSpec] = pop::COMMANDS;
pub const RANDOM_COMMANDS: &[CommandSpec] = random::COMMANDS;
pub const RANGE_COMMANDS: &[CommandSpec] = range::COMMANDS;
pub const REMOVE_COMMANDS: &[CommandSpec] = remove::COMMANDS;
pub const SCAN_COMMANDS: &[CommandSpec] = scan::COMMANDS;

/// Up to where a board is small.
pub fn thresholds(settings: &Settings) -> Thresholds {
    Thresholds {
        max_entries: settings.zset_max_listpack_entries,
        max_value: settings.zset_max_listpack_value,
    }
}
