//! The compiled scripts of a machine, by digest and by source.

use std::collections::VecDeque;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::interpreter::{Origin, ScriptSha};
use super::machine::Compiled;
use super::shebang::ScriptFlags;
use crate::limits::SCRIPT_EVAL_BYTES_MAX;

/// Names a script of one machine until the next load or flush.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ScriptId(u32);

pub struct Script {
    pub sha: ScriptSha,
    /// The digest as errors show it and clients name it.
    pub(super) name: [u8; 40],
    pub flags: ScriptFlags,
    pub source: Box<[u8]>,
    pub(super) compiled: Compiled,
    origin: Origin,
}

impl Script {
    pub(super) fn new(
        sha: ScriptSha,
        flags: ScriptFlags,
        source: &[u8],
        compiled: Compiled,
        origin: Origin,
    ) -> Self {
        Self {
            sha,
            name: sha.hex(),
            flags,
            source: source.into(),
            compiled,
            origin,
        }
    }
}

/// Invariants: `by_name` and `by_source` name exactly the occupied slots; `eval_order`
/// names those of EVAL, oldest first, and maybe others; `eval_bytes` is the sum of the
/// former's sources.
#[derive(Default)]
pub struct Cache {
    slots: Vec<Option<Script>>,
    free: Vec<u32>,
    by_name: HashTable<ScriptId>,
    by_source: HashTable<ScriptId>,
    hasher: RandomState,
    eval_order: VecDeque<(ScriptId, ScriptSha)>,
    eval_bytes: usize,
    source_bytes: usize,
}

impl Cache {
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    pub fn source_bytes(&self) -> usize {
        self.source_bytes
    }

    /// The script that 40 hexadecimal digits of either case name.
    pub fn find(&self, digits: &[u8]) -> Option<ScriptId> {
        let digits: &[u8; 40] = digits.try_into().ok()?;
        self.find_name(digits)
            .or_else(|| self.find_name(&digits.map(|digit| digit.to_ascii_lowercase())))
    }

    #[inline]
    fn find_name(&self, name: &[u8; 40]) -> Option<ScriptId> {
        self.by_name
            .find(self.hash(name), |id| self.script(*id).name == *name)
            .copied()
    }

    pub fn find_source(&self, source: &[u8]) -> Option<ScriptId> {
        self.by_source
            .find(self.hash(source), |id| *self.script(*id).source == *source)
            .copied()
    }

    pub fn script(&self, id: ScriptId) -> &Script {
        self.slots[id.0 as usize]
            .as_ref()
            .expect("an id names a script until the next load")
    }

    #[inline]
    fn hash(&self, text: &[u8]) -> u64 {
        self.hasher.hash_one(text)
    }

    /// Adds a script whose source is not known yet.
    pub fn insert(&mut self, script: Script) -> ScriptId {
        let id = ScriptId(self.free.pop().unwrap_or(self.slots.len() as u32));
        if id.0 as usize == self.slots.len() {
            self.slots.push(None);
        }
        self.source_bytes += script.source.len();
        if script.origin == Origin::Eval {
            self.eval_bytes += script.source.len();
            self.eval_order.push_back((id, script.sha));
        }
        let name_hash = self.hash(&script.name);
        let source_hash = self.hash(&script.source);
        self.slots[id.0 as usize] = Some(script);
        let (slots, hasher) = (&self.slots, &self.hasher);
        let script = |id: &ScriptId| {
            let slot = slots[id.0 as usize].as_ref();
            slot.expect("the tables name occupied slots")
        };
        self.by_name
            .insert_unique(name_hash, id, |id| hasher.hash_one(&script(id).name[..]));
        self.by_source
            .insert_unique(source_hash, id, |id| hasher.hash_one(&*script(id).source));
        id
    }

    /// Makes an EVAL's script stay.
    pub fn pin(&mut self, id: ScriptId) {
        if let Some(script) = &mut self.slots[id.0 as usize]
            && script.origin == Origin::Eval
        {
            script.origin = Origin::Load;
            self.eval_bytes -= script.source.len();
        }
    }

    /// Drops the oldest scripts of EVAL beyond the limit, but never the newest, and
    /// gives the registry places to free.
    pub fn forget_oldest(&mut self) -> Vec<i32> {
        let mut freed = Vec::new();
        while self.eval_bytes > SCRIPT_EVAL_BYTES_MAX && self.eval_order.len() > 1 {
            let Some((id, sha)) = self.eval_order.pop_front() else {
                break;
            };
            let slot = &mut self.slots[id.0 as usize];
            let is_forgettable = slot
                .as_ref()
                .is_some_and(|script| script.origin == Origin::Eval && script.sha == sha);
            if !is_forgettable {
                continue;
            }
            let Some(script) = slot.take() else { continue };
            let (name_hash, source_hash) = (self.hash(&script.name), self.hash(&script.source));
            for (table, hash) in [
                (&mut self.by_name, name_hash),
                (&mut self.by_source, source_hash),
            ] {
                if let Ok(entry) = table.find_entry(hash, |other| *other == id) {
                    entry.remove();
                }
            }
            self.eval_bytes -= script.source.len();
            self.source_bytes -= script.source.len();
            self.free.push(id.0);
            freed.push(script.compiled.function);
        }
        freed
    }
}
