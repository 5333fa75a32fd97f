//! A snapshot made in pieces while the data changes.
//!
//! Each database is walked in the order of positions. A key that changes ahead of
//! the walk is written first, as it is before the change, and the walk passes over
//! it later. A big board is not written at once: its members are walked from the
//! greatest down, and a member that changes ahead of that walk is written first in
//! the same way. So the snapshot is what the data was when it began, and nobody
//! waits longer than for one piece.
//!
//! Exceptions, which take as long as writing the value does: a big board that is
//! removed or replaced while it is not written yet, and a hash, set,
//! list or stream of any size, which is one piece.
//!
//! Memory beside the data: names of keys and members that changed ahead of the
//! walk, and their bytes as written, until they are taken.

use super::form::{Form, Writer};
use super::rdb::snapshot::Clocks;
use crate::limits::{SNAPSHOT_BOARD_LEN_MIN, SNAPSHOT_PIECE_KEYS, SNAPSHOT_PIECE_MEMBERS};
use crate::store::keyspace::{Entry, POSITIONS_END, Store};
use crate::store::sorted_set::{Score, SortedSet};
use crate::store::value::ValueRef;
use crate::store::watch::{KeyWatch, MemberWatch};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The snapshot of one database under way.
pub struct DbPieces {
    id: usize,
    clocks: Clocks,
    /// Positions below are walked.
    cursor: AtomicU64,
    state: Mutex<DbState>,
}

struct DbState {
    /// Keys that the walk has to pass over.
    seen: HashSet<Box<[u8]>>,
    /// Big boards that the walk met and that nobody watches yet.
    waiting: HashSet<Box<[u8]>>,
    /// Boards whose members are watched.
    boards: HashMap<Box<[u8]>, Arc<BoardPieces>>,
    /// Boards of those that are not written yet.
    unwritten: VecDeque<Box<[u8]>>,
    out: Writer,
    keys: u64,
}

/// What the next piece needs.
pub enum Step {
    /// Call again with the engine held beside readers.
    Read,
    /// Call again with the engine held alone.
    Write,
    Done,
}

impl DbPieces {
    /// Starts to watch a database; called for all of them in one go.
    pub fn begin(
        store: &mut Store,
        index: usize,
        clocks: Clocks,
        form: Form,
        compress: bool,
    ) -> Arc<Self> {
        let pieces = Arc::new(DbPieces {
            id: index,
            clocks,
            cursor: AtomicU64::new(0),
            state: Mutex::new(DbState {
                seen: HashSet::new(),
                waiting: HashSet::new(),
                boards: HashMap::new(),
                unwritten: VecDeque::new(),
                out: Writer::new(form, compress),
                keys: 0,
            }),
        });
        if let Some(db) = store.db_mut(index) {
            db.set_watch(Some(pieces.clone()));
        }
        pieces
    }

    /// Keys that are written or have been met.
    pub fn keys(&self) -> u64 {
        self.state.lock().keys
    }

    /// What to do next.
    pub fn next_step(&self) -> Step {
        let state = self.state.lock();
        if self.cursor.load(Relaxed) < POSITIONS_END {
            Step::Read
        } else if !state.waiting.is_empty() {
            Step::Write
        } else if !state.unwritten.is_empty() {
            Step::Read
        } else {
            Step::Done
        }
    }

    /// The bytes that were made since the last call. Between the calls of one board's pieces
    /// nothing else may be taken, which this sees to.
    pub fn take(&self) -> Vec<u8> {
        self.state.lock().out.take()
    }

