//! Writes data as plain commands: the base of a log without a snapshot in front.
//!
//! Every value becomes the commands that make it, at most [`LOG_BASE_ITEMS_MAX`]
//! elements in each, and a deadline an absolute one behind them.

use crate::limits::LOG_BASE_ITEMS_MAX;
use crate::persist::rdb::dump;
use crate::resp::args::OwnedArgs;
use crate::resp::number::write_score;
use crate::store::decimal::Scratch;
use crate::store::keyspace::Entry;
use crate::store::sorted_set::Score;
use crate::store::value::ValueRef;

/// Appends commands to a buffer.
#[derive(Default)]
pub struct CommandEncoder {
    out: Vec<u8>,
    /// The command under way: its name, its key and the elements so far.
    args: OwnedArgs,
    items: usize,
    score: Vec<u8>,
    /// The board whose members come one by one.
    board: Vec<u8>,
    deadline: Option<i64>,
}

impl CommandEncoder {
    /// What was written and not taken yet.
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// Takes what was written.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Forgets what was written and keeps its memory.
    pub fn clear(&mut self) {
        self.out.clear();
    }

    /// Writes one command.
    pub fn command(&mut self, words: &[&[u8]]) {
        OwnedArgs::from_slices(words).encode(&mut self.out);
    }

    /// Writes a remark that tells the time.
    pub fn time(&mut self, unix_s: i64) {
        self.out
            .extend_from_slice(format!("#TS:{unix_s}\r\n").as_bytes());
    }

    /// Writes that the keys that follow are of this database.
    pub fn db(&mut self, index: usize) {
        self.command(&[b"SELECT", index.to_string().as_bytes()]);
    }

    /// Writes a key with its value and its deadline.
    pub fn entry(&mut self, entry: &Entry<'_>) {
        let key = entry.key;
        let mut scratch = Scratch::default();
        match entry.value {
            ValueRef::String(text) => self.command(&[b"SET", key, text.bytes(&mut scratch)]),
            ValueRef::List(list) => {
                for element in list.iter() {
                    self.item(b"RPUSH", key, &[element]);
                }
            }
            ValueRef::Set(set) => {
                for member in set.iter() {
                    self.item(b"SADD", key, &[member.bytes(&mut scratch)]);
                }
            }
            ValueRef::Hash(hash) => {
                for (field, value) in hash.iter() {
                    self.item(b"HMSET", key, &[field, value]);
                }
            }
            ValueRef::SortedSet(board) => {
                self.board = key.to_vec();
                for (member, score) in board.iter() {
                    self.member(member, score);
                }
            }
            // The commands that make a stream are many; its payload is one that is as stock.
            ValueRef::Stream(_) => {
                self.command(&[b"RESTORE", key, b"0", &dump::encode(entry.value, true)]);
            }
        }
        self.end_items();
        self.deadline = entry.deadline;
        self.end_key(key);
    }

    /// Begins a board whose members follow one by one.
    pub fn begin_board(&mut self, entry: &Entry<'_>) {
        self.board = entry.key.to_vec();
        self.deadline = entry.deadline;
    }

    /// Writes a member of the board.
    pub fn member(&mut self, member: &[u8], score: Score) {
        let mut text = std::mem::take(&mut self.score);
        text.clear();
        write_score(score.get(), &mut text);
        let board = std::mem::take(&mut self.board);
        self.item(b"ZADD", &board, &[&text, member]);
        self.score = text;
        self.board = board;
    }

    /// Ends the command under way, so that other keys can follow.
    pub fn end_items(&mut self) {
        if self.items > 0 {
            self.args.encode(&mut self.out);
            self.args.clear();
            self.items = 0;
        }
    }

    /// Ends the board.
    pub fn end_board(&mut self) {
        self.end_items();
        let board = std::mem::take(&mut self.board);
        self.end_key(&board);
    }

    fn end_key(&mut self, key: &[u8]) {
        if let Some(deadline_ms) = self.deadline.take() {
            self.command(&[b"PEXPIREAT", key, deadline_ms.to_string().as_bytes()]);
        }
    }

    /// Adds an element to the command under way, or to a new one when that is full.
    fn item(&mut self, name: &[u8], key: &[u8], words: &[&[u8]]) {
        if self.items == 0 {
            self.args.push(name);
            self.args.push(key);
        }
        words.iter().for_each(|word| self.args.push(word));
        self.items += 1;
        if self.items == LOG_BASE_ITEMS_MAX {
            self.end_items();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::persist::aof::reader::LogReader;
    use crate::persist::rdb::Limits;
    use crate::settings::Settings;
    use crate::store::keyspace::Store;
    use crate::store::set::Set;
    use crate::store::string::StringValue;
    use crate::store::value::ValueType;

    /// The commands of a log, one line each.
    fn lines(log: &[u8]) -> Vec<String> {
        let mut reader = LogReader::new(log);
        let mut lines = Vec::new();
        while let Some(group) = reader.next_group().expect("a whole log") {
            for command in &group.commands {
                let words = command.as_args();
                let words = words.iter().map(String::from_utf8_lossy);
                lines.push(words.collect::<Vec<_>>().join(" "));
            }
        }
        lines
    }

    #[test]
    fn values_become_commands_of_bounded_length_with_the_deadline_behind() {
        let mut store = Store::new(1, 1u128);
        store[0].insert(b"s", StringValue::new(b"12").into_value());
        store[0].set_deadline(b"s", 99);
        let mut out = CommandEncoder::default();
        out.time(5);
        out.db(3);
        let entry = store[0].entry(b"s").expect("the key");
        out.entry(&entry);
        let log = out.take();
        assert!(log.starts_with(b"#TS:5\r\n*2\r\n"));
        assert_eq!(lines(&log), ["SELECT 3", "SET s 12", "PEXPIREAT s 99"]);

        let limits = Limits::from(&Settings::default());
        let mut set = Set::new();
        for number in 0..130 {
            set.insert(format!("{number}").as_bytes(), limits.set);
        }
        store[0].insert(b"set", set.into_value());
        out.entry(&store[0].entry(b"set").expect("the key"));
        let counts: Vec<_> = lines(&out.take())
            .iter()
            .map(|line| line.split(' ').count())
            .collect();
        assert_eq!(counts, [66, 66, 4]);
    }

    #[test]
    fn a_board_in_pieces_is_the_board() {
        let mut store = Store::new(1, 1u128);
        store[0].insert(
            b"b",
            crate::store::sorted_set::SortedSet::new().into_value(),
        );
        store[0].set_deadline(b"b", 7);
        let mut out = CommandEncoder::default();
        out.begin_board(&store[0].entry(b"b").expect("the key"));
        let score = |number: f64| Score::new(number).expect("a number");
        out.member(b"x", score(f64::INFINITY));
        out.end_items();
        out.member(b"y", score(0.1));
        out.member(b"z", score(3.0));
        out.end_board();
        assert_eq!(
            lines(&out.take()),
            ["ZADD b inf x", "ZADD b 0.1 y 3 z", "PEXPIREAT b 7"]
        );
    }
}
