//! Decimal digits of a double by Grisu2 (Florian Loitsch, "Printing Floating-Point
//! Numbers Quickly and Accurately with Integers", PLDI 2010).
//!
//! The digits always read back as the same double. In about one value of a
//! thousand they are not the shortest or not the nearest ones: Redis prints
//! scores with this algorithm, so clients see exactly these digits, and an exact
//! algorithm would differ. For the same reason the power of ten is chosen by the
//! same estimate as there when two would do.

/// Digits that Grisu2 makes at most.
pub const DIGITS_MAX: usize = 18;

/// Bits of a double's fraction.
const FRACTION_BITS: u32 = 52;
const HIDDEN_BIT: u64 = 1 << FRACTION_BITS;
/// The power of two of the fraction's last bit is the exponent field less this.
const EXPONENT_BIAS: i32 = 1075;

/// The scaled upper boundary's binary exponent ends up in this range, so that its
/// integral part fits in 32 bits and ten times its fraction in 64.
const SCALED_EXPONENT_MIN: i32 = -60;
const SCALED_EXPONENT_MAX: i32 = -32;

const POWER_FIRST: i32 = -348;
const POWER_STEP: i32 = 8;

/// The decimal digits of a positive finite value: `digits * 10^exponent`.
pub struct Digits {
    text: [u8; DIGITS_MAX],
    len: usize,
    /// Power of ten of the last digit.
    pub exponent: i32,
}

impl Digits {
    /// `value` must be finite and above zero.
    pub fn new(value: f64) -> Self {
        debug_assert!(value.is_finite() && value > 0.0);
        let (value, lower, upper) = boundaries(value);
        let (power, power_exponent) = cached_power(upper.exponent);
        let value = value.times(power);
        // One unit less on each side makes up for what the roundings may have added.
        let lower = lower.times(power).significand + 1;
        let upper = upper.times(power);
        let mut digits = Self {
            text: [0; DIGITS_MAX],
            len: 0,
            exponent: -power_exponent,
        };
        digits.generate(
            value.significand,
            lower,
            upper.significand - 1,
            upper.exponent.unsigned_abs(),
        );
        digits
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.text[..self.len]
    }

    fn push(&mut self, digit: u64) {
        if digit != 0 || self.len != 0 {
            self.text[self.len] = b'0' + digit as u8;
            self.len += 1;
        }
    }

    /// Takes the fewest digits of `upper` that lie above `lower`; all three are
    /// fixed-point numbers with `point` bits after the point.
    fn generate(&mut self, value: u64, lower: u64, upper: u64, point: u32) {
        let one = 1u64 << point;
        let mut distance = upper - value;
        let mut delta = upper - lower;
        let mut integral = upper >> point;
        let mut fraction = upper & (one - 1);

        let mut divisor = 1_000_000_000u64;
        for remaining in (0..10).rev() {
            self.push(integral / divisor);
            integral %= divisor;
            let rest = (integral << point) + fraction;
            if rest <= delta {
                self.exponent += remaining;
                self.approach(distance, delta, rest, divisor << point);
                return;
            }
            divisor /= 10;
        }
        loop {
            fraction = fraction.wrapping_mul(10);
            delta = delta.wrapping_mul(10);
            distance = distance.wrapping_mul(10);
            self.exponent -= 1;
            self.push(fraction >> point);
            fraction &= one - 1;
            if fraction < delta {
                self.approach(distance, delta, fraction, one);
                return;
            }
        }
    }

    /// Lowers the last digit while that brings the digits, `rest` below the upper
    /// boundary, nearer to the value, `distance` below it, inside of `delta`.
    fn approach(&mut self, distance: u64, delta: u64, mut rest: u64, unit: u64) {
        while rest < distance
            && delta - rest >= unit
            && (rest + unit < distance || distance - rest > rest + unit - distance)
        {
            self.text[self.len - 1] -= 1;
            rest += unit;
        }
    }
}

/// `significand * 2^exponent`.
#[derive(Clone, Copy)]
struct Extended {
    significand: u64,
    exponent: i32,
}

impl Extended {
    fn normalized(self) -> Self {
        let shift = self.significand.leading_zeros();
        Self {
            significand: self.significand << shift,
            exponent: self.exponent - shift as i32,
        }
    }

    /// The upper half of the product, rounded half up.
    fn times(self, other: Self) -> Self {
        let product = u128::from(self.significand) * u128::from(other.significand);
        Self {
            significand: ((product + (1 << 63)) >> 64) as u64,
            exponent: self.exponent + other.exponent + 64,
        }
    }
}

/// The value and the middles between it and its neighbours, with one exponent for
/// the two middles.
fn boundaries(value: f64) -> (Extended, Extended, Extended) {
    let bits = value.to_bits();
    let fraction = bits & (HIDDEN_BIT - 1);
    let (significand, exponent) = match (bits >> FRACTION_BITS) as i32 {
        0 => (fraction, 1 - EXPONENT_BIAS),
        field => (fraction | HIDDEN_BIT, field - EXPONENT_BIAS),
    };
    let upper = Extended {
        significand: significand * 2 + 1,
        exponent: exponent - 1,
    }
    .normalized();
    // Below a power of two the neighbours are half as far apart.
    let closer = if significand == HIDDEN_BIT { 2 } else { 1 };
    let lower_exponent = exponent - closer;
    let lower = Extended {
        significand: ((significand << closer) - 1) << (lower_exponent - upper.exponent),
        exponent: upper.exponent,
    };
    let value = Extended {
        significand,
        exponent,
    }
    .normalized();
    (value, lower, upper)
}

