//! Geo: sorted sets whose scores are positions on the earth.
//!
//! A position becomes the number of its cell in a grid ([`grid`]), so that what is near
//! each other lies in few ranges of scores ([`search`]).

mod grid;
mod search;

use crate::commands::sorted_sets::{AddOptions, add_members};
use crate::engine::ctx::{ReadCtx, WriteCtx};
use crate::engine::spec::{
    Begin, Categories, CommandSpec, Find, Flags, Group, Handled, KeyFlags, KeySpec, Run,
};
use crate::resp::args::{Args, OwnedArgs};
use crate::resp::error::CommandError;
use crate::resp::number::{Decimal, parse_double};
use crate::resp::reply::Reply;
use crate::store::sorted_set::SortedSet;
use grid::Position;

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "geoadd",
        group: Group::Geo,
        summary: "Adds members at positions on the earth, or moves them.",
        since: "3.2.0",
        complexity: "O(log(N)) for each member, of N in all",
        arity: -5,
        flags: Flags::WRITE.union(Flags::DENYOOM),
        categories: Categories::GEO,
        keys: &[KeySpec::one(1, KeyFlags::RW.union(KeyFlags::UPDATE))],
        tips: &[],
        syntax: "key#0 [condition<NX | XX>@6.2.0] [change='CH'@6.2.0] data(longitude:double latitude:double member)...",
        run: Run::Write(geoadd),
    },
    CommandSpec {
        name: "geodist",
        group: Group::Geo,
        summary: "Returns the distance between two members.",
        since: "3.2.0",
        complexity: "O(1)",
        arity: -4,
        flags: Flags::READONLY,
        categories: Categories::GEO,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 member1 member2 [unit<M | KM | FT | MI>]",
        run: Run::Read(geodist),
    },
    CommandSpec {
        name: "geohash",
        group: Group::Geo,
        summary: "Returns the positions of members as geohash text.",
        since: "3.2.0",
        complexity: "O(1) for each member",
        arity: -2,
        flags: Flags::READONLY,
        categories: Categories::GEO,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 [member...]",
        run: Run::Read(geohash),
    },
    CommandSpec {
        name: "geopos",
        group: Group::Geo,
        summary: "Returns the positions of members.",
        since: "3.2.0",
        complexity: "O(1) for each member",
        arity: -2,
        flags: Flags::READONLY,
        categories: Categories::GEO,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 [member...]",
        run: Run::Read(geopos),
    },
    CommandSpec {
        name: "georadius",
        group: Group::Geo,
        summary: "Finds members within a distance of a position, and may store them.",
        since: "3.2.0",
        complexity: "O(N+log(M)), N members in the grid cells around the area of M in all",
        arity: -6,
        flags: Flags::WRITE.union(Flags::DENYOOM.union(Flags::MOVABLE_KEYS)),
        categories: Categories::GEO,
        keys: &[
            KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS)),
            KeySpec {
                begin: Begin::Keyword("STORE", 6),
                find: Find::Range {
                    last: 0,
                    step: 1,
                    limit: 0,
                },
                flags: KeyFlags::OW.union(KeyFlags::UPDATE),
                notes: "",
            },
            KeySpec {
                begin: Begin::Keyword("STOREDIST", 6),
                find: Find::Range {
                    last: 0,
                    step: 1,
                    limit: 0,
                },
                flags: KeyFlags::OW.union(KeyFlags::UPDATE),
                notes: "",
            },
        ],
        tips: &[],
        syntax: "key#0 longitude:double latitude:double radius:double unit<M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH] [count-block(COUNT=count:integer [ANY@6.2.0])] [order<ASC | DESC>] [store<STORE=storekey#1/key | STOREDIST=storedistkey#2/key>]",
        run: Run::ReadOrWrite(search::try_georadius, search::georadius),
    },
    CommandSpec {
        name: "georadius_ro",
        group: Group::Geo,
        summary: "Finds members within a distance of a position.",
        since: "3.2.10",
        complexity: "O(N+log(M)), N members in the grid cells around the area of M in all",
        arity: -6,
        flags: Flags::READONLY,
        categories: Categories::GEO,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 longitude:double latitude:double radius:double unit<M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH] [count-block(COUNT=count:integer [ANY@6.2.0])] [order<ASC | DESC>]",
        run: Run::Read(search::georadius_ro),
    },
    CommandSpec {
        name: "georadiusbymember",
        group: Group::Geo,
        summary: "Finds members within a distance of a member, and may store them.",
        since: "3.2.0",
        complexity: "O(N+log(M)), N members in the grid cells around the area of M in all",
        arity: -5,
        flags: Flags::WRITE.union(Flags::DENYOOM.union(Flags::MOVABLE_KEYS)),
        categories: Categories::GEO,
        keys: &[
            KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS)),
            KeySpec {
                begin: Begin::Keyword("STORE", 5),
                find: Find::Range {
                    last: 0,
                    step: 1,
                    limit: 0,
                },
                flags: KeyFlags::OW.union(KeyFlags::UPDATE),
                notes: "",
            },
            KeySpec {
                begin: Begin::Keyword("STOREDIST", 5),
                find: Find::Range {
                    last: 0,
                    step: 1,
                    limit: 0,
                },
                flags: KeyFlags::OW.union(KeyFlags::UPDATE),
                notes: "",
            },
        ],
        tips: &[],
        syntax: "key#0 member radius:double unit<M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH] [count-block(COUNT=count:integer [ANY])] [order<ASC | DESC>] [store<STORE=storekey#1/key | STOREDIST=storedistkey#2/key>]",
        run: Run::ReadOrWrite(search::try_georadiusbymember, search::georadiusbymember),
    },
    CommandSpec {
        name: "georadiusbymember_ro",
        group: Group::Geo,
        summary: "Finds members within a distance of a member.",
        since: "3.2.10",
        complexity: "O(N+log(M)), N members in the grid cells around the area of M in all",
        arity: -5,
        flags: Flags::READONLY,
        categories: Categories::GEO,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 member radius:double unit<M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH] [count-block(COUNT=count:integer [ANY])] [order<ASC | DESC>]",
        run: Run::Read(search::georadiusbymember_ro),
    },
    CommandSpec {
        name: "geosearch",
        group: Group::Geo,
        summary: "Finds members inside a circle or a box.",
        since: "6.2.0",
        complexity: "O(N+log(M)), N members in the grid cells around the area of M in all",
        arity: -7,
        flags: Flags::READONLY,
        categories: Categories::GEO,
        keys: &[KeySpec::one(1, KeyFlags::RO.union(KeyFlags::ACCESS))],
        tips: &[],
        syntax: "key#0 from<FROMMEMBER=member | FROMLONLAT=fromlonlat(longitude:double latitude:double)> by<circle(BYRADIUS=radius:double unit<M | KM | FT | MI>) | box(BYBOX=width:double height:double unit<M | KM | FT | MI>)> [order<ASC | DESC>] [count-block(COUNT=count:integer [ANY])] [WITHCOORD] [WITHDIST] [WITHHASH]",
        run: Run::Read(search::geosearch),
    },
    CommandSpec {
        name: "geosearchstore",
        group: Group::Geo,
        summary: "Stores the members inside a circle or a box.",
        since: "6.2.0",
        complexity: "O(N+log(M)), N members in the grid cells around the area of M in all",
        arity: -8,
        flags: Flags::WRITE.union(Flags::DENYOOM),
        categories: Categories::GEO,
        keys: &[
            KeySpec::one(1, KeyFlags::OW.union(KeyFlags::UPDATE)),
            KeySpec::one(2, KeyFlags::RO.union(KeyFlags::ACCESS)),
        ],
        tips: &[],
        syntax: "destination#0 source#1 from<FROMMEMBER=member | FROMLONLAT=fromlonlat(longitude:double latitude:double)> by<circle(BYRADIUS=radius:double unit<M | KM | FT | MI>) | box(BYBOX=width:double height:double unit<M | KM | FT | MI>)> [order<ASC | DESC>] [count-block(COUNT=count:integer [ANY])] [STOREDIST]",
        run: Run::Write(search::geosearchstore),
    },
];

