//! `brunt completions SHELL`: a script that completes options, commands and keywords, made from their tables.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write};

use brunt_parm::explain;
use brunt_parm::keywords::{self, Keyword, Section};

use crate::exit;
use crate::options::{SUBCOMMANDS, Subcommand, TABLE, Takes, Words};

/// Prints the script of one shell.
pub fn run(words: &[OsString]) -> i32 {
    let shell = match words {
        [shell] => shell.to_str().unwrap_or_default(),
        _ => "",
    };
    let script = match shell {
        "bash" => bash(),
        "zsh" => zsh(),
        "fish" => fish(),
        _ => {
            let _ = writeln!(io::stderr(), "error: which shell? usage: brunt completions bash|zsh|fish");
            return exit::USAGE;
        }
    };
    // A reader that went away has seen what it wanted.
    let _ = io::stdout().write_all(script.as_bytes());
    exit::DONE
}

/// All option names of an execution.
fn options() -> String {
    let names: Vec<&str> = TABLE.iter().flat_map(|row| row.names.iter().copied()).collect();
    names.join(" ")
}

/// The values of an option that has a fixed choice.
fn choice(name: &str) -> Option<&'static str> {
    match name {
        "--compat" => Some("5.04.07 5.04.06"),
        "--engine" => Some("auto sync aio uring null"),
        "--message-format" => Some("human json"),
        _ => None,
    }
}

/// All keywords and all section names.
fn names() -> (String, String) {
    let keywords: BTreeSet<&str> = keywords::table().flat_map(Keyword::names).collect();
    let sections: Vec<&str> = Section::ALL.into_iter().map(explain::section_name).collect();
    (keywords.into_iter().collect::<Vec<_>>().join(" "), sections.join(" "))
}

/// The words of a subcommand, and whether files follow it.
fn words(command: &Subcommand) -> (String, bool) {
    match command.words {
        Words::Execution(own) => (format!("{} {}", own.join(" "), options()), true),
        Words::Keywords(own) => (format!("{} {}", own.join(" "), names().0), false),
        Words::Files(own) => (own.join(" "), true),
        Words::These(these) => (these.join(" "), false),
    }
}

fn bash() -> String {
    let commands: Vec<&str> = SUBCOMMANDS.iter().map(|c| c.name).collect();
    let mut out = String::from(
        "# brunt: completion for bash; put it where bash-completion looks, or: source <(brunt completions bash)\n\
         _brunt() {\n    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words files=-f\n    \
         case $prev in\n",
    );
    for name in TABLE.iter().flat_map(|row| row.names) {
        if let Some(values) = choice(name) {
            let _ = writeln!(out, "        {name}) COMPREPLY=($(compgen -W '{values}' -- \"$cur\")); return ;;");
        }
    }
    let (_, sections) = names();
    let _ = writeln!(out, "        --section) COMPREPLY=($(compgen -W '{sections}' -- \"$cur\")); return ;;");
    out.push_str("    esac\n    case ${COMP_WORDS[1]} in\n");
    for command in SUBCOMMANDS {
        let (words, files) = words(command);
        let files = if files { "-f" } else { "" };
        // The command itself is completed while it is typed.
        let _ = writeln!(out, "        {}) words='{words}' files={files} ;;", command.name);
    }
    let _ = writeln!(
        out,
        "        *) words='{}' ;;\n    esac\n    \
         [ \"$COMP_CWORD\" -eq 1 ] && words='{} {}' files=\n    \
         COMPREPLY=($(compgen -W \"$words\" $files -- \"$cur\"))\n}}\ncomplete -o filenames -F _brunt brunt",
        options(),
        commands.join(" "),
        options()
    );
    out
}

