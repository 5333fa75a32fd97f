//! The access clock of a key: 24 bits that are either the second of the last access
//! (LRU) or a logarithmic access counter with the minute of its last decay (LFU).
//!
//! Which of the two the bits mean follows from the eviction policy, as in Redis; the
//! clock itself doesn't know. The rules are those of Redis 7.2 (`lru_clock`, LFU_INIT_VAL,
//! `lfu-log-factor`, `lfu-decay-time`).

/// Bits of a clock.
const CLOCK_MASK: u32 = 0x00FF_FFFF;

/// The counter of a new key, so that it isn't evicted before it could be used again
/// (Redis: LFU_INIT_VAL).
pub const LFU_COUNTER_NEW: u8 = 5;

/// The access clock of one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessClock(u32);

impl AccessClock {
    /// From the low 24 bits.
    pub fn from_bits(bits: u32) -> Self {
        AccessClock(bits & CLOCK_MASK)
    }

    pub fn to_bits(self) -> u32 {
        self.0
    }

    /// A key that was used at this second of the Unix clock (which is cut to 24 bits).
    pub fn lru(now_seconds: u64) -> Self {
        Self::from_bits(now_seconds as u32)
    }

    /// A key that has not been used for `idle_seconds`.
    pub fn lru_idle(now_seconds: u64, idle_seconds: u64) -> Self {
        Self::lru(now_seconds.wrapping_sub(idle_seconds))
    }

    /// Seconds since the last access, modulo 2^24 (194 days).
    pub fn idle_seconds(self, now_seconds: u64) -> u64 {
        u64::from((now_seconds as u32).wrapping_sub(self.0) & CLOCK_MASK)
    }

    /// A key with this access counter, last decayed at this minute of the Unix clock.
    pub fn lfu(now_minutes: u64, counter: u8) -> Self {
        AccessClock(u32::from(now_minutes as u16) << 8 | u32::from(counter))
    }

    /// The access counter after its decay: one for each `decay_minutes` that passed; 0
    /// means that it never decays.
    pub fn counter(self, now_minutes: u64, decay_minutes: u32) -> u8 {
        let counter = self.0 as u8;
        if decay_minutes == 0 {
            return counter;
        }
        let elapsed = (now_minutes as u16).wrapping_sub((self.0 >> 8) as u16);
        let periods = u32::from(elapsed) / decay_minutes;
        counter.saturating_sub(periods.min(255) as u8)
    }
}

/// What an access does to the clock of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Touch {
    /// Nothing: OBJECT, DEBUG, clients with CLIENT NO-TOUCH.
    #[default]
    No,
    Lru {
        now_seconds: u64,
    },
    Lfu {
        now_minutes: u64,
        decay_minutes: u32,
        log_factor: u32,
        /// Chance for the counter; mixed with the key's hash, so that one value serves a
        /// whole batch.
        random: u64,
    },
}

impl Touch {
    /// The clock of a key that is made by this access.
    pub fn fresh(self) -> AccessClock {
        match self {
            Touch::No => AccessClock::default(),
            Touch::Lru { now_seconds } => AccessClock::lru(now_seconds),
            Touch::Lfu { now_minutes, .. } => AccessClock::lfu(now_minutes, LFU_COUNTER_NEW),
        }
    }

    /// The clock after this access; `salt` tells keys apart.
    pub fn applied(self, old: AccessClock, salt: u64) -> AccessClock {
        match self {
            Touch::No => old,
            Touch::Lru { now_seconds } => AccessClock::lru(now_seconds),
            Touch::Lfu {
                now_minutes,
                decay_minutes,
                log_factor,
                random,
            } => {
                let counter = old.counter(now_minutes, decay_minutes);
                let chance = mixed(random ^ salt);
                AccessClock::lfu(now_minutes, counted(counter, log_factor, chance))
            }
        }
    }

    /// The clock of a key whose value was replaced: a new time of use, the old counter.
    pub fn overwritten(self, old: AccessClock) -> AccessClock {
        match self {
            Touch::No | Touch::Lfu { .. } => old,
            Touch::Lru { now_seconds } => AccessClock::lru(now_seconds),
        }
    }
}

/// Counts one access with the probability 1 / ((counter - new) * factor + 1).
fn counted(counter: u8, log_factor: u32, chance: u64) -> u8 {
    let above = u64::from(counter.saturating_sub(LFU_COUNTER_NEW));
    let odds = above * u64::from(log_factor) + 1;
    if counter < u8::MAX && chance.is_multiple_of(odds) {
        counter + 1
    } else {
        counter
    }
}

/// Spreads a number over all 64 bits (the finalizer of SplitMix64).
pub(super) fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_survives_the_wrap_of_the_clock() {
        let now = (1 << 24) + 5;
        let clock = AccessClock::lru_idle(now, 10);
        assert_eq!(clock.idle_seconds(now), 10);
        assert_eq!(clock.idle_seconds(now + 7), 17);
        assert_eq!(AccessClock::lru(now).idle_seconds(now), 0);
    }

    #[test]
    fn counters_decay_once_a_period() {
        let clock = AccessClock::lfu(70_000, 9);
        assert_eq!(clock.counter(70_000, 1), 9);
        assert_eq!(clock.counter(70_003, 1), 6);
        assert_eq!(clock.counter(70_003, 2), 8);
        assert_eq!(clock.counter(70_400, 1), 0);
        assert_eq!(clock.counter(70_400, 0), 9);
    }

    #[test]
    fn the_counter_grows_with_the_logarithm_of_the_accesses() {
        // redis.conf documents these counters for the factor 10.
        let documented = [(100u64, 10u64), (1000, 18), (100_000, 142)];
        let keys = 30;
        for (accesses, documented) in documented {
            let sum: u64 = (0..keys)
                .map(|key| u64::from(counter_after(accesses, key)))
                .sum();
            let off = (sum / keys).abs_diff(documented);
            assert!(off <= documented / 10, "{accesses}: {}", sum / keys);
        }
        assert_eq!(counter_after(2_000_000, 1), 255);
    }

    fn counter_after(accesses: u64, key: u64) -> u8 {
        let touch = |random| Touch::Lfu {
            now_minutes: 1,
            decay_minutes: 1,
            log_factor: 10,
            random,
        };
        (0..accesses)
            .fold(touch(0).fresh(), |clock, access| {
                touch(access).applied(clock, key << 32)
            })
            .counter(1, 1)
    }

    #[test]
    fn an_overwritten_value_keeps_its_counter_and_gets_a_new_time() {
        let old = AccessClock::lfu(3, 77);
        let lfu = Touch::Lfu {
            now_minutes: 9,
            decay_minutes: 1,
            log_factor: 10,
            random: 0,
        };
        assert_eq!(lfu.overwritten(old), old);
        let lru = Touch::Lru { now_seconds: 44 };
        assert_eq!(lru.overwritten(old), AccessClock::lru(44));
        assert_eq!(Touch::No.applied(old, 1), old);
    }
}
