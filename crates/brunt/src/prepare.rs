//! From the command line to a plan: reading, parsing, expanding, and saying what is wrong.

use brunt_event::Event;
use brunt_parm::ast::Repeat;
use brunt_parm::{Diag, Input, Reader, Severity, SourceMap};
use brunt_plan::plan::Plan;
use brunt_plan::{ForcedFormat, Options};

use crate::arguments::{Arguments, Layout, LoopFor};
use crate::demo;
use crate::diagnostics::Shower;
use crate::invocation::Invocation;

/// A plan and the texts that its places are in.
pub struct Prepared {
    /// What will be done.
    pub plan: Plan,
    /// The parameter files.
    pub sources: SourceMap,
}

/// Why there is no plan.
pub struct Unplannable {
    /// The first error in one line, in Vdbench's words where it has any.
    pub text: String,
    /// Whether the usage text is due: no parameter file was named or found.
    pub usage: bool,
}

/// The parameter files of the call; writes that of `-t`.
///
/// # Errors
/// Nothing was named, or the demonstration cannot be written.
pub fn files(arguments: &Arguments, invocation: &Invocation) -> Result<Vec<String>, Unplannable> {
    if let Some(wanted) = arguments.demo {
        if wanted.file_system {
            let text = "file systems (-tf) are not in this version; -t runs the demonstration on a file".to_owned();
            return Err(Unplannable { text, usage: false });
        }
        let path = demo::write(wanted, &invocation.temporary).map_err(|e| Unplannable {
            text: format!("cannot write the demonstration to {}: {e}", invocation.temporary.display()),
            usage: false,
        })?;
        return Ok(vec![path.display().to_string()]);
    }
    if arguments.files.is_empty() {
        return Err(Unplannable { text: "No input parameters specified".to_owned(), usage: true });
    }
    Ok(arguments.files.clone())
}

/// Parses and expands. Everything noticed goes to `emit`, whether or not there is a plan.
///
/// # Errors
/// The parameter files have errors (or warnings, with `--strict`).
pub fn plan(
    files: Vec<String>,
    reader: &dyn Reader,
    arguments: &Arguments,
    as_vdbench: bool,
    seed: u64,
    emit: &mut dyn FnMut(Event),
) -> Result<Prepared, Unplannable> {
    let input = Input {
        files,
        substitutions: arguments.substitutions.clone(),
        rd_extra: arguments.rd_extra.clone(),
        lax_substitution: arguments.debug.contains(&98),
    };
    let mut parsed = brunt_parm::parse(&input, reader);
    emit(Event::ParmEcho { lines: std::mem::take(&mut parsed.echo) });
    emit(Event::ParmScan { lines: std::mem::take(&mut parsed.scan) });
    let parse_failed = parsed.diags.iter().any(|d| d.severity == Severity::Error);
    let mut diags = std::mem::take(&mut parsed.diags);
    let mut planned = Vec::new();
    // What did parse is planned all the same: all problems at once.
    let plan = brunt_plan::expand(&parsed.file, &options(arguments, as_vdbench, seed), &mut planned);
    // A definition that was lost to an error is missing in the plan: such follow-ups would only distract.
    if !parse_failed {
        diags.append(&mut planned);
    }
    if arguments.strict {
        for d in diags.iter_mut().filter(|d| d.severity == Severity::Warning) {
            d.severity = Severity::Error;
        }
    }
    if !arguments.simulate {
        // A file that has run for ten years need not be told at every run; `-s` and `brunt plan` tell it.
        diags.retain(|d| !["short-form", "unused-definition"].contains(&d.code));
    }
    Shower::new(arguments.message_format).show(&diags, &parsed.sources, emit);
    match (first_error(&diags), plan) {
        (None, Some(plan)) => Ok(Prepared { plan, sources: parsed.sources }),
        (Some(error), _) => Err(Unplannable {
            text: error.vdbench.clone().unwrap_or_else(|| error.message.clone()),
            usage: error.code == "no-such-file",
        }),
        (None, None) => Err(Unplannable { text: "nothing to run".to_owned(), usage: false }),
    }
}

fn options(arguments: &Arguments, as_vdbench: bool, seed: u64) -> Options {
    Options {
        elapsed: arguments.elapsed,
        interval: arguments.interval,
        warmup: arguments.warmup,
        workers: arguments.workers,
        restart_at: arguments.restart.clone(),
        repeat: arguments.repeat.map(|l| match l {
            LoopFor::Ever => Repeat::Forever,
            LoopFor::Seconds(s) => Repeat::Seconds(s),
        }),
        format: arguments.clean.as_deref().and_then(|letters| match letters {
            "y" => Some(ForcedFormat::Yes),
            "n" => Some(ForcedFormat::No),
            "o" => Some(ForcedFormat::Only),
            // `-c` alone changes what a run finds, not which runs there are.
            _ => None,
        }),
        engine: arguments.engine,
        seed,
        as_vdbench,
        compat_old: arguments.compat == Some(Layout::Old),
    }
}

fn first_error(diags: &[Diag]) -> Option<&Diag> {
    diags.iter().find(|d| d.severity == Severity::Error)
}