    /// Makes one piece of keys or of a board's members; the bytes to write.
    pub fn read_piece(&self, store: &Store) -> Vec<u8> {
        if self.cursor.load(Relaxed) < POSITIONS_END {
            self.walk(store);
            return self.take();
        }
        let mut state = self.state.lock();
        let next = state.unwritten.front().cloned();
        let Some((key, board)) =
            next.and_then(|key| Some((key.clone(), state.boards.get(&key)?.clone())))
        else {
            return state.out.take();
        };
        let value = store
            .watched(self.id)
            .and_then(|db| db.entry(&key))
            .and_then(|entry| match entry.value {
                ValueRef::SortedSet(value) => Some(value),
                _ => None,
            });
        // What other keys wrote stands before or behind a board, never inside.
        let mut bytes = if board.is_begun() {
            Vec::new()
        } else {
            state.out.take()
        };
        let ended = board.piece(value, &mut bytes);
        if ended {
            state.unwritten.pop_front();
        }
        bytes
    }

    fn walk(&self, store: &Store) {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let Some(db) = store.watched(self.id) else {
            self.cursor.store(POSITIONS_END, Relaxed);
            return;
        };
        let cursor = self.cursor.load(Relaxed);
        let next = db.scan(cursor, SNAPSHOT_PIECE_KEYS, |entry| {
            if state.seen.contains(entry.key) {
                return;
            }
            state.keys += 1;
            if big_board(&entry).is_some() {
                state.waiting.insert(entry.key.into());
            } else {
                state.out.entry(&entry, self.clocks);
            }
        });
        let next = if next == 0 { POSITIONS_END } else { next };
        self.cursor.store(next, Relaxed);
    }

    /// Watches the big boards that the walk met.
    pub fn write_piece(&self, store: &mut Store) {
        let Some(db) = store.watched_mut(self.id) else {
            return;
        };
        let mut guard = self.state.lock();
        let state = &mut *guard;
        for key in std::mem::take(&mut state.waiting) {
            state.seen.insert(key.clone());
            let board = db.entry(&key).and_then(|entry| {
                let board = big_board(&entry)?;
                Some(self.watch(state, &entry, board))
            });
            if let Some(board) = board {
                db.watch_board(&key, board);
            }
        }
    }

    fn watch(&self, state: &mut DbState, entry: &Entry<'_>, board: &SortedSet) -> Arc<BoardPieces> {
        let mut head = state.out.fresh();
        head.begin_board(entry, board, self.clocks);
        let pieces = Arc::new(BoardPieces {
            state: Mutex::new(BoardState {
                head: Some(head.take()),
                touched: HashSet::new(),
                last: None,
                aside: head,
                ended: false,
            }),
        });
        state.boards.insert(entry.key.into(), pieces.clone());
        state.unwritten.push_back(entry.key.into());
        pieces
    }
}

/// The board of a key, when it is so big that it is written in pieces.
fn big_board<'a>(entry: &Entry<'a>) -> Option<&'a SortedSet> {
    match entry.value {
        ValueRef::SortedSet(board) if board.len() >= SNAPSHOT_BOARD_LEN_MIN => Some(board),
        _ => None,
    }
}

impl KeyWatch for DbPieces {
    fn id(&self) -> usize {
        self.id
    }

    fn before_change(
        &self,
        position: u64,
        key: &[u8],
        old: Option<Entry<'_>>,
        leaves: bool,
    ) -> Option<Arc<dyn MemberWatch>> {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        if let Some(board) = state.boards.get(key) {
            if let (true, Some(ValueRef::SortedSet(value))) = (leaves, old.map(|old| old.value)) {
                board.finish(value);
            }
            return None;
        }
        let ahead = position >= self.cursor.load(Relaxed) || state.waiting.contains(key);
        if !ahead || !state.seen.insert(key.into()) {
            return None;
        }
        let met = state.waiting.remove(key);
        let entry = old?;
        state.keys += u64::from(!met);
        match big_board(&entry) {
            Some(board) if !leaves => {
                let members: Arc<dyn MemberWatch> = self.watch(state, &entry, board);
                return Some(members);
            }
            _ => {}
        }
        state.out.entry(&entry, self.clocks);
        None
    }
}

/// The snapshot of one board under way.
struct BoardPieces {
    state: Mutex<BoardState>,
}

