//! Numbers as text.

/// A number with `decimals` decimals, rounded half-up on its shortest decimal form: 0.125 is `0.13` and 100.25 is
/// `100.3` (`docs/vdbench/reports.md` §4.6). NaN is `NaN`.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "NaN".into() } else { format!("{value}") };
    }
    let text = format!("{}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let round_up = fraction.as_bytes().get(decimals).is_some_and(|digit| *digit >= b'5');
    let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes().take(decimals)).collect();
    digits.resize(whole.len() + decimals, b'0');
    if round_up {
        add_one(&mut digits);
    }
    let point = digits.len() - decimals;
    let mut out = String::with_capacity(digits.len() + 2);
    if value < 0.0 && digits.iter().any(|digit| *digit != b'0') {
        out.push('-');
    }
    out.extend(digits[..point].iter().map(|digit| char::from(*digit)));
    if decimals > 0 {
        out.push('.');
        out.extend(digits[point..].iter().map(|digit| char::from(*digit)));
    }
    out
}

/// Adds one to a row of decimal digits, which may grow at its head.
fn add_one(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
    digits.insert(0, b'1');
}

/// As [`fixed`], without trailing zeros and without a trailing point: `100`, `0.2031`.
pub fn trimmed(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Nanoseconds that may be negative: one decimal below 1,000, whole ones with commas above.
pub fn nanoseconds(ns: f64) -> String {
    if ns.abs() < 999.95 || !ns.is_finite() {
        return fixed(ns, 1);
    }
    let sign = if ns < 0.0 { "-" } else { "" };
    format!("{sign}{}", commas(ns.abs().round() as u64))
}

/// A whole number with commas: `8,388,608`.
pub fn commas(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A size as loop texts show it: plain below 1024, else in the largest of k, m, g, t, p, with three decimals unless
/// they are zero (`docs/vdbench/reports.md` §5).
pub fn size(value: u64) -> String {
    const UNITS: [(&str, u64); 5] = [("p", 1 << 50), ("t", 1 << 40), ("g", 1 << 30), ("m", 1 << 20), ("k", 1 << 10)];
    match UNITS.iter().find(|(_, unit)| value >= *unit) {
        None => value.to_string(),
        Some((name, unit)) if value.is_multiple_of(*unit) => format!("{}{name}", value / unit),
        Some((name, unit)) => {
            let text = fixed(value as f64 / *unit as f64, 3);
            format!("{}{name}", text.strip_suffix(".000").unwrap_or(&text))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn halves_go_up() {
        assert_eq!(fixed(0.125, 2), "0.13");
        assert_eq!(fixed(100.25, 1), "100.3");
        assert_eq!(fixed(1.005, 2), "1.01");
        assert_eq!(fixed(2.5, 0), "3");
        assert_eq!(fixed(999.96, 1), "1000.0");
        assert_eq!(fixed(-1.855, 2), "-1.86");
        assert_eq!(fixed(-0.001, 2), "0.00");
        assert_eq!(fixed(1e-9, 3), "0.000");
        assert_eq!(fixed(f64::NAN, 1), "NaN");
    }

    #[test]
    fn zeros_are_trimmed() {
        assert_eq!(trimmed(100.0, 4), "100");
        assert_eq!(trimmed(0.203_125, 4), "0.2031");
        assert_eq!(trimmed(9_999_988.0, 4), "9999988");
        assert_eq!(trimmed(0.0, 4), "0");
        assert_eq!(trimmed(f64::NAN, 4), "NaN");
    }

    #[test]
    fn commas_part_thousands() {
        assert_eq!(commas(0), "0");
        assert_eq!(commas(999), "999");
        assert_eq!(commas(8_388_608), "8,388,608");
    }

    #[test]
    fn nanoseconds_have_a_decimal_while_it_matters() {
        let said = [27.25, -3.04, 999.94, 999.96, 58_123.5, -1_234.0].map(nanoseconds);
        assert_eq!(said, ["27.3", "-3.0", "999.9", "1,000", "58,124", "-1,234"]);
    }

    #[test]
    fn sizes_use_the_largest_unit() {
        assert_eq!(size(512), "512");
        assert_eq!(size(1024), "1k");
        assert_eq!(size(1536), "1.500k");
        assert_eq!(size(1 << 20), "1m");
        assert_eq!(size(3 << 40), "3t");
    }

    proptest! {
        #[test]
        fn fixed_is_within_half_a_unit(value in -1e9f64..1e9, decimals in 0usize..5) {
            let back: f64 = fixed(value, decimals).parse().unwrap();
            prop_assert!((back - value).abs() <= 0.5 * 10f64.powi(-(decimals as i32)) * (1.0 + 1e-6) + 1e-6);
        }
    }
}