/// Meters in the unit that a word names.
fn unit_m(word: &[u8]) -> Result<f64, CommandError> {
    const UNITS: [(&[u8], f64); 4] = [
        (b"m", 1.0),
        (b"km", 1000.0),
        (b"ft", 0.3048),
        (b"mi", 1609.34),
    ];
    UNITS
        .into_iter()
        .find(|(name, _)| word.eq_ignore_ascii_case(name))
        .map(|(_, meters)| meters)
        .ok_or(CommandError::Text(
            "ERR unsupported unit provided. please use M, KM, FT, MI",
        ))
}

/// The position that two arguments give, longitude first.
fn position(longitude: &[u8], latitude: &[u8]) -> Result<Position, CommandError> {
    let position = Position {
        longitude: parse_double(longitude).ok_or(CommandError::NotFloat)?,
        latitude: parse_double(latitude).ok_or(CommandError::NotFloat)?,
    };
    if position.is_on_the_map() {
        Ok(position)
    } else {
        Err(CommandError::Owned(format!(
            "ERR invalid longitude,latitude pair {:.6},{:.6}",
            position.longitude, position.latitude
        )))
    }
}

fn position_of(board: &SortedSet, member: &[u8]) -> Option<Position> {
    board
        .score(member)
        .map(|score| Position::from_score(score.get()))
}

