//! Names and paths of `count=(start,n)`.

/// `text` with the number put in: in place of `*`, by a printf mask, or behind it (`docs/vdbench/raw.md` §5).
/// `None` when it has a `%` that is no mask for an integer.
pub(crate) fn numbered(text: &str, number: u64) -> Option<String> {
    if text.contains('*') {
        return Some(text.replace('*', &number.to_string()));
    }
    match text.split_once('%') {
        None => Some(format!("{text}{number}")),
        Some((before, rest)) => {
            let (mask, after) = rest.split_at(rest.find(|c: char| c.is_ascii_alphabetic())? + 1);
            let formatted = masked(mask, number)?;
            (!after.contains('%')).then(|| format!("{before}{formatted}{after}"))
        }
    }
}

/// One conversion: flags `0` or `-`, a width, and `d`, `x`, `X` or `o`.
fn masked(mask: &str, number: u64) -> Option<String> {
    const WIDEST: usize = 255;
    let (digits, kind) = mask.split_at(mask.len() - 1);
    let text = match kind {
        "d" => number.to_string(),
        "x" => format!("{number:x}"),
        "X" => format!("{number:X}"),
        "o" => format!("{number:o}"),
        _ => return None,
    };
    if digits.is_empty() {
        return Some(text);
    }
    let (fill, width) = match digits.as_bytes()[0] {
        b'0' => ('0', &digits[1..]),
        b'-' => ('-', &digits[1..]),
        _ => (' ', digits),
    };
    let width: usize = width.parse().ok().filter(|w| *w <= WIDEST)?;
    Some(match fill {
        '0' => format!("{text:0>width$}"),
        '-' => format!("{text:<width$}"),
        _ => format!("{text:>width$}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, numbers: std::ops::Range<u64>) -> Vec<String> {
        numbers.filter_map(|n| numbered(text, n)).collect()
    }

    #[test]
    fn worked_examples_of_the_specification() {
        assert_eq!(all("sd", 5..8), ["sd5", "sd6", "sd7"]);
        assert_eq!(all("/f", 5..8), ["/f5", "/f6", "/f7"]);
        assert_eq!(all("sd_%02d", 1..3), ["sd_01", "sd_02"]);
        assert_eq!(all("/f%03d", 1..3), ["/f001", "/f002"]);
        assert_eq!(all("s*x", 1..3), ["s1x", "s2x"]);
        assert_eq!(all("/f*.dat", 1..3), ["/f1.dat", "/f2.dat"]);
    }

    #[test]
    fn other_masks() {
        assert_eq!(numbered("d%x", 255).as_deref(), Some("dff"));
        assert_eq!(numbered("d%3d", 7).as_deref(), Some("d  7"));
        assert_eq!(numbered("d%s", 7), None);
        assert_eq!(numbered("d%", 7), None);
        assert_eq!(numbered("d%999999999d", 7), None);
        assert_eq!(numbered("é%d", 7).as_deref(), Some("é7"));
    }
}
