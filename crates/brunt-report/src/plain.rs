//! Text of others (a host, a device, a hook) as text: it must neither steer a terminal nor become part of a page.

use std::borrow::Cow;
use std::fmt::Write;

/// A line without control characters: each stands as `\x1b`. Tabs stay.
pub fn plain(line: &str) -> Cow<'_, str> {
    escaped(line, false)
}

/// A line for a report, in which `&`, `<` and `>` mean something.
pub(crate) fn page(line: &str) -> Cow<'_, str> {
    escaped(line, true)
}

fn escaped(line: &str, page: bool) -> Cow<'_, str> {
    let special = |c: char| (c.is_control() && c != '\t') || (page && matches!(c, '&' | '<' | '>'));
    if !line.contains(special) {
        return Cow::Borrowed(line);
    }
    let mut text = String::with_capacity(line.len() + 16);
    for c in line.chars() {
        match c {
            '&' if page => text.push_str("&amp;"),
            '<' if page => text.push_str("&lt;"),
            '>' if page => text.push_str("&gt;"),
            // Writing to a string cannot fail.
            c if special(c) => drop(write!(text, "\\x{:02x}", u32::from(c))),
            c => text.push(c),
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_stays_as_it_is() {
        for line in ["", "Prüfung: 100% of \"x\" \\ 'y';\tü", "a & b <c> d"] {
            assert!(matches!(plain(line), Cow::Borrowed(same) if same == line), "{line}");
        }
        assert!(matches!(page("no markup"), Cow::Borrowed("no markup")));
    }

    #[test]
    fn what_steers_a_terminal_is_shown() {
        assert_eq!(plain("\u{1b}[2Jgone\r\n\u{7}\u{7f}\u{9b}31m\0"), "\\x1b[2Jgone\\x0d\\x0a\\x07\\x7f\\x9b31m\\x00");
    }

    #[test]
    fn what_is_markup_is_shown() {
        assert_eq!(page("<script>a && b</script>\u{1b}"), "&lt;script&gt;a &amp;&amp; b&lt;/script&gt;\\x1b");
    }
}
