//! Streams and their groups, with ids of our own so that no clock takes part.

use super::Family;
use crate::differential::words::{Command, Words};

pub const FAMILY: Family = Family {
    name: "stream",
    write,
};

/// How many in a hundred commands add entries.
const FILL_PERCENT: usize = 35;

const FILL: &[&str] = &[
    "XADD $key %[ NOMKSTREAM | MAXLEN { ~ | = } { 2 | 5 | 120 } | MINID { ~ | = } $id | LIMIT $small ] $newid ( $member $value )+",
    "XADD $key $newid ( $member $value )+",
    "XADD $key $newid a $value b $value",
    "XADD $key $newid a $value b $value",
];

const TEMPLATES: &[&str] = &[
    "XADD $key $newid a",
    "XADD $key MAXLEN $int $newid a b",
    "XLEN $key",
    "{ XRANGE | XREVRANGE } $key $idbound $idbound [ COUNT $int ]",
    "XRANGE $key - + COUNT { 1 | 0 | -1 | x }",
    "XREVRANGE $key + - [ COUNT 3 ]",
    "XDEL $key ( $id )+",
    "XTRIM $key { MAXLEN | MINID } [ ~ | = ] { $small | 130 | $id } [ LIMIT $small ]",
    "XTRIM $key %[ MAXLEN $int | MINID $id | LIMIT $int ]",
    "XREAD [ COUNT $int ] STREAMS $key $id",
    "XREAD [ COUNT $small ] STREAMS $key $key $id $id",
    "XREAD [ COUNT $small ] BLOCK { 1 | -1 | x } STREAMS $key $key { $id | $ } { $id | $ | > }",
    "XREAD %[ NOACK | GROUP g c | COUNT x ] STREAMS $key { $id | 0 }",
    "XSETID $key $id %[ ENTRIESADDED { $int | 1000 } | MAXDELETEDID $id ]",
    "XGROUP CREATE $key $group { $id | 0 | $ } %[ MKSTREAM | ENTRIESREAD $int ]",
    "XGROUP CREATE $key $group { 0 | $ } MKSTREAM",
    "XGROUP SETID $key $group { $id | 0 | $ } [ ENTRIESREAD $int | MKSTREAM ]",
    "XGROUP { DESTROY | NONE } $key $group",
    "XGROUP { CREATECONSUMER | DELCONSUMER } $key $group $consumer",
    "XREADGROUP GROUP $group $consumer %[ COUNT $small | NOACK ] STREAMS $key { > | $id | 0 | $ }",
    "XREADGROUP GROUP $group $consumer [ COUNT $small ] STREAMS $key >",
    "XREADGROUP GROUP $group $consumer [ COUNT $small ] STREAMS $key >",
    "XREADGROUP GROUP $group $consumer COUNT 2 BLOCK 1 STREAMS $key $key > >",
    "XACK $key $group ( $id )+",
    "XPENDING $key $group",
    "XPENDING $key $group [ IDLE { 0 | -1 | x } ] $idbound $idbound $int [ $consumer ]",
    "XPENDING $key $group - + 10 [ $consumer ]",
    "XCLAIM $key $group $consumer { 0 | -1 | x } ( $id )+ %[ IDLE $small | TIME { 0 | 1000000 } | RETRYCOUNT $int | FORCE | JUSTID | LASTID $id | WRONG ]",
    "XAUTOCLAIM $key $group $consumer { 0 | x } $idbound %[ COUNT { 1 | 3 | 0 } | JUSTID | WRONG ]",
    "XAUTOCLAIM $key $group $consumer 0 { 0 | - } COUNT 3 [ JUSTID ]",
    "XINFO STREAM $key [ FULL [ COUNT $int ] | PART ]",
    "XINFO STREAM $key",
    "XINFO GROUPS $key",
    "XINFO CONSUMERS $key $group",
    "CONFIG SET stream-node-max-entries { 0 | 2 | 5 | 100 }",
    "CONFIG SET stream-node-max-bytes { 0 | 100 | 4096 }",
    "DEL $key",
    "SET k0 x",
];

fn write(words: &mut Words) -> Vec<Command> {
    let fills = words.random().chance(FILL_PERCENT);
    vec![words.command(if fills { FILL } else { TEMPLATES })]
}
