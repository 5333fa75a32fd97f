//! The table library, as Lua's own but for one thing: long work is paid for from the
//! script's budget, so that a script can be ended in the middle of it. Lua's functions
//! do any amount of work in one instruction, where no limit reaches.

use crate::script::bridge::set_function;
use crate::script::sandbox::{check_writable, resolve};
use crate::script::vm::{FUNCTION, Lua, NIL, NONE, NUMBER, Outcome, Raised, STRING, TABLE};

/// Steps of a loop between two payments.
const STEPS_PER_PAYMENT: i32 = 0x100;

/// Slots that a sort needs at one level of its recursion, and once.
const SORT_SLOTS: i32 = 8;

/// Replaces the functions in the table library. May raise (memory).
pub fn install(lua: Lua, globals: i32) {
    lua.raw_get_name(globals, b"table");
    set_function(lua, b"insert", insert);
    set_function(lua, b"remove", remove);
    set_function(lua, b"foreach", for_each);
    set_function(lua, b"foreachi", for_each_index);
    set_function(lua, b"concat", concat);
    set_function(lua, b"maxn", max_number);
    set_function(lua, b"sort", sort);
    lua.pop(1);
}

/// Pays for a bundle of steps at each end of one.
fn pay_at(lua: Lua, step: i32) -> Result<(), Raised> {
    if step & (STEPS_PER_PAYMENT - 1) == 0 {
        lua.runtime().work(lua, i64::from(STEPS_PER_PAYMENT))?;
    }
    Ok(())
}

fn insert(lua: Lua) -> Outcome {
    lua.check_kind(1, TABLE);
    let end = lua.raw_len(1) as i32 + 1;
    match lua.top() {
        2 => {
            check_writable(lua, 1)?;
            lua.raw_set_index(1, end);
        }
        3 => {
            let position = lua.check_int(2);
            check_writable(lua, 1)?;
            for index in (position.saturating_add(1)..=end.max(position)).rev() {
                pay_at(lua, index)?;
                lua.raw_get_index(1, index - 1);
                lua.raw_set_index(1, index);
            }
            lua.raw_set_index(1, position);
        }
        _ => return Err(lua.error(b"wrong number of arguments to 'insert'")),
    }
    Ok(0)
}

fn remove(lua: Lua) -> Outcome {
    lua.check_kind(1, TABLE);
    let end = lua.raw_len(1) as i32;
    let position = lua.optional_integer(2, i64::from(end)) as i32;
    if !(1..=end).contains(&position) {
        return Ok(0);
    }
    check_writable(lua, 1)?;
    lua.raw_get_index(1, position);
    for index in position..end {
        pay_at(lua, index)?;
        lua.raw_get_index(1, index + 1);
        lua.raw_set_index(1, index);
    }
    lua.push_nil();
    lua.raw_set_index(1, end);
    Ok(1)
}

/// Calls the function in slot 2 with the key and the value on top, and pops the value. True if it answered
/// with anything; that is then on top.
fn visit(lua: Lua) -> bool {
    lua.push_value(2);
    lua.push_value(-3);
    lua.push_value(-3);
    lua.call(2, 1);
    let is_answer = lua.kind(-1) != NIL;
    if !is_answer {
        lua.pop(2);
    }
    is_answer
}

fn for_each(lua: Lua) -> Outcome {
    lua.check_kind(1, TABLE);
    lua.check_kind(2, FUNCTION);
    resolve(lua, 1);
    lua.push_nil();
    let mut steps: i32 = 0;
    while lua.next(1) {
        if visit(lua) {
            return Ok(1);
        }
        steps = steps.wrapping_add(1);
        pay_at(lua, steps)?;
    }
    Ok(0)
}

fn for_each_index(lua: Lua) -> Outcome {
    lua.check_kind(1, TABLE);
    let end = lua.raw_len(1) as i32;
    lua.check_kind(2, FUNCTION);
    for index in 1..=end {
        lua.push_number(f64::from(index));
        lua.raw_get_index(1, index);
        if visit(lua) {
            return Ok(1);
        }
        lua.pop(1);
        pay_at(lua, index)?;
    }
    Ok(0)
}

/// The length is found first, so that the text is built in its place.
fn concat(lua: Lua) -> Outcome {
    let separator = match lua.kind(2) {
        NIL | NONE => &b""[..],
        _ => lua.check_bytes(2),
    };
    lua.check_kind(1, TABLE);
    let first = lua.optional_integer(3, 1) as i32;
    let last = match lua.kind(4) {
        NIL | NONE => lua.raw_len(1) as i32,
        _ => lua.check_int(4),
    };
    let mut len: usize = 0;
    for index in first..=last {
        lua.raw_get_index(1, index);
        if !matches!(lua.kind(-1), STRING | NUMBER) {
            let kind = lua.kind_name(-1);
            return Err(lua.error_text(format_args!(
                "invalid value ({kind}) at index {index} in table for 'concat'"
            )));
        }
        let text = lua.bytes(-1).unwrap_or_default();
        len = len.saturating_add(text.len());
        if index < last {
            len = len.saturating_add(separator.len());
        }
        lua.pop(1);
        pay_at(lua, index)?;
    }
    if lua.runtime().memory.would_exceed(len) {
        return Err(lua.plain_error(b"not enough memory"));
    }
    let buffer = lua.new_buffer(len);
    let mut rest = &mut *buffer;
    for index in first..=last {
        lua.raw_get_index(1, index);
        let text = lua.bytes(-1).unwrap_or_default();
        let separator = if index < last { separator } else { b"" };
        for part in [text, separator] {
            let (place, behind) = rest.split_at_mut(part.len());
            place.copy_from_slice(part);
            rest = behind;
        }
        lua.pop(1);
        pay_at(lua, index)?;
    }
    lua.push_bytes(buffer);
    Ok(1)
}

