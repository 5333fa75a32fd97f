//! Patterns of keys against a real server's.

use std::collections::BTreeSet;

use rankd::store::glob;

use super::harness::server::Real;
use super::harness::{Random, Server};

const PATTERNS: usize = 4000;
const KEYS: usize = 60;

#[test]
fn random_patterns_match_what_a_real_server_matches() {
    let Some(server) = Server::start_real(Real::Redis8) else {
        return;
    };
    let mut client = server.client();
    let mut random = Random::new(Random::seed());
    let mut keys: BTreeSet<Vec<u8>> = BTreeSet::new();
    for _ in 0..KEYS {
        let key = text(&mut random, b"abcd-]^\\AB\x80\xff", 1, 6);
        client.call([b"SET".to_vec(), key.clone(), b"1".to_vec()]);
        keys.insert(key);
    }
    for _ in 0..PATTERNS {
        let pattern = text(&mut random, b"aabcd-[[]]^*?\\A\xff", 1, 9);
        let theirs: BTreeSet<Vec<u8>> = client
            .call([b"KEYS".to_vec(), pattern.clone()])
            .items()
            .iter()
            .map(|item| match item {
                super::harness::Value::Bulk(key) => key.clone(),
                other => panic!("KEYS answered {other:?}"),
            })
            .collect();
        let ours: BTreeSet<Vec<u8>> = keys
            .iter()
            .filter(|key| glob::matches(&pattern, key, false))
            .cloned()
            .collect();
        let shown = String::from_utf8_lossy(&pattern).into_owned();
        assert_eq!(ours, theirs, "pattern {shown:?} = {pattern:?}");
    }
}

fn text(random: &mut Random, letters: &[u8], least: i64, most: i64) -> Vec<u8> {
    let len = random.between(least, most);
    (0..len)
        .map(|_| letters[random.below(letters.len())])
        .collect()
}
