//! Sorted sets.

use super::Family;
use crate::differential::words::{Command, Words};

pub const FAMILY: Family = Family {
    name: "zset",
    write,
};

/// How many in a hundred commands fill a board; the rest reads, changes and empties.
const FILL_PERCENT: usize = 25;

/// How many in a hundred commands are about order by members.
const LEX_PERCENT: usize = 15;

const FILL: &[&str] = &[
    "ZADD $key ( $score $member )+",
    "ZADD $key %[ NX | XX | GT | LT | CH ] ( $score $member )+",
];

const TEMPLATES: &[&str] = &[
    "ZADD $key %[ NX | XX | GT | LT | CH | INCR ] $score $member",
    "ZADD $key $score",
    "ZINCRBY $key $score $member",
    "{ ZSCORE | ZRANK | ZREVRANK } $key $member",
    "{ ZRANK | ZREVRANK } $key $member { WITHSCORE | WITHSCORES }",
    "ZMSCORE $key ( $member )+",
    "ZCARD $key",
    "{ ZRANGE | ZREVRANGE } $key $int $int [ WITHSCORES ]",
    "ZRANGE $key $int $int %[ REV | WITHSCORES | LIMIT $int $int ]",
    "ZRANGE $key $bound $bound BYSCORE %[ REV | WITHSCORES | LIMIT $int $int ]",
    "ZRANGE $key $bound $bound %[ BYSCORE | REV | LIMIT $int $int | WITHSCORES ]",
    "{ ZRANGEBYSCORE | ZREVRANGEBYSCORE } $key $bound $bound %[ WITHSCORES | LIMIT $int $int ]",
    "ZCOUNT $key $bound $bound",
    "ZREM $key ( $member )+",
    "ZREMRANGEBYRANK $key $int $int",
    "ZREMRANGEBYSCORE $key $bound $bound",
    "{ ZUNIONSTORE | ZINTERSTORE } $key $keys %[ WEIGHTS $weights | AGGREGATE { SUM | MIN | MAX | AVG } ]",
    "{ ZUNION | ZINTER } $keys %[ WEIGHTS $weights | AGGREGATE { SUM | MIN | MAX } | WITHSCORES ]",
    "ZDIFF $keys [ WITHSCORES ]",
    "ZDIFFSTORE $key $keys",
    "ZINTERCARD $keys [ LIMIT $int ]",
    "{ ZPOPMIN | ZPOPMAX } $key [ $int ]",
    "ZMPOP $keys { MIN | MAX | MID } [ COUNT $int ]",
    "ZRANGESTORE $key $key $int $int [ REV ]",
    "ZRANGESTORE $key $key $bound $bound BYSCORE %[ REV | LIMIT $int $int ]",
    "ZRANDMEMBER $key [ $small [ WITHSCORES ] ]",
    "ZRANDMEMBER $key - $small",
    "{ BZPOPMIN | BZPOPMAX } ( $key )+ $timeout",
    "BZMPOP $timeout $keys { MIN | MAX } [ COUNT $int ]",
    "ZSCAN $key 0 [ COUNT 100000 ]",
];

const LEX: &[&str] = &[
    "ZADD $lexkey ( 0 $member )+",
    "ZRANGE $lexkey $lexbound $lexbound BYLEX %[ REV | LIMIT $int $int | WITHSCORES ]",
    "{ ZRANGEBYLEX | ZREVRANGEBYLEX } $lexkey $lexbound $lexbound [ LIMIT $int $int ]",
    "ZLEXCOUNT $lexkey $lexbound $lexbound",
    "ZREMRANGEBYLEX $lexkey $lexbound $lexbound",
    "ZRANGESTORE lex2 $lexkey $lexbound $lexbound BYLEX %[ REV | LIMIT $int $int ]",
];

fn write(words: &mut Words) -> Vec<Command> {
    let templates = if words.random().chance(FILL_PERCENT) {
        FILL
    } else if words.random().chance(LEX_PERCENT) {
        LEX
    } else {
        TEMPLATES
    };
    vec![words.command(templates)]
}