fn max_number(lua: Lua) -> Outcome {
    lua.check_kind(1, TABLE);
    let mut max = 0.0;
    let mut steps: i32 = 0;
    lua.push_nil();
    while lua.next(1) {
        lua.pop(1);
        if lua.kind(-1) == NUMBER && lua.to_number(-1) > max {
            max = lua.to_number(-1);
        }
        steps = steps.wrapping_add(1);
        pay_at(lua, steps)?;
    }
    lua.push_number(max);
    Ok(1)
}

fn sort(lua: Lua) -> Outcome {
    lua.check_kind(1, TABLE);
    let end = lua.raw_len(1) as i32;
    if !matches!(lua.kind(2), NIL | NONE) {
        lua.check_kind(2, FUNCTION);
    }
    lua.set_top(2);
    let mut sorter = Sorter {
        lua,
        has_order: lua.kind(2) == FUNCTION,
        comparisons: 0,
    };
    sorter.sort(1, end)?;
    Ok(0)
}

/// Lua's quicksort, comparison for comparison: what a script's order function sees, where elements that are equal
/// end, and which wrong order functions are noticed depends on it. The table is in slot 1, the order in slot 2.
struct Sorter {
    lua: Lua,
    has_order: bool,
    comparisons: i32,
}

impl Sorter {
    /// Whether the value at `left` stands before the one at `right`; indices from the top. May raise.
    fn is_before(&mut self, left: i32, right: i32) -> Result<bool, Raised> {
        let lua = self.lua;
        self.comparisons = self.comparisons.wrapping_add(1);
        pay_at(lua, self.comparisons)?;
        if !self.has_order {
            return Ok(lua.is_less(left, right));
        }
        lua.push_value(2);
        lua.push_value(left - 1);
        lua.push_value(right - 2);
        lua.call(2, 1);
        let answer = lua.to_bool(-1);
        lua.pop(1);
        Ok(answer)
    }

    /// Pushes two elements.
    fn push_pair(&self, first: i32, second: i32) {
        self.lua.raw_get_index(1, first);
        self.lua.raw_get_index(1, second);
    }

    /// Stores the two values on top, the upper one at `first`.
    fn store_pair(&self, first: i32, second: i32) {
        self.lua.raw_set_index(1, first);
        self.lua.raw_set_index(1, second);
    }

    /// Puts two elements in order. True if they were not.
    fn order_pair(&mut self, low: i32, high: i32) -> Result<bool, Raised> {
        self.push_pair(low, high);
        let swaps = self.is_before(-1, -2)?;
        if swaps {
            self.store_pair(low, high);
        } else {
            self.lua.pop(2);
        }
        Ok(swaps)
    }

    /// Sorts from `low` to `high`. The smaller part is done by recursion, which is therefore no deeper than the
    /// logarithm of the length.
    fn sort(&mut self, mut low: i32, mut high: i32) -> Result<(), Raised> {
        if !self.lua.reserve(SORT_SLOTS) {
            return Err(self.lua.error(b"stack overflow"));
        }
        while low < high {
            self.order_pair(low, high)?;
            if high - low == 1 {
                break;
            }
            let middle = (((low as u32) + (high as u32)) / 2) as i32;
            if !self.order_pair(low, middle)? {
                self.order_pair(middle, high)?;
            }
            if high - low == 2 {
                break;
            }
            let pivot = self.part(low, high, middle)?;
            if pivot - low < high - pivot {
                self.sort(low, pivot - 1)?;
                low = pivot + 1;
            } else {
                self.sort(pivot + 1, high)?;
                high = pivot - 1;
            }
        }
        Ok(())
    }

    /// Brings what is less than the middle's value before it and gives its new place.
    fn part(&mut self, low: i32, high: i32, middle: i32) -> Result<i32, Raised> {
        let lua = self.lua;
        // The pivot stays on the stack and next to the upper end.
        lua.raw_get_index(1, middle);
        lua.push_value(-1);
        lua.raw_get_index(1, high - 1);
        self.store_pair(middle, high - 1);
        let (mut left, mut right) = (low, high - 1);
        loop {
            left = self.pass(left, 1, high)?;
            right = self.pass(right, -1, low)?;
            if right < left {
                lua.pop(3);
                self.push_pair(high - 1, left);
                self.store_pair(high - 1, left);
                return Ok(left);
            }
            self.store_pair(left, right);
        }
    }

    /// Goes on from `at` past all that is on the right side of the pivot, and pushes the element that is not. The
    /// pivot is on top, or below what the pass from the left pushed.
    fn pass(&mut self, mut at: i32, direction: i32, bound: i32) -> Result<i32, Raised> {
        let lua = self.lua;
        loop {
            at += direction;
            lua.raw_get_index(1, at);
            let goes_on = match direction {
                1 => self.is_before(-1, -2)?,
                _ => self.is_before(-3, -1)?,
            };
            if !goes_on {
                return Ok(at);
            }
            if (at - bound) * direction > 0 {
                return Err(lua.error(b"invalid order function for sorting"));
            }
            lua.pop(1);
        }
    }
}
