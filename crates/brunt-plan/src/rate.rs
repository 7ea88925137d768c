//! Rates that depend on what another run achieved.

/// Rate assumed when nothing was observed, I/Os per second (`docs/vdbench/raw.md` §7.2).
const ASSUMED: f64 = 10_000.0;

/// `percent` of an observed rate, in whole I/Os per second: above 1000 rounded up to a multiple of 100, else to a
/// multiple of 10 (`docs/vdbench/raw.md` §7.2). Nothing observed counts as 10000.
pub fn rate_of_percent(observed: f64, percent: f64) -> f64 {
    let base = if observed.is_finite() && observed >= 1.0 { observed.floor() } else { ASSUMED };
    let exact = (base * percent / 100.0).floor();
    let step = if exact > 1000.0 { 100.0 } else { 10.0 };
    (exact / step).ceil() * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_examples_of_the_specification() {
        assert_eq!(rate_of_percent(730.0, 50.0), 370.0);
        assert_eq!(rate_of_percent(942.0, 50.0), 480.0);
        assert_eq!(rate_of_percent(29_123.0, 1.0), 300.0);
        assert_eq!(rate_of_percent(29_123.0, 2.0), 590.0);
        assert_eq!(rate_of_percent(461_190.0, 10.0), 46_200.0);
        assert_eq!(rate_of_percent(338_362.0, 10.0), 33_900.0);
        assert_eq!(rate_of_percent(338_362.0, 50.0), 169_200.0);
    }

    #[test]
    fn nothing_observed_counts_as_ten_thousand() {
        assert_eq!(rate_of_percent(0.0, 10.0), 1_000.0);
        assert_eq!(rate_of_percent(f64::NAN, 100.0), 10_000.0);
    }
}
