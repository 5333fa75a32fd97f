//! Facts about numbers as real servers showed them, and round trips.

use proptest::prelude::*;

use super::*;

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

fn score_text(value: f64) -> String {
    text(|out| write_score(value, out))
}

#[test]
fn integers_have_one_text_each() {
    let good = [
        ("0", 0),
        ("7", 7),
        ("-1", -1),
        ("10", 10),
        ("9223372036854775807", i64::MAX),
        ("-9223372036854775808", i64::MIN),
    ];
    for (text, value) in good {
        assert_eq!(parse_i64(text.as_bytes()), Some(value), "{text}");
    }
    let bad = [
        "",
        "-",
        "+1",
        " 1",
        "1 ",
        "01",
        "-0",
        "-01",
        "00",
        "1.0",
        "1e3",
        "0x1",
        "a",
        "--1",
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551616",
        "99999999999999999999999999",
        "1\0",
        "\u{661}",
    ];
    for text in bad {
        assert_eq!(parse_i64(text.as_bytes()), None, "{text}");
    }
    assert_eq!(parse_u64(b"18446744073709551615"), Some(u64::MAX));
    assert_eq!(parse_u64(b"18446744073709551616"), None);
    assert_eq!(parse_u64(b"-1"), None);
}

/// Texts that ZADD takes, and how ZSCORE shows them.
const SCORES: &[(&str, &str)] = &[
    ("0", "0"),
    ("1", "1"),
    ("-1", "-1"),
    ("+1", "1"),
    ("01", "1"),
    ("1.", "1"),
    (".5", "0.5"),
    ("-.5", "-0.5"),
    ("+.5", "0.5"),
    ("5.e3", "5000"),
    ("1E5", "100000"),
    ("1e+5", "100000"),
    ("123456789", "123456789"),
    ("0.1", "0.1"),
    ("-2.25", "-2.25"),
    ("1e-5", "0.00001"),
    ("1e-6", "0.000001"),
    ("1e-7", "1e-7"),
    ("1.5e-7", "1.5e-7"),
    ("1.1e-5", "0.000011"),
    ("1.23e-6", "1.23e-6"),
    ("0.00012345", "1.2345e-4"),
    ("0.001234567891234567", "0.001234567891234567"),
    ("1e21", "1e+21"),
    ("1e23", "99999999999999990000000"),
    ("123456789012345680000", "123456789012345680000"),
    ("4611686018427387904", "4611686018427387904"),
    ("-4611686018427387904", "-4611686018427387904"),
    ("4611686018427388928", "4611686018427389000"),
    ("1.234e18", "1234000000000000000"),
    ("4.7e18", "4.7e+18"),
    ("5e18", "5e+18"),
    ("9007199254740993", "9007199254740992"),
    ("18446744073709551616", "18446744073709552000"),
    ("46116860184273879040", "46116860184273880000"),
    ("12345.12345678", "1.234512345678e+4"),
    ("1234567.1234567", "1.2345671234567e+6"),
    ("123.4567891234", "123.4567891234"),
    ("1234567890.125", "1234567890.125"),
    ("17179869184.0625", "17179869184.0625"),
    ("0.30000000000000004", "0.30000000000000004"),
    ("1.2345e25", "1.2345e+25"),
    ("-1.5e300", "-1.5e+300"),
    ("1.7976931348623157e308", "1.7976931348623157e+308"),
    ("1.7976931348623158e308", "1.7976931348623157e+308"),
    ("2.2250738585072012e-308", "2.2250738585072014e-308"),
    ("4.9e-324", "5e-324"),
    ("2.4703282292062328e-324", "5e-324"),
    ("0e400", "0"),
    ("0.0e-99999999999999999999", "0"),
    ("inf", "inf"),
    ("+InF", "inf"),
    ("-Infinity", "-inf"),
    ("0x10", "16"),
    ("-0X1P+3", "-8"),
    ("0x.8", "0.5"),
    ("0x1.", "1"),
    ("0x1.8p1", "3"),
    ("0x20000000000001", "9007199254740992"),
    ("0x20000000000003", "9007199254740996"),
    ("0x1.00000000000008", "1"),
    ("0x1.000000000000080000001", "1.0000000000000002"),
    ("0x1.fffffffffffff7p1023", "1.7976931348623157e+308"),
    ("0x1.1p-1075", "5e-324"),
    ("0x0p99999999999999999999", "0"),
    // Where the digits of the algorithm are not the shortest or not the nearest.
    ("-1039514241563211.8", "-1039514241563211.7"),
    ("-3.1316709716158577e+78", "-3.1316709716158578e+78"),
    ("7.113578243725634e-249", "7.1135782437256335e-249"),
    ("-6.652264087228344e+125", "-6.6522640872283444e+125"),
];

