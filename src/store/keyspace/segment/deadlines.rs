//! Deadlines of a segment, and how those that are due are found.
//!
//! The lines are divided into groups, and each group has a bound: a time before which none
//! of its deadlines is. A bound is lowered when a deadline is set, and may be out of
//! date when one is moved or taken away; looking through the group corrects it.

use super::super::sip::SipKey;
use super::{Segment, Spot};

/// Groups of lines that have a bound for their deadlines: few enough to look through at
/// once, and each with a few tens of entries to look at when its bound is due.
const GROUPS: usize = 64;

/// The bounds of the groups.
pub(super) type Bounds = [i64; GROUPS];
const NO_BOUNDS: Bounds = [i64::MAX; GROUPS];

impl Segment {
    /// Sets the deadline of a key; whether it had none before, `None` when it is absent.
    pub(in super::super) fn set_deadline(
        &mut self,
        hash: u64,
        key: &[u8],
        deadline: i64,
        hasher: SipKey,
    ) -> Option<bool> {
        let mut spot = self.find(hash, key)?;
        let mut new = self.deadline(spot).is_none();
        if self.record(spot).has_deadline_word() {
            self.record_mut(spot).set_deadline(Some(deadline));
        } else {
            self.make_room(self.record(spot).words() + 1, hasher);
            spot = self.find(hash, key)?;
            new = true;
            let line = &mut self.lines[spot.line as usize];
            // SAFETY: the slot is in use, so it has the record, which has no word for a
            // deadline; the slot gets the new offset at once.
            let offset = unsafe { self.arena.widen(line.offset(spot.slot()), deadline) };
            line.set_offset(spot.slot(), offset);
        }
        self.lower_bound(spot, deadline);
        Some(new)
    }

    /// Takes away a deadline; whether there was one.
    pub(in super::super) fn clear_deadline(&mut self, spot: Spot) -> bool {
        let had = self.deadline(spot).is_some();
        if had {
            self.record_mut(spot).set_deadline(None);
        }
        had
    }

    fn group_lines(&self, group: usize) -> std::ops::Range<usize> {
        let lines = self.lines.len();
        (group * lines).div_ceil(GROUPS)..((group + 1) * lines).div_ceil(GROUPS)
    }

    pub(super) fn lower_bound(&mut self, spot: Spot, deadline: i64) {
        let group = spot.line as usize * GROUPS / self.lines.len();
        let bounds = self.bounds.get_or_insert_with(|| Box::new(NO_BOUNDS));
        bounds[group] = bounds[group].min(deadline);
    }

    /// A time before which no deadline is.
    pub(in super::super) fn earliest(&self) -> i64 {
        self.bounds
            .as_ref()
            .and_then(|bounds| bounds.iter().min().copied())
            .unwrap_or(i64::MAX)
    }

    /// Collects up to `max` keys past their deadline, looking at no more than `groups`
    /// groups, and corrects the bounds of those. The number of groups that are left then.
    pub(in super::super) fn collect_expired(
        &mut self,
        now_ms: i64,
        max: usize,
        mut groups: usize,
        keys: &mut Vec<Vec<u8>>,
    ) -> usize {
        let Some(mut bounds) = self.bounds.take() else {
            return groups;
        };
        for (group, bound) in bounds.iter_mut().enumerate() {
            if *bound >= now_ms {
                continue;
            }
            if groups == 0 || keys.len() >= max {
                break;
            }
            groups -= 1;
            let mut earliest = i64::MAX;
            for at in self.group_lines(group) {
                for slot in self.lines[at].occupied() {
                    let record = self.record(Spot::new(at, slot));
                    let Some(deadline) = record.deadline() else {
                        continue;
                    };
                    earliest = earliest.min(deadline);
                    if deadline < now_ms && keys.len() < max {
                        keys.push(record.key().to_vec());
                    }
                }
            }
            *bound = earliest;
        }
        if bounds.iter().any(|&bound| bound < i64::MAX) {
            self.bounds = Some(bounds);
        }
        groups
    }

    /// Bytes of the bounds of deadlines.
    pub(in super::super) fn bounds_memory(&self) -> usize {
        self.bounds
            .as_ref()
            .map_or(0, |_| GROUPS * size_of::<i64>())
    }

    /// Verifies that the bound of an entry's group is not above its deadline.
    #[cfg(test)]
    pub(super) fn check_bound(&self, spot: Spot) {
        if let Some(deadline) = self.deadline(spot) {
            let group = spot.line as usize * GROUPS / self.lines.len();
            assert!(self.group_lines(group).contains(&(spot.line as usize)));
            assert!(self.bounds.as_ref().unwrap()[group] <= deadline);
        }
    }
}
