//! The execution options: one row per option, from which parsing, help and tests come.
//!
//! Vdbench's options take their value glued or apart (`-e10`, `-e 10`), cannot be combined, and a few take letters
//! (`-vr`). Rules: `docs/vdbench/raw.md` §2.

/// What follows an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// Exactly one value, glued or the next word.
    Value(&'static str),
    /// One value, and further bare words after it.
    Values(&'static str),
    /// A value that may be left out; glued, or the next word when that begins with a digit.
    Number(&'static str),
    /// Letters glued to the option.
    Letters(&'static str),
}

/// Which option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Id {
    /// `-f`
    File,
    /// `-o`
    Output,
    /// `-e`
    Elapsed,
    /// `-i`
    Interval,
    /// `-w`
    Warmup,
    /// `-m`
    Workers,
    /// `-mb`
    DecimalMb,
    /// `-s`
    Simulate,
    /// `-r`
    Restart,
    /// `-l`
    Loop,
    /// `-t`
    Test,
    /// `-v`
    Validate,
    /// `-j`
    Journal,
    /// `-c`
    Clean,
    /// `-d`
    Debug,
    /// `-k`
    Kstat,
    /// `-p`
    Port,
    /// `--compat`
    Compat,
    /// `--engine`
    Engine,
    /// `--seed`
    Seed,
    /// `--strict`
    Strict,
    /// `--message-format`
    MessageFormat,
    /// `--detach`
    Detach,
    /// `--help`
    Help,
    /// `--version`
    Version,
}

/// One option.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Which.
    pub id: Id,
    /// As typed, with its dashes.
    pub names: &'static [&'static str],
    /// What follows.
    pub takes: Takes,
    /// One line for the help.
    pub help: &'static str,
}

const fn row(id: Id, names: &'static [&'static str], takes: Takes, help: &'static str) -> Row {
    Row { id, names, takes, help }
}

/// All options, in the order of the help. A longer name stands before a shorter one that it begins with.
pub const TABLE: &[Row] = &[
    row(Id::File, &["-f"], Takes::Values("FILE…"), "parameter files, read in this order"),
    row(
        Id::Output,
        &["-o"],
        Takes::Value("DIR"),
        "output directory [output]; DIR+ takes the next free DIR001…, DIR.tod adds date and time",
    ),
    row(Id::Simulate, &["-s"], Takes::Nothing, "parse, check and expand; list every run; do no I/O"),
    row(Id::Elapsed, &["-e"], Takes::Value("TIME"), "replace elapsed= of every run (seconds; 2m, 1h)"),
    row(Id::Interval, &["-i"], Takes::Value("TIME"), "replace interval= of every run"),
    row(Id::Warmup, &["-w"], Takes::Value("TIME"), "replace warmup= of every run"),
    row(Id::DecimalMb, &["-mb"], Takes::Nothing, "report MB as 10⁶ bytes"),
    row(Id::Workers, &["-m"], Takes::Value("N"), "workers on every host, in place of jvms="),
    row(Id::Restart, &["-r"], Takes::Value("RUN"), "skip the runs before RUN"),
    row(Id::Loop, &["-l"], Takes::Number("N[s|m|h]"), "repeat all runs: for ever, or until that time has passed"),
    row(
        Id::Test,
        &["-t"],
        Takes::Letters("[1|2|f|d]"),
        "built-in five-second demonstration on a file in the temporary directory",
    ),
    row(Id::Validate, &["-v"], Takes::Letters("[r|w|t|2]"), "data validation"),
    row(Id::Journal, &["-j"], Takes::Letters("[r|n|m|…]"), "data validation with a journal"),
    row(Id::Clean, &["-c"], Takes::Letters("[o|y|n]"), "format of file systems: clean, only, yes, no"),
    row(Id::Port, &["-p"], Takes::Value("N"), "port of agents that listen [5570]; the master itself opens none"),
    row(Id::Kstat, &["-k"], Takes::Nothing, "accepted without effect: Solaris only"),
    row(Id::Debug, &["-d"], Takes::Value("N"), "debug option; 98 turns off the checks of variables"),
    row(Id::Compat, &["--compat"], Takes::Value("VERSION"), "layout of the report files: 5.04.07 [default] or 5.04.06"),
    row(
        Id::Engine,
        &["--engine"],
        Takes::Value("NAME"),
        "what serves the I/Os: auto [default], sync, aio, uring, or null (no device is touched); overrides misc=(engine=…)",
    ),
    row(Id::Seed, &["--seed"], Takes::Value("N"), "seed of all random choices; the same seed gives the same addresses"),
    row(Id::Strict, &["--strict"], Takes::Nothing, "treat warnings about the parameter file as errors"),
    row(
        Id::MessageFormat,
        &["--message-format"],
        Takes::Value("FORMAT"),
        "problems of parameter files as text [human] or as one JSON object a line [json]",
    ),
    row(
        Id::Detach,
        &["--detach"],
        Takes::Nothing,
        "go on in the background once the first run has started; `brunt attach DIR` shows it",
    ),
    row(Id::Help, &["--help", "-h"], Takes::Nothing, "print this help"),
    row(Id::Version, &["--version"], Takes::Nothing, "print the version"),
];