#[test]
fn scores_are_read_and_shown_as_by_a_real_server() {
    for (given, shown) in SCORES {
        let value = parse_double(given.as_bytes());
        assert_eq!(value.map(score_text).as_deref(), Some(*shown), "{given}");
    }
}

#[test]
fn scores_of_any_length_are_read() {
    let zeros = "0".repeat(70_000);
    let long = [
        (format!("0.{zeros}1e70001"), Some(1.0)),
        (format!("1{zeros}e-70000"), Some(1.0)),
        (format!("{zeros}1"), Some(1.0)),
        (
            format!("9007199254740993.{zeros}"),
            Some(9007199254740992.0),
        ),
        (
            format!("9007199254740993.{zeros}1"),
            Some(9007199254740994.0),
        ),
        (format!("0.{}e1", "3".repeat(6000)), Some(10.0 / 3.0)),
        (format!("0x{zeros}1"), Some(1.0)),
        (format!("0x0.{zeros}1p280004"), Some(1.0)),
        ("3".repeat(5000), None),
        (format!("0.{zeros}1"), None),
    ];
    for (text, value) in long {
        assert_eq!(parse_double(text.as_bytes()), value, "{}", &text[..40]);
    }
}

#[test]
fn what_is_no_score_is_refused() {
    let bad = [
        "",
        "+",
        "-",
        ".",
        "+-1",
        "--1",
        "- 1",
        "1 ",
        " 1",
        "\t1",
        "1\n",
        "1\0",
        "1e",
        "1e+",
        "e5",
        ".e5",
        "1e5.5",
        "1..2",
        "1,5",
        "1_000",
        "1f",
        "0b1",
        "x1",
        "00x1",
        "(1",
        "0x",
        "0x.",
        "0xg",
        "0x1p",
        "0x1p+",
        "0x1 ",
        "in",
        "infi",
        "infinit",
        "infx",
        "nan",
        "-nan",
        "NaN",
        "nan(123)",
        "1e309",
        "-1e400",
        "1e99999999999999999999",
        "1.7976931348623159e308",
        "1e-400",
        "2.4e-324",
        "2.4703282292062327e-324",
        "1e-99999999999999999999",
        "0x1p1024",
        "0x1.fffffffffffff8p1023",
        "0x1p-1075",
        "0x1p-99999999999999999999",
    ];
    for text in bad {
        assert_eq!(parse_double(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn range_bounds_are_looser_but_have_no_hexadecimal() {
    let good = [
        ("", 0.0),
        ("\0", 0.0),
        ("1\0abc", 1.0),
        ("1e400", f64::INFINITY),
        ("-1e400", f64::NEG_INFINITY),
        ("1e-400", 0.0),
        ("2.4e-324", 0.0),
        ("1e99999999999999999999", f64::INFINITY),
        ("+inf", f64::INFINITY),
        ("iNfInItY", f64::INFINITY),
        ("+1.5", 1.5),
        ("1.", 1.0),
    ];
    for (text, value) in good {
        assert_eq!(parse_range_double(text.as_bytes()), Some(value), "{text}");
    }
    for text in [
        "0x10", "0X1p0", " 1", "1 ", "(1", "nan", "-nan", "1e", "e1", ".", "+", "+inf(",
    ] {
        assert_eq!(parse_range_double(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn special_values_have_their_words() {
    assert_eq!(score_text(f64::INFINITY), "inf");
    assert_eq!(score_text(f64::NEG_INFINITY), "-inf");
    assert_eq!(score_text(f64::NAN), "nan");
    assert_eq!(score_text(-0.0), "-0");
    let script = |value| text(|out| write_script_number(value, out));
    assert_eq!(script(-0.0), "0");
    assert_eq!(script(-f64::NAN), "-nan");
    assert_eq!(script(f64::NAN), "nan");
    assert_eq!(script(2f64.powi(63)), "9223372036854776000");
    assert_eq!(script(1e17), "100000000000000000");
    let shortest = |value| text(|out| write_shortest(value, out));
    assert_eq!(shortest(1e15), "1e+15");
    assert_eq!(shortest(1e7), "10000000");
    assert_eq!(shortest(-1e8), "-1e+8");
    assert_eq!((shortest(0.0), shortest(-0.0)), ("0".into(), "-0".into()));
    let human = |value| text(|out| write_human_double(value, out));
    assert_eq!(human(13.361389338970184), "13.36138933897018433");
    assert_eq!(human(-0.0), "0");
    assert_eq!(human(1e22), "10000000000000000000000");
    assert_eq!(human(f64::NEG_INFINITY), "-inf");
}

/// A value, and what `%.17g` and `%.14g` make of it.
const PRINTF: &[(f64, &str, &str)] = &[
    (0.0, "0", "0"),
    (-0.0, "-0", "-0"),
    (3.0, "3", "3"),
    (0.1, "0.10000000000000001", "0.1"),
    (1.0 / 3.0, "0.33333333333333331", "0.33333333333333"),
    (1e14, "100000000000000", "1e+14"),
    (1e16, "10000000000000000", "1e+16"),
    (1e17, "1e+17", "1e+17"),
    (99999999999999.0, "99999999999999", "99999999999999"),
    (9007199254740992.0, "9007199254740992", "9.007199254741e+15"),
    (
        9223372036854775808.0,
        "9.2233720368547758e+18",
        "9.2233720368548e+18",
    ),
    (1e100, "1e+100", "1e+100"),
    (1e-4, "0.0001", "0.0001"),
    (1e-7, "9.9999999999999995e-08", "1e-07"),
    (123456.789, "123456.789", "123456.789"),
    (5e-324, "4.9406564584124654e-324", "4.9406564584125e-324"),
    (f64::MAX, "1.7976931348623157e+308", "1.7976931348623e+308"),
    (f64::INFINITY, "inf", "inf"),
    (f64::NEG_INFINITY, "-inf", "-inf"),
    (f64::NAN, "nan", "nan"),
    // Ties go to the even digit.
    (12345678901234.5, "12345678901234.5", "12345678901234"),
    (12345678901235.5, "12345678901235.5", "12345678901236"),
    (0.9999999999999999, "0.99999999999999989", "1"),
    (999999999999995.0, "999999999999995", "1e+15"),
];

#[test]
fn printf_formats_are_those_of_c() {
    for (value, g17, g14) in PRINTF {
        assert_eq!(text(|out| write_g17(*value, out)), *g17, "{value}");
        assert_eq!(text(|out| write_g14(*value, out)), *g14, "{value}");
    }
    assert_eq!(text(|out| write_g14(-f64::NAN, out)), "-nan");
}

proptest! {
    #[test]
    fn integers_round_trip(value in any::<i64>(), shift in 0u32..64) {
        let value = value >> shift;
        let written = text(|out| write_i64(value, out));
        prop_assert_eq!(&written, &value.to_string());
        prop_assert_eq!(parse_i64(written.as_bytes()), Some(value));
        prop_assert_eq!(Decimal::new(value.unsigned_abs()).as_bytes().to_vec(), value.unsigned_abs().to_string().into_bytes());
        prop_assert_eq!(digit_count(value.unsigned_abs()), value.unsigned_abs().to_string().len());
    }

    #[test]
    fn arbitrary_bytes_as_integers(bytes in proptest::collection::vec(any::<u8>(), 0..24)) {
        if let Some(value) = parse_i64(&bytes) {
            prop_assert_eq!(value.to_string().into_bytes(), bytes);
        }
    }

    #[test]
    fn doubles_round_trip(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        if !value.is_nan() {
            prop_assert_eq!(parse_double(score_text(value).as_bytes()).map(f64::to_bits), Some(bits));
            let g17 = text(|out| write_g17(value, out));
            prop_assert_eq!(parse_double(g17.as_bytes()).map(f64::to_bits), Some(bits));
        }
    }

    #[test]
    fn doubles_agree_with_the_standard_library(
        given in "[-+]?[0-9]{0,25}\\.?[0-9]{0,25}(e[-+]?[0-9]{1,3})?"
    ) {
        let expected = given
            .parse::<f64>()
            .ok()
            .filter(|value| value.is_finite())
            .filter(|value| *value != 0.0 || !given.split('e').next().unwrap().contains(|c| ('1'..='9').contains(&c)));
        prop_assert_eq!(parse_double(given.as_bytes()), expected);
    }

    #[test]
    fn hexadecimal_is_exact(bits in any::<u64>()) {
        let value = f64::from_bits(bits).abs();
        if value.is_finite() && value != 0.0 {
            let bits = value.to_bits();
            let (lead, exponent) = match bits >> 52 {
                0 => (0, -1022),
                field => (1, field as i64 - 1023),
            };
            let given = format!("0x{lead}.{:013x}p{exponent}", bits & ((1 << 52) - 1));
            prop_assert_eq!(parse_double(given.as_bytes()), Some(value));
        }
    }

    #[test]
    fn arbitrary_bytes_as_doubles(given in "[-+0-9.eExXpPinfaINFAty \\x00]{0,40}") {
        if let Some(value) = parse_double(given.as_bytes()) {
            prop_assert!(!value.is_nan());
        }
        if let Some(value) = parse_range_double(given.as_bytes()) {
            prop_assert!(!value.is_nan());
        }
    }
}
