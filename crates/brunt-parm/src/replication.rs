//! `$host`, `#host` and `#hosts` (`docs/vdbench/raw.md` §1.8).

use std::ops::Range;

use crate::keywords::Section;
use crate::lines::leading_section;
use crate::text::Mapped;

/// What stands for something of the hosts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    /// `$host` or `!host`: the label.
    Label,
    /// `#host`: the number, from 0.
    Number,
    /// `#hosts`: how many there are.
    Count,
}

/// Repeats each definition that holds a host variable for each host.
///
/// A definition is repeated whole, over all its lines.
pub(crate) fn replicate(lines: Vec<Mapped>, hosts: &[String]) -> Vec<Mapped> {
    if !lines.iter().any(|l| tokens(l.as_str()).next().is_some()) {
        return lines;
    }
    let mut out = Vec::with_capacity(lines.len());
    let mut section = Section::Hd;
    let mut start = 0;
    while start < lines.len() {
        let mut end = start + 1;
        section = next_section(section, &lines[start]).unwrap_or(section);
        while end < lines.len() && next_section(section, &lines[end]).is_none() {
            end += 1;
        }
        repeat(&lines[start..end], hosts, &mut out);
        start = end;
    }
    out
}

/// The definition a line begins when it is met in a section.
fn next_section(section: Section, line: &Mapped) -> Option<Section> {
    leading_section(line.as_str()).filter(|next| section <= *next)
}

fn repeat(lines: &[Mapped], hosts: &[String], out: &mut Vec<Mapped>) {
    let per_host = lines.iter().any(|l| tokens(l.as_str()).any(|(_, t)| t != Token::Count));
    let count = hosts.len().to_string();
    let copies = if per_host { hosts } else { &hosts[..hosts.len().min(1)] };
    for (number, host) in copies.iter().enumerate() {
        let text = number.to_string();
        for line in lines {
            let parts = tokens(line.as_str()).map(|(range, token)| {
                let new = match token {
                    Token::Label => host.as_str(),
                    Token::Number => text.as_str(),
                    Token::Count => count.as_str(),
                };
                (range, new)
            });
            out.push(line.replaced(parts));
        }
    }
}

fn tokens(text: &str) -> impl Iterator<Item = (Range<usize>, Token)> + '_ {
    text.match_indices("host").filter_map(move |(at, _)| {
        let sign = *text.as_bytes().get(at.checked_sub(1)?)?;
        let end = at + "host".len();
        match sign {
            b'$' | b'!' => Some((at - 1..end, Token::Label)),
            b'#' if text[end..].starts_with('s') => Some((at - 1..end + 1, Token::Count)),
            b'#' => Some((at - 1..end, Token::Number)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileId, Span};

    fn run(lines: &[&str], hosts: &[&str]) -> Vec<String> {
        let map = |t: &&str| Mapped::verbatim(t, Span { file: FileId(0), start: 0, end: t.len() as u32 });
        let hosts: Vec<String> = hosts.iter().map(|&h| h.to_owned()).collect();
        replicate(lines.iter().map(map).collect(), &hosts).iter().map(|l| l.as_str().to_owned()).collect()
    }

    #[test]
    fn definitions_are_repeated_for_each_host() {
        assert_eq!(
            run(
                &["sd=sd_$host,lun=/x#host,host=$host", "rd=rd1_#host,iorate=10#host", "rd=all,threads=#hosts"],
                &["a", "b"]
            ),
            [
                "sd=sd_a,lun=/x0,host=a",
                "sd=sd_b,lun=/x1,host=b",
                "rd=rd1_0,iorate=100",
                "rd=rd1_1,iorate=101",
                "rd=all,threads=2"
            ]
        );
    }

    #[test]
    fn a_definition_of_several_lines_is_repeated_whole() {
        assert_eq!(
            run(&["sd=sd_!host", "size=1m", "lun=/$host", "wd=w,sd=*", "rd=r", "wd=w"], &["a", "b"]),
            ["sd=sd_a", "size=1m", "lun=/a", "sd=sd_b", "size=1m", "lun=/b", "wd=w,sd=*", "rd=r", "wd=w"]
        );
    }

    #[test]
    fn one_host_only_replaces() {
        assert_eq!(run(&["sd=sd_$host,lun=/x"], &["localhost"]), ["sd=sd_localhost,lun=/x"]);
    }
}