struct BoardState {
    /// Key and length, until they are written.
    head: Option<Vec<u8>>,
    /// Members that changed, which the walk passes over.
    touched: HashSet<Box<[u8]>>,
    /// The last entry that the walk has passed, going down; None before the first piece.
    last: Option<(Score, Box<[u8]>)>,
    /// Members that were written ahead of the walk.
    aside: Writer,
    /// All members are written or aside.
    ended: bool,
}

impl BoardPieces {
    fn is_begun(&self) -> bool {
        self.state.lock().head.is_none()
    }

    /// Writes the next members; true when the board is complete.
    fn piece(&self, board: Option<&SortedSet>, bytes: &mut Vec<u8>) -> bool {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        if let Some(head) = state.head.take() {
            bytes.extend_from_slice(&head);
        }
        match board {
            Some(board) if !state.ended => state.walk(board, SNAPSHOT_PIECE_MEMBERS),
            // The value left, and wrote the rest before it did.
            _ => state.ended = true,
        }
        if state.ended {
            state.aside.end_board();
        } else {
            state.aside.end_members();
        }
        bytes.extend_from_slice(state.aside.bytes());
        state.aside.clear();
        state.ended
    }

    /// Writes all members that are left.
    fn finish(&self, board: &SortedSet) {
        let mut state = self.state.lock();
        if !state.ended {
            state.walk(board, usize::MAX);
        }
    }
}

impl BoardState {
    fn walk(&mut self, board: &SortedSet, count: usize) {
        let end = match &self.last {
            None => board.len(),
            Some((score, member)) => board.rank_before(*score, member),
        };
        let start = end.saturating_sub(count);
        let mut last = None;
        for (member, score) in board.range(start..end).rev() {
            if !self.touched.contains(member) {
                self.aside.member(member, score);
            }
            last = Some((score, member));
        }
        if let Some((score, member)) = last {
            self.last = Some((score, member.into()));
        }
        self.ended = start == 0;
    }

    /// Whether the walk has passed an entry.
    fn has_passed(&self, score: Score, member: &[u8]) -> bool {
        match &self.last {
            None => false,
            Some((last_score, last)) => (score, member) >= (*last_score, last),
        }
    }
}