/// A word that stands before options and makes the program do something else.
#[derive(Debug, Clone, Copy)]
pub struct Subcommand {
    /// The word.
    pub name: &'static str,
    /// What follows it.
    pub takes: &'static str,
    /// One line for the help.
    pub help: &'static str,
    /// What its words are, for completion in a shell.
    pub words: Words,
}

/// What the words behind a subcommand are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// The options and arguments of an execution, and these options.
    Execution(&'static [&'static str]),
    /// Keywords of parameter files, and these options.
    Keywords(&'static [&'static str]),
    /// Files, and these options.
    Files(&'static [&'static str]),
    /// One of these.
    These(&'static [&'static str]),
}

/// All subcommands that people use, in the order of the help.
pub const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "plan",
        takes: "-f FILE… [--json] [options]",
        help: "what would be done, and where, before anything runs",
        words: Words::Execution(&["--json"]),
    },
    Subcommand {
        name: "fmt",
        takes: "FILE… [--check | --write]",
        help: "parameter files in canonical form, which means the same",
        words: Words::Files(&["--check", "--write"]),
    },
    Subcommand {
        name: "explain",
        takes: "[KEYWORD…] [--section S]",
        help: "what a keyword of a parameter file means; without one: all of them",
        words: Words::Keywords(&["--section"]),
    },
    Subcommand {
        name: "calibrate",
        takes: "[LUN] [--against …] [--device]",
        help: "what this host and this build add to a measurement",
        words: Words::Files(&["--against", "--device", "--size", "--threads", "--seconds", "--rounds"]),
    },
    Subcommand {
        name: "certs",
        takes: "init|issue|show …",
        help: "certificates for agents that listen (shell=vdbench): a CA, one for the master, one for each agent",
        words: Words::Files(&["init", "issue", "show", "--agent", "--master", "--dir", "--days", "--replace"]),
    },
    Subcommand {
        name: "luns",
        takes: "[--host [USER@]SYSTEM]… [-f FILE…] …",
        help: "the disks of this machine or of hosts as SD lines, with what they are and who uses them",
        words: Words::Files(&["--host", "-f", "-p", "--match", "--json"]),
    },
    Subcommand {
        name: "attach",
        takes: "DIR [--stop]",
        help: "an execution of this output directory, while it goes on or later; --stop ends it as Ctrl-C does",
        words: Words::Files(&["--stop"]),
    },
    Subcommand {
        name: "completions",
        takes: "bash|zsh|fish",
        help: "print a script that completes options and keywords in that shell",
        words: Words::These(&["bash", "zsh", "fish"]),
    },
];

/// The help text.
pub fn help() -> String {
    let mut out = String::from(
        "Brunt reads Vdbench parameter files and drives storage with them.\n\n\
         usage: brunt -f FILE… [-o DIR] [options] [key=value…] [+rd-extra]\n\
         \x20      brunt COMMAND …\n\n\
         A value may be glued to its option (-e10, -oout). key=value replaces $key in the files; what follows + is\n\
         appended to every run definition. Called by the name `vdbench`, brunt is a drop-in: the same options, console\n\
         and exit status.\n\ncommands:\n",
    );
    for command in SUBCOMMANDS {
        out.push_str(&format!("  {:<40} {}\n", format!("brunt {} {}", command.name, command.takes), command.help));
    }
    out.push_str(&format!("  {:<40} {}\n\noptions:\n", "brunt agent --stdio", "started by the master on each host"));
    for row in TABLE {
        let value = match row.takes {
            Takes::Nothing => String::new(),
            Takes::Value(v) | Takes::Values(v) => format!(" {v}"),
            Takes::Number(v) => format!(" [{v}]"),
            Takes::Letters(v) => v.to_owned(),
        };
        out.push_str(&format!("  {:<20} {}\n", format!("{}{value}", row.names.join(", ")), row.help));
    }
    out.push_str(
        "\nexit status: 0 done, 2 usage, 3 parameter file, 4 set-up or safety, 5 I/O errors, 6 data corruption,\n\
         7 worker lost, 8 hook failed, 9 I/O that never returned, 10 nothing to do, 130 SIGINT, 143 SIGTERM;\n\
         as `vdbench` 157 for every failure.\n",
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_begins_with_another_stands_first() {
        let names: Vec<&str> = TABLE.iter().flat_map(|r| r.names.iter().copied()).collect();
        for (i, a) in names.iter().enumerate() {
            for b in &names[i + 1..] {
                assert!(!(b.starts_with(a) && b != a && !b.starts_with("--")), "{b} is hidden by {a}");
            }
        }
    }

    #[test]
    fn every_option_is_in_the_help() {
        let help = help();
        for row in TABLE {
            assert!(row.names.iter().all(|n| help.contains(n)), "{:?}", row.id);
            assert!(help.contains(row.help), "{:?}", row.id);
        }
        for command in SUBCOMMANDS {
            assert!(help.contains(command.help), "{}", command.name);
        }
    }
}