/// Text in single quotes, in which nothing has a meaning.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn zsh() -> String {
    let mut out = String::from(
        "#compdef brunt\n# brunt: completion for zsh; put it into a folder of $fpath as _brunt\n_brunt() {\n",
    );
    out.push_str("    local -a commands options keywords sections\n    commands=(\n");
    for command in SUBCOMMANDS {
        let _ = writeln!(out, "        {}", quoted(&format!("{}:{}", command.name, command.help)));
    }
    out.push_str("    )\n    options=(\n");
    for row in TABLE {
        for name in row.names {
            let _ = writeln!(out, "        {}", quoted(&format!("{}:{}", name, row.help.replace(':', "\\:"))));
        }
    }
    let (keywords, sections) = names();
    let _ =
        writeln!(out, "    )\n    keywords=({keywords})\n    sections=({sections})\n    case ${{words[CURRENT-1]}} in");
    for name in TABLE.iter().flat_map(|row| row.names) {
        if let Some(values) = choice(name) {
            let _ = writeln!(out, "        {name}) compadd {values}; return ;;");
        }
    }
    out.push_str(
        "        --section) compadd -a sections; return ;;\n    esac\n    if (( CURRENT == 2 )); then\n        ",
    );
    out.push_str("_describe command commands; _describe option options; return\n    fi\n    case ${words[2]} in\n");
    for command in SUBCOMMANDS {
        let (own, rest) = match command.words {
            Words::Execution(own) => (own, "_describe option options; _files"),
            Words::Keywords(own) => (own, "compadd -a keywords"),
            Words::Files(own) => (own, "_files"),
            Words::These(these) => (these, ""),
        };
        let add = if own.is_empty() { String::new() } else { format!("compadd -- {}; ", own.join(" ")) };
        let _ = writeln!(out, "        {}) {add}{rest} ;;", command.name);
    }
    out.push_str("        *) _describe option options; _files ;;\n    esac\n}\n_brunt \"$@\"\n");
    out
}

fn fish() -> String {
    let mut out = String::from("# brunt: completion for fish; save it as ~/.config/fish/completions/brunt.fish\n");
    for command in SUBCOMMANDS {
        let (name, help) = (command.name, quoted(command.help));
        let _ = writeln!(out, "complete -c brunt -n __fish_use_subcommand -a {name} -d {help}");
        let seen = format!("-n '__fish_seen_subcommand_from {name}'");
        let (own, keywords) = match command.words {
            Words::Execution(own) | Words::Files(own) => (own, None),
            Words::Keywords(own) => (own, Some(names().0)),
            Words::These(these) => (these, None),
        };
        let plain = own.iter().filter(|w| !w.starts_with('-')).copied().chain(keywords.as_deref());
        let plain: Vec<&str> = plain.collect();
        if !plain.is_empty() {
            let _ = writeln!(out, "complete -c brunt -f {seen} -a {}", quoted(&plain.join(" ")));
        }
        for option in own.iter().filter_map(|w| w.strip_prefix("--")) {
            let values = if option == "section" { format!(" -x -a {}", quoted(&names().1)) } else { String::new() };
            let _ = writeln!(out, "complete -c brunt {seen} -l {option}{values}");
        }
    }
    for row in TABLE {
        for name in row.names {
            let form = match name.strip_prefix("--") {
                Some(long) => format!("-l {long}"),
                None if name.len() == 2 => format!("-s {}", &name[1..]),
                None => format!("-o {}", &name[1..]),
            };
            let value = match (choice(name), row.takes) {
                (Some(values), _) => format!(" -x -a {}", quoted(values)),
                (None, Takes::Value(_) | Takes::Values(_)) => " -r".to_owned(),
                _ => String::new(),
            };
            let _ = writeln!(out, "complete -c brunt {form}{value} -d {}", quoted(row.help));
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn every_script_has_every_option_command_and_keyword() {
        for script in [bash(), zsh(), fish()] {
            for row in TABLE {
                for name in row.names {
                    assert!(script.contains(name.trim_start_matches('-')), "{name} is not in\n{script}");
                }
            }
            assert!(SUBCOMMANDS.iter().all(|c| script.contains(c.name)));
            assert!(keywords::table().all(|k| script.contains(k.name)));
        }
    }

    /// What bash offers for a line whose last word is being typed.
    fn offered(line: &[&str]) -> Vec<String> {
        let script = format!(
            "{}\nCOMP_WORDS=({})\nCOMP_CWORD={}\n_brunt\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
            bash(),
            line.iter().map(|w| quoted(w)).collect::<Vec<_>>().join(" "),
            line.len() - 1
        );
        let done = Command::new("bash").args(["--norc", "-c", &script]).output().unwrap();
        assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn bash_offers_what_fits() {
        assert_eq!(offered(&["brunt", "expl"]), ["explain"]);
        assert_eq!(offered(&["brunt", "--comp"]), ["--compat"]);
        assert_eq!(offered(&["brunt", "-f", "p", "--message-format", "j"]), ["json"]);
        assert_eq!(offered(&["brunt", "explain", "elap"]), ["elapsed"]);
        assert_eq!(offered(&["brunt", "explain", "elapsed", "--section", "f"]), ["fsd", "fwd"]);
        assert_eq!(offered(&["brunt", "completions", "z"]), ["zsh"]);
    }
}
