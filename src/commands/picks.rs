//! Random picks of several elements.

use crate::engine::random::Random;
use crate::limits::RANDOM_REPLY_LEN_MAX;
use crate::resp::error::CommandError;
use crate::resp::reply::Reply;
use std::collections::BTreeSet;

/// Writes `count` random elements with repetition, each by a call of `write_one`.
///
/// A reply of more than [`RANDOM_REPLY_LEN_MAX`] bytes is refused.
pub fn write_repeated(
    reply: &mut Reply,
    count: u64,
    mut write_one: impl FnMut(&mut Reply),
) -> Result<(), CommandError> {
    let start = reply.len();
    for _ in 0..count {
        write_one(reply);
        if reply.len() - start > RANDOM_REPLY_LEN_MAX {
            return Err(CommandError::Text("ERR value is out of range"));
        }
    }
    Ok(())
}

/// `count` different numbers below `len`, ascending, each choice as likely as the others. O(count log count).
pub fn distinct_indexes(len: usize, count: usize, random: &mut Random) -> Vec<usize> {
    // Floyd's sampling: each round adds either its draw or, if that is taken, the
    // largest number that it may draw.
    let mut chosen = BTreeSet::new();
    for top in len - count.min(len)..len {
        let drawn = random.below(top + 1);
        if !chosen.insert(drawn) {
            chosen.insert(top);
        }
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_indexes_are_so_many_below_the_length() {
        let mut random = Random::new(7);
        let mut seen = [0; 10];
        for _ in 0..1000 {
            let chosen = distinct_indexes(10, 3, &mut random);
            assert_eq!(chosen.len(), 3);
            assert!(chosen.is_sorted_by(|a, b| a < b));
            chosen.iter().for_each(|&index| seen[index] += 1);
        }
        assert!(
            seen.iter().all(|&times| (220..380).contains(&times)),
            "{seen:?}"
        );
        assert_eq!(distinct_indexes(4, 9, &mut random), [0, 1, 2, 3]);
    }

    #[test]
    fn endless_replies_are_refused() {
        let long = vec![b'x'; RANDOM_REPLY_LEN_MAX / 4];
        let mut reply = Reply::default();
        assert_eq!(
            write_repeated(&mut reply, 3, |reply| reply.bulk(&long)),
            Ok(())
        );
        assert!(write_repeated(&mut reply, u64::MAX, |reply| reply.bulk(&long)).is_err());
    }
}