/// A distance with four digits after the point.
fn write_distance(reply: &mut Reply, distance: f64) {
    let scaled = (distance * 10_000.0).round_ties_even() as u64;
    reply.bulk_fmt(format_args!("{}.{:04}", scaled / 10_000, scaled % 10_000));
}

fn write_position(reply: &mut Reply, position: Position) {
    reply.array(2);
    reply.double(position.longitude);
    reply.double(position.latitude);
}

fn geoadd(ctx: &mut WriteCtx<'_>, args: Args<'_>) -> Handled {
    let mut options = AddOptions::empty();
    let mut first = 2;
    while let Some(word) = args.get(first) {
        options |= if word.eq_ignore_ascii_case(b"nx") {
            AddOptions::NX
        } else if word.eq_ignore_ascii_case(b"xx") {
            AddOptions::XX
        } else if word.eq_ignore_ascii_case(b"ch") {
            AddOptions::CH
        } else {
            break;
        };
        first += 1;
    }
    let triples = args.from(first);
    if triples.is_empty()
        || !triples.len().is_multiple_of(3)
        || options.contains(AddOptions::NX | AddOptions::XX)
    {
        return Err(CommandError::Syntax);
    }
    let mut pairs = OwnedArgs::new();
    for at in (0..triples.len()).step_by(3) {
        let position = position(triples.arg(at), triples.arg(at + 1))?;
        pairs.push(Decimal::new(position.score()).as_bytes());
        pairs.push(triples.arg(at + 2));
    }
    add_members(ctx, args.arg(1), pairs.as_args(), options)
}

fn geodist(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let unit_m = match args.len() {
        4 => 1.0,
        5 => unit_m(args.arg(4))?,
        _ => return Err(CommandError::Syntax),
    };
    let distance_m = ctx.read::<SortedSet>(args.arg(1))?.and_then(|board| {
        let from = position_of(board, args.arg(2))?;
        Some(from.distance_m(position_of(board, args.arg(3))?))
    });
    match distance_m {
        Some(distance_m) => write_distance(ctx.reply, distance_m / unit_m),
        None => ctx.reply.null(),
    }
    Ok(())
}

fn geohash(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let board = ctx.read::<SortedSet>(args.arg(1))?;
    ctx.reply.array(args.len() - 2);
    for member in args.from(2) {
        match board.and_then(|board| position_of(board, member)) {
            Some(position) => ctx.reply.bulk(&position.geohash()),
            None => ctx.reply.null(),
        }
    }
    Ok(())
}

fn geopos(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let board = ctx.read::<SortedSet>(args.arg(1))?;
    ctx.reply.array(args.len() - 2);
    for member in args.from(2) {
        match board.and_then(|board| position_of(board, member)) {
            Some(position) => write_position(ctx.reply, position),
            None => ctx.reply.null_array(),
        }
    }
    Ok(())
}
