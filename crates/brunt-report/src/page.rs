//! The skeleton of a report file: first line, links, rows of links (`docs/vdbench/reports.md` §2.2).

/// The first line of a report file.
pub(crate) fn head(directory: &str, file: &str) -> String {
    format!("<title>Vdbench {directory}/{file}</title><pre>")
}

/// A link.
pub(crate) fn anchor(target: &str, text: &str) -> String {
    format!("<A HREF=\"{target}\">{text}</A>")
}

/// A label in the place where labels stand before links.
pub(crate) fn label(text: &str) -> String {
    format!("{text:<32}")
}

/// A line with a label and a link.
pub(crate) fn link(text: &str, target: &str, name: &str) -> String {
    format!("{} {}", label(text), anchor(target, name))
}

/// Lines with a label and a link to the report of each name, eight a line.
pub(crate) fn link_list<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    const PER_LINE: usize = 8;
    const NAME_WIDTH: usize = 8;
    let entries: Vec<String> = names
        .map(|name| {
            let pad = NAME_WIDTH.saturating_sub(name.chars().count());
            format!(" {}{}", anchor(&format!("{name}.html"), name), " ".repeat(pad))
        })
        .collect();
    let starts = std::iter::once(text).chain(std::iter::repeat(""));
    entries.chunks(PER_LINE).zip(starts).map(|(line, start)| label(start) + &line.concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_as_in_the_reference() {
        assert_eq!(
            link_list("Link to HOST reports:", ["left", "right"].into_iter()),
            [r#"Link to HOST reports:            <A HREF="left.html">left</A>     <A HREF="right.html">right</A>   "#]
        );
        assert_eq!(
            link_list("Link to HOST reports:", ["localhost"].into_iter()),
            [r#"Link to HOST reports:            <A HREF="localhost.html">localhost</A>"#]
        );
    }

    #[test]
    fn lists_break_after_eight() {
        let names: Vec<String> = (1..=9).map(|n| format!("sd{n}")).collect();
        let lines = link_list("Link to SD reports:", names.iter().map(String::as_str));
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1], format!("{}{}     ", " ".repeat(33), anchor("sd9.html", "sd9")));
    }
}