/// A power of ten that brings a number with the binary exponent `exponent` into the
/// wanted range, and its decimal exponent.
fn cached_power(exponent: i32) -> (Extended, i32) {
    const LOG10_2: f64 = 0.301_029_995_663_981_14;
    let estimate = (f64::from(-(exponent + POWERS.len() as i32)) * LOG10_2) as i32;
    let mut index = (estimate - POWER_FIRST) / POWER_STEP;
    loop {
        let decimal_exponent = POWER_FIRST + index * POWER_STEP;
        // 217706 / 2^16 is log2(10), near enough for all these powers.
        let power = Extended {
            significand: POWERS[index as usize],
            exponent: ((decimal_exponent * 217_706) >> 16) - 63,
        };
        let scaled = exponent + power.exponent + 64;
        if scaled < SCALED_EXPONENT_MIN {
            index += 1;
        } else if scaled > SCALED_EXPONENT_MAX {
            index -= 1;
        } else {
            return (power, decimal_exponent);
        }
    }
}

/// Significands of 10^-348, 10^-340, ..., 10^340, rounded to nearest.
#[rustfmt::skip]
static POWERS: [u64; 87] = [
    0xfa8f_d5a0_081c_0288, 0xbaae_e17f_a23e_bf76, 0x8b16_fb20_3055_ac76,
    0xcf42_894a_5dce_35ea, 0x9a6b_b0aa_5565_3b2d, 0xe61a_cf03_3d1a_45df,
    0xab70_fe17_c79a_c6ca, 0xff77_b1fc_bebc_dc4f, 0xbe56_91ef_416b_d60c,
    0x8dd0_1fad_907f_fc3c, 0xd351_5c28_3155_9a83, 0x9d71_ac8f_ada6_c9b5,
    0xea9c_2277_23ee_8bcb, 0xaecc_4991_4078_536d, 0x823c_1279_5db6_ce57,
    0xc210_9436_4dfb_5637, 0x9096_ea6f_3848_984f, 0xd774_85cb_2582_3ac7,
    0xa086_cfcd_97bf_97f4, 0xef34_0a98_172a_ace5, 0xb238_67fb_2a35_b28e,
    0x84c8_d4df_d2c6_3f3b, 0xc5dd_4427_1ad3_cdba, 0x936b_9fce_bb25_c996,
    0xdbac_6c24_7d62_a584, 0xa3ab_6658_0d5f_daf6, 0xf3e2_f893_dec3_f126,
    0xb5b5_ada8_aaff_80b8, 0x8762_5f05_6c7c_4a8b, 0xc9bc_ff60_34c1_3053,
    0x964e_858c_91ba_2655, 0xdff9_7724_7029_7ebd, 0xa6df_bd9f_b8e5_b88f,
    0xf8a9_5fcf_8874_7d94, 0xb944_7093_8fa8_9bcf, 0x8a08_f0f8_bf0f_156b,
    0xcdb0_2555_6531_31b6, 0x993f_e2c6_d07b_7fac, 0xe45c_10c4_2a2b_3b06,
    0xaa24_2499_6973_92d3, 0xfd87_b5f2_8300_ca0e, 0xbce5_0864_9211_1aeb,
    0x8cbc_cc09_6f50_88cc, 0xd1b7_1758_e219_652c, 0x9c40_0000_0000_0000,
    0xe8d4_a510_0000_0000, 0xad78_ebc5_ac62_0000, 0x813f_3978_f894_0984,
    0xc097_ce7b_c907_15b3, 0x8f7e_32ce_7bea_5c70, 0xd5d2_38a4_abe9_8068,
    0x9f4f_2726_179a_2245, 0xed63_a231_d4c4_fb27, 0xb0de_6538_8cc8_ada8,
    0x83c7_088e_1aab_65db, 0xc45d_1df9_4271_1d9a, 0x924d_692c_a61b_e758,
    0xda01_ee64_1a70_8dea, 0xa26d_a399_9aef_774a, 0xf209_787b_b47d_6b85,
    0xb454_e4a1_79dd_1877, 0x865b_8692_5b9b_c5c2, 0xc835_53c5_c896_5d3d,
    0x952a_b45c_fa97_a0b3, 0xde46_9fbd_99a0_5fe3, 0xa59b_c234_db39_8c25,
    0xf6c6_9a72_a398_9f5c, 0xb7dc_bf53_54e9_bece, 0x88fc_f317_f222_41e2,
    0xcc20_ce9b_d35c_78a5, 0x9816_5af3_7b21_53df, 0xe2a0_b5dc_971f_303a,
    0xa8d9_d153_5ce3_b396, 0xfb9b_7cd9_a4a7_443c, 0xbb76_4c4c_a7a4_4410,
    0x8bab_8eef_b640_9c1a, 0xd01f_ef10_a657_842c, 0x9b10_a4e5_e991_3129,
    0xe710_9bfb_a19c_0c9d, 0xac28_20d9_623b_f429, 0x8044_4b5e_7aa7_cf85,
    0xbf21_e440_03ac_dd2d, 0x8e67_9c2f_5e44_ff8f, 0xd433_179d_9c8c_b841,
    0x9e19_db92_b4e3_1ba9, 0xeb96_bf6e_badf_77d9, 0xaf87_023b_9bf0_ee6b,
];