impl MemberWatch for BoardPieces {
    fn before_change(&self, member: &[u8], old: Option<Score>) -> bool {
        let mut state = self.state.lock();
        if state.ended {
            return false;
        }
        if !state.touched.contains(member) {
            if let Some(score) = old.filter(|&score| !state.has_passed(score, member)) {
                state.aside.member(member, score);
            }
            state.touched.insert(member.into());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::persist::load::{Intake, read_all};
    use crate::persist::rdb::snapshot::Head;
    use crate::persist::rdb::{Limits, opcode};
    use crate::resp::number::write_shortest;
    use crate::settings::Settings;
    use crate::store::digest::Digest;
    use crate::store::hash::Hash;
    use crate::store::sorted_set::Thresholds;
    use crate::store::string::StringValue;
    use crate::store::value::{Value, ValueMut, ValueType};

    struct Random(u64);

    impl Random {
        /// The seed is printed when a test fails; RANKD_SEED sets it.
        fn new(round: u64) -> Self {
            let seed = std::env::var("RANKD_SEED")
                .ok()
                .and_then(|text| text.parse().ok())
                .unwrap_or(20_261_201);
            eprintln!("RANKD_SEED={seed} round {round}");
            Random(seed + round * 7919)
        }

        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % bound
        }
    }

    fn board(random: &mut Random, len: u64) -> Value {
        let mut board = SortedSet::new();
        for index in 0..len {
            let score = Score::new(random.below(len / 3 + 1) as f64).expect("a number");
            board.insert(format!("m{index}").as_bytes(), score, Thresholds::default());
        }
        board.into_value()
    }

    fn change(store: &mut Store, random: &mut Random, keys: u64) {
        let db = random.below(2) as usize;
        let key = format!("key{}", random.below(keys)).into_bytes();
        let other = format!("key{}", random.below(keys * 2)).into_bytes();
        match random.below(14) {
            0 => {
                store[db].insert(&key, StringValue::new(b"new").into_value());
            }
            1 => {
                store[db].remove(&key);
            }
            2 => {
                if let Some((value, _)) = store[db].take(&key) {
                    store[db].insert(&other, value);
                }
            }
            3 => {
                store[db].set_deadline(&key, 5_000_000 + random.below(1000) as i64);
            }
            4 => {
                store[db].clear_deadline(&key);
            }
            5 if random.below(30) == 0 => {
                let old = store[db].clear();
                drop(store.retire(old));
            }
            6 if random.below(10) == 0 => {
                store.swap(0, 1);
            }
            _ => {
                let (value, _) = store[db].get_or_insert_with(&key, 0, || Hash::new().into_value());
                match value {
                    ValueMut::SortedSet(board) => {
                        for _ in 0..20 {
                            let member = format!("m{}", random.below(12_000));
                            if random.below(3) == 0 {
                                board.remove(member.as_bytes());
                            } else {
                                let score =
                                    Score::new(random.below(9000) as f64).expect("a number");
                                board.insert(member.as_bytes(), score, Thresholds::default());
                            }
                        }
                        if random.below(40) == 0 {
                            let end = board.len();
                            let start = random.below(end as u64 + 1) as usize;
                            board.remove_rank_range(start..end, |_, _| ());
                        }
                    }
                    ValueMut::Hash(hash) => {
                        let limits = Limits::from(&Settings::default()).hash;
                        hash.set(format!("f{}", random.below(50)).as_bytes(), b"1", limits);
                    }
                    ValueMut::String(text) => {
                        text.append(b"x");
                    }
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn a_snapshot_in_pieces_is_what_the_data_was_when_it_began() {
        for round in 0..9 {
            let mut random = Random::new(round);
            let mut store = Store::new(2, 11u128 + u128::from(round));
            let keys = [5, 60, 700][(round % 3) as usize];
            for index in 0..keys {
                let key = format!("key{index}").into_bytes();
                let value = match random.below(keys / 3 + 2) {
                    0 => board(&mut random, 9_000),
                    1 => board(&mut random, 4_100),
                    2 => board(&mut random, 50),
                    _ => StringValue::new(format!("{index}").as_bytes()).into_value(),
                };
                store[(index % 2) as usize].insert(&key, value);
                if index % 5 == 0 {
                    store[(index % 2) as usize].set_deadline(&key, 6_000_000);
                }
            }
            let wanted = Digest::of_store(&store, write_shortest);
            let mut writer = Writer::new(Form::Snapshot, true);
            writer.head(&Head::default());
            let mut file = writer.take();
            let sizes: Vec<_> = store
                .iter()
                .map(|db| (db.len(), db.expires_len()))
                .collect();
            let all: Vec<_> = (0..2)
                .map(|index| DbPieces::begin(&mut store, index, Clocks::None, Form::Snapshot, true))
                .collect();
            for (index, pieces) in all.iter().enumerate() {
                writer.db(index, sizes[index].0, sizes[index].1);
                file.extend(writer.take());
                loop {
                    match pieces.next_step() {
                        Step::Read => file.extend(pieces.read_piece(&store)),
                        Step::Write => pieces.write_piece(&mut store),
                        Step::Done => break,
                    }
                    for _ in 0..random.below(30) {
                        change(&mut store, &mut random, keys);
                    }
                }
                file.extend(pieces.take());
            }
            drop(store.end_watches());
            file.push(opcode::EOF);
            file.extend([0; 8]);
            let mut back = Store::new(2, 1u128);
            let intake = Intake {
                now_ms: 0,
                drop_expired: false,
                counts_accesses: false,
                replace: false,
            };
            let limits = Limits::from(&Settings::default());
            read_all(file.as_slice(), limits, &mut back, intake).expect("a whole snapshot");
            assert_eq!(
                Digest::of_store(&back, write_shortest),
                wanted,
                "round {round}"
            );
        }
    }
}
