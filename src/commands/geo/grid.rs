//! Positions on the earth as cells of a grid, and distances between them.
//!
//! A cell of step `s` is one of 2^s columns and 2^s rows; its number interleaves both,
//! column bits above row bits. The score of a member is the number of its cell of
//! step 26, which a double holds exactly. Constants and the order of operations are those of
//! Redis 7.2, since replies show the last digits.

use std::ops::Range;

pub const LONGITUDE_MAX: f64 = 180.0;
/// Where the square map of the web ends.
pub const LATITUDE_MAX: f64 = 85.05112878;

/// Radius of a sphere in place of the earth, in meters (quadratic mean of WGS 84).
const EARTH_RADIUS_M: f64 = 6372797.560856;

/// Half the length of the equator on the map, in meters: a search of that size needs the whole grid.
const MAP_HALF_M: f64 = 20037726.37;

const RADIANS_PER_DEGREE: f64 = std::f64::consts::PI / 180.0;

/// Cells of members; 52 bits in all.
pub const STEP_MAX: u32 = 26;

fn radians(degrees: f64) -> f64 {
    degrees * RADIANS_PER_DEGREE
}

fn degrees(radians: f64) -> f64 {
    radians / RADIANS_PER_DEGREE
}

/// Degrees east and north.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Position {
    pub longitude: f64,
    pub latitude: f64,
}

impl Position {
    pub fn is_on_the_map(self) -> bool {
        self.longitude.abs() <= LONGITUDE_MAX && self.latitude.abs() <= LATITUDE_MAX
    }

    /// The score of a member here.
    pub fn score(self) -> u64 {
        Cell::at(self, STEP_MAX, LATITUDE_MAX).bits
    }

    /// The position that a score stands for; any score of a sorted set stands for one.
    pub fn from_score(score: f64) -> Self {
        let cell = Cell {
            bits: score_bits(score),
            step: STEP_MAX,
        };
        cell.area().middle()
    }

    /// The haversine distance in meters.
    pub fn distance_m(self, other: Self) -> f64 {
        let (longitude, other_longitude) = (radians(self.longitude), radians(other.longitude));
        let v = ((other_longitude - longitude) / 2.0).sin();
        if v == 0.0 {
            return latitude_distance_m(self.latitude, other.latitude);
        }
        let (latitude, other_latitude) = (radians(self.latitude), radians(other.latitude));
        let u = ((other_latitude - latitude) / 2.0).sin();
        let a = u * u + latitude.cos() * other_latitude.cos() * v * v;
        2.0 * EARTH_RADIUS_M * a.sqrt().asin()
    }

    /// The 11 characters of the standard geohash, whose map reaches the poles. The last one
    /// stands for bits that a score does not hold.
    pub fn geohash(self) -> [u8; 11] {
        const ALPHABET: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
        let bits = Cell::at(self, STEP_MAX, 90.0).bits;
        let mut text = [ALPHABET[0]; 11];
        for (index, character) in text[..10].iter_mut().enumerate() {
            let shift = 2 * STEP_MAX as usize - (index + 1) * 5;
            *character = ALPHABET[(bits >> shift & 0x1f) as usize];
        }
        text
    }
}

/// Distance in meters along a meridian.
fn latitude_distance_m(from: f64, to: f64) -> f64 {
    EARTH_RADIUS_M * (radians(to) - radians(from)).abs()
}

