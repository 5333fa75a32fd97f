//! Positions on the earth.

use super::Family;
use crate::differential::words::{Command, Words};

pub const FAMILY: Family = Family { name: "geo", write };

/// How many in a hundred commands add positions.
const FILL_PERCENT: usize = 30;

const FILL: &[&str] = &[
    "GEOADD $key %[ NX | XX | CH ] ( $position $member )+",
    "GEOADD $key ( $position $member )+",
];

const AREA: &str = "{ FROMMEMBER $member | FROMLONLAT $position } { BYRADIUS $distance | BYBOX $length $distance }";

const TEMPLATES: &[&str] = &[
    "GEOADD $key %[ NX | XX | CH | GT ] $position",
    "GEODIST $key $member $member [ M | KM | FT | MI | LY ]",
    "GEODIST $key $member $member M KM",
    "{ GEOPOS | GEOHASH } $key ( $member )+",
    "{ GEOPOS | GEOHASH } $key",
    "{ GEORADIUS | GEORADIUS_RO } $key $position $distance %[ WITHCOORD | WITHDIST | WITHHASH | COUNT $int | ANY | ASC | DESC ]",
    "{ GEORADIUSBYMEMBER | GEORADIUSBYMEMBER_RO } $key $member $distance %[ WITHCOORD | WITHDIST | WITHHASH | COUNT $small | ANY | ASC | DESC ]",
    "{ GEORADIUS | GEORADIUS_RO } $key $position $distance %[ STORE $key | STOREDIST far | COUNT $small | WITHDIST | ASC ]",
    "{ GEORADIUSBYMEMBER | GEORADIUSBYMEMBER_RO } $key $member $distance %[ STORE $key | STOREDIST far | COUNT $small | DESC ]",
    "GEOSEARCH $key %[ FROMMEMBER $member | FROMLONLAT $position | BYRADIUS $distance | BYBOX $length $distance | ASC | DESC | COUNT $int | ANY | WITHDIST | STOREDIST ]",
    "ZRANGE $key 0 -1 WITHSCORES",
    "ZREM $key ( $member )+",
];

fn write(words: &mut Words) -> Vec<Command> {
    if words.random().chance(FILL_PERCENT) {
        return vec![words.command(FILL)];
    }
    if words.random().chance(40) {
        let options =
            "%[ ASC | DESC | COUNT $small | COUNT $small ANY | WITHCOORD | WITHDIST | WITHHASH ]";
        let shown = format!("GEOSEARCH $key {AREA} {options}");
        let distances = format!("GEOSEARCHSTORE far $key {AREA} STOREDIST %[ ASC | COUNT $small ]");
        let stored = format!("GEOSEARCHSTORE $key $key {AREA} %[ ASC | COUNT $small ]");
        return vec![words.command(&[&shown, &shown, &stored, &distances])];
    }
    vec![words.command(TEMPLATES)]
}