/// The integer that a compiled C cast makes of a score; scores that no position
/// made are only seen when plain scores are searched as positions.
pub fn score_bits(score: f64) -> u64 {
    const TWO_TO_63: f64 = (1u64 << 63) as f64;
    if score < TWO_TO_63 {
        score as i64 as u64
    } else if score < 2.0 * TWO_TO_63 {
        score as u64
    } else {
        0
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Area {
    longitude_min: f64,
    longitude_max: f64,
    latitude_min: f64,
    latitude_max: f64,
}

impl Area {
    fn middle(&self) -> Position {
        let longitude = (self.longitude_min + self.longitude_max) / 2.0;
        let latitude = (self.latitude_min + self.latitude_max) / 2.0;
        Position {
            longitude: longitude.clamp(-LONGITUDE_MAX, LONGITUDE_MAX),
            latitude: latitude.clamp(-LATITUDE_MAX, LATITUDE_MAX),
        }
    }
}

/// A cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    bits: u64,
    step: u32,
}

impl Cell {
    /// The cell around a position, on a map that ends at a latitude.
    fn at(position: Position, step: u32, latitude_max: f64) -> Self {
        let cells = (1u64 << step) as f64;
        let row = (position.latitude + latitude_max) / (latitude_max * 2.0) * cells;
        let column = (position.longitude + LONGITUDE_MAX) / (LONGITUDE_MAX * 2.0) * cells;
        Self {
            bits: spread(row as u32) | spread(column as u32) << 1,
            step,
        }
    }

    fn area(self) -> Area {
        let cells = (1u64 << self.step) as f64;
        let (row, column) = (gather(self.bits), gather(self.bits >> 1));
        let latitude =
            |row: u32| -LATITUDE_MAX + f64::from(row) / cells * (LATITUDE_MAX - -LATITUDE_MAX);
        let longitude = |column: u32| {
            -LONGITUDE_MAX + f64::from(column) / cells * (LONGITUDE_MAX - -LONGITUDE_MAX)
        };
        Area {
            longitude_min: longitude(column),
            longitude_max: longitude(column.wrapping_add(1)),
            latitude_min: latitude(row),
            latitude_max: latitude(row.wrapping_add(1)),
        }
    }

    /// The cell so many columns and rows away; the grid goes round in both directions.
    fn moved(self, columns: i32, rows: i32) -> Self {
        let mask = u32::MAX >> (32 - self.step);
        // The last meridian lies outside of the grid, and Redis brings only what moves back into it.
        let along = |from: u32, by: i32| match by {
            0 => from,
            _ => from.wrapping_add_signed(by) & mask,
        };
        let row = along(gather(self.bits), rows);
        let column = along(gather(self.bits >> 1), columns);
        Self {
            bits: spread(row) | spread(column) << 1,
            step: self.step,
        }
    }

    /// The scores of the members inside.
    fn scores(self) -> Range<u64> {
        let shift = 2 * (STEP_MAX - self.step);
        self.bits << shift..(self.bits + 1) << shift
    }
}

/// The bits of `value` at the even places.
fn spread(value: u32) -> u64 {
    let mut bits = u64::from(value);
    bits = (bits | bits << 16) & 0x0000_ffff_0000_ffff;
    bits = (bits | bits << 8) & 0x00ff_00ff_00ff_00ff;
    bits = (bits | bits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    bits = (bits | bits << 2) & 0x3333_3333_3333_3333;
    (bits | bits << 1) & 0x5555_5555_5555_5555
}

/// The bits at the even places; undoes [`spread`].
fn gather(bits: u64) -> u32 {
    let mut bits = bits & 0x5555_5555_5555_5555;
    bits = (bits | bits >> 1) & 0x3333_3333_3333_3333;
    bits = (bits | bits >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
    bits = (bits | bits >> 4) & 0x00ff_00ff_00ff_00ff;
    bits = (bits | bits >> 8) & 0x0000_ffff_0000_ffff;
    (bits | bits >> 16) as u32
}

/// The form of an area that is searched, in meters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    Circle { radius_m: f64 },
    Box { width_m: f64, height_m: f64 },
}

/// An area that is searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    pub center: Position,
    pub shape: Shape,
}

impl Search {
    /// The distance to a position, if that lies in the area.
    pub fn distance_m_inside(&self, position: Position) -> Option<f64> {
        match self.shape {
            Shape::Circle { radius_m } => {
                let distance_m = self.center.distance_m(position);
                (distance_m <= radius_m).then_some(distance_m)
            }
            Shape::Box { width_m, height_m } => {
                let north_m = latitude_distance_m(position.latitude, self.center.latitude);
                if north_m > height_m / 2.0 {
                    return None;
                }
                let beside = Position {
                    longitude: self.center.longitude,
                    latitude: position.latitude,
                };
                if position.distance_m(beside) > width_m / 2.0 {
                    return None;
                }
                Some(self.center.distance_m(position))
            }
        }
    }

    /// Half the width and half the height of the area, and how far its border is at the most.
    fn reach_m(&self) -> (f64, f64, f64) {
        match self.shape {
            Shape::Circle { radius_m } => (radius_m, radius_m, radius_m),
            Shape::Box { width_m, height_m } => {
                let (x, y) = (width_m / 2.0, height_m / 2.0);
                (x, y, (x * x + y * y).sqrt())
            }
        }
    }

    /// The box of degrees around the area.
    fn bounds(&self) -> Area {
        let (half_width_m, half_height_m, _) = self.reach_m();
        let Position {
            longitude,
            latitude,
        } = self.center;
        let up = degrees(half_height_m / EARTH_RADIUS_M);
        // Meridians are closest on the side of the pole.
        let narrow = if latitude < 0.0 {
            latitude - up
        } else {
            latitude + up
        };
        let aside = degrees(half_width_m / EARTH_RADIUS_M / radians(narrow).cos());
        Area {
            longitude_min: longitude - aside,
            longitude_max: longitude + aside,
            latitude_min: latitude - up,
            latitude_max: latitude + up,
        }
    }

    /// The step whose cells are about as large as the area.
    fn step(&self) -> u32 {
        let (_, _, mut reach_m) = self.reach_m();
        if reach_m == 0.0 {
            return STEP_MAX;
        }
        let mut step = 1i32;
        while reach_m < MAP_HALF_M {
            reach_m *= 2.0;
            step += 1;
        }
        step -= 2;
        // Cells get narrow towards the poles.
        let latitude = self.center.latitude.abs();
        step -= i32::from(latitude > 66.0) + i32::from(latitude > 80.0);
        step.clamp(1, STEP_MAX as i32) as u32
    }

    /// Ranges of scores that hold all members of the area (and others), in the order in
    /// which members are found: the middle, the sides, the corners.
    pub fn score_ranges(&self) -> Vec<Range<u64>> {
        let bounds = self.bounds();
        let mut cell = Cell::at(self.center, self.step(), LATITUDE_MAX);
        if cell.step > 1 && !neighbours_cover(cell, &bounds) {
            cell = Cell::at(self.center, cell.step - 1, LATITUDE_MAX);
        }
        let area = cell.area();
        let reaches = |columns: i32, rows: i32| {
            cell.step < 2
                || !(rows < 0 && area.latitude_min < bounds.latitude_min
                    || rows > 0 && area.latitude_max > bounds.latitude_max
                    || columns < 0 && area.longitude_min < bounds.longitude_min
                    || columns > 0 && area.longitude_max > bounds.longitude_max)
        };
        const AROUND: [(i32, i32); 9] = [
            (0, 0),
            (0, 1),
            (0, -1),
            (1, 0),
            (-1, 0),
            (1, 1),
            (-1, 1),
            (1, -1),
            (-1, -1),
        ];
        let mut cells: Vec<Cell> = Vec::with_capacity(AROUND.len());
        for (columns, rows) in AROUND {
            if !reaches(columns, rows) {
                continue;
            }
            let next = cell.moved(columns, rows);
            // In a grid of very few cells, several ways lead to the same one.
            if !cells.contains(&next) {
                cells.push(next);
            }
        }
        cells.into_iter().map(Cell::scores).collect()
    }
}

/// Whether a cell and those around it reach beyond the bounds.
fn neighbours_cover(cell: Cell, bounds: &Area) -> bool {
    let area = |columns, rows| cell.moved(columns, rows).area();
    area(0, 1).latitude_max >= bounds.latitude_max
        && area(0, -1).latitude_min <= bounds.latitude_min
        && area(1, 0).longitude_max >= bounds.longitude_max
        && area(-1, 0).longitude_min <= bounds.longitude_min
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_those_of_redis() {
        let palermo = Position {
            longitude: 13.361389,
            latitude: 38.115556,
        };
        assert_eq!(palermo.score(), 3479099956230698);
        assert_eq!(&palermo.geohash(), b"sqc8b49rny0");
        let back = Position::from_score(palermo.score() as f64);
        assert!(palermo.distance_m(back) < 0.5);
        let catania = Position {
            longitude: 15.087269,
            latitude: 37.502669,
        };
        assert_eq!(catania.score(), 3479447370796909);
    }

    #[test]
    fn every_position_of_an_area_lies_in_its_ranges() {
        let mut state = 5u64;
        let mut unit = move || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut inside = 0;
        for _ in 0..20_000 {
            let center = Position {
                longitude: unit() * 300.0 - 150.0,
                latitude: unit() * 120.0 - 60.0,
            };
            let size_m = 10f64.powf(unit() * 5.0);
            let shape = if unit() < 0.5 {
                Shape::Circle { radius_m: size_m }
            } else {
                Shape::Box {
                    width_m: size_m * unit(),
                    height_m: size_m,
                }
            };
            let search = Search { center, shape };
            let scale = size_m / 60_000.0;
            let near = Position {
                longitude: center.longitude + (unit() - 0.5) * scale,
                latitude: center.latitude + (unit() - 0.5) * scale,
            };
            let score = near.score();
            let decoded = Position::from_score(score as f64);
            if search.distance_m_inside(decoded).is_some() {
                inside += 1;
                let ranges = search.score_ranges();
                let holds = ranges.iter().filter(|range| range.contains(&score));
                assert_eq!(holds.count(), 1, "{search:?} {near:?}");
            }
        }
        assert!(inside > 1000, "{inside}");
    }
}
