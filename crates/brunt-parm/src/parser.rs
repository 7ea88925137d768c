//! The sections: which definition a parameter belongs to, and what it means there
//! (`docs/vdbench/raw.md` §1.9–§1.11).

mod finish;
mod fsd;
mod fwd;
mod general;
mod hd;
mod hook;
mod loops;
mod order;
mod rates;
mod rd;
mod rd_files;
mod rg;
mod sd;
mod wd;

use std::collections::HashMap;

use crate::ast::{Fsd, Fwd, Hd, Operation, ParmFile, Rd, Rg, Sd, Wd};
use crate::diag::Diag;
use crate::keywords::{self, Keyword, Section, Spelling, Status};
use crate::lexer::{self, Param};
use crate::problems::Problems;
use crate::source::{Span, Spanned};
use crate::text::Mapped;
use crate::values::{Value, numeric_name};

/// The definition that is being read.
#[derive(Default)]
enum Current {
    /// None: general parameters, or behind a definition that could not be named.
    #[default]
    None,
    Hd(Draft<Hd>),
    Rg(Draft<Rg>),
    Fsd(Draft<Fsd>),
    Sd(Draft<Sd>),
    Wd(Draft<Wd>),
    Fwd(Draft<Fwd>),
    Rd(Box<Draft<Rd>>),
}

/// A definition that is not complete.
struct Draft<T> {
    value: T,
    /// Its name and place.
    name: Spanned<String>,
    /// Whether it changes the default record.
    is_default: bool,
    /// Whether it becomes a definition; not when its name is taken.
    keep: bool,
    /// Keywords that were given here and not inherited.
    own: Vec<&'static str>,
}

impl<T> Draft<T> {
    /// Notes that a keyword is given here; whether it is the first time.
    fn first(&mut self, name: &'static str) -> bool {
        let first = !self.own.contains(&name);
        if first {
            self.own.push(name);
        }
        first
    }
}

/// The running default records.
#[derive(Default)]
struct Defaults {
    hd: Hd,
    fsd: Fsd,
    sd: Sd,
    wd: Wd,
    fwd: Fwd,
    rd: Rd,
}

/// Names that are taken, by section.
type Names = HashMap<(Section, String), Span>;

/// Reads logical lines into definitions.
pub(crate) struct Parser {
    problems: Problems,
    file: ParmFile,
    section: Section,
    current: Current,
    defaults: Defaults,
    names: Names,
    /// Sections of which a definition was met.
    met: Vec<Section>,
    /// Place of the last line.
    last: Option<Span>,
    scan: Vec<String>,
    errors_before: usize,
}

/// What the parser leaves.
pub(crate) struct Outcome {
    /// The definitions.
    pub(crate) file: ParmFile,
    /// All problems so far.
    pub(crate) problems: Problems,
    /// Lines of `parmscan.html`, up to the first error.
    pub(crate) scan: Vec<String>,
}

impl Parser {
    /// A parser that adds to these problems.
    pub(crate) fn new(problems: Problems) -> Self {
        let errors_before = problems.errors();
        Self {
            problems,
            file: ParmFile::default(),
            section: Section::General,
            current: Current::None,
            defaults: Defaults::default(),
            names: Names::new(),
            met: Vec::new(),
            last: None,
            scan: Vec::new(),
            errors_before,
        }
    }

    /// The labels of the hosts so far, clients told apart; `localhost` when there are none.
    pub(crate) fn host_labels(&mut self) -> Vec<String> {
        self.finish_current();
        let mut labels = Vec::new();
        for hd in &self.file.hosts {
            let Some(name) = &hd.name else { continue };
            match &hd.clients {
                Some(n) => labels.extend((0..n.value).map(|i| format!("{}_cl{i}", name.value))),
                None => labels.push(name.value.clone()),
            }
        }
        if labels.is_empty() {
            labels.push("localhost".to_owned());
        }
        labels
    }

    /// Takes a logical line.
    pub(crate) fn line(&mut self, line: &Mapped) {
        self.last = Some(line.span(0..line.as_str().len()));
        self.scan(|| format!("line: {}", line.as_str()));
        let params = lexer::params(line, &mut self.problems);
        match self.misplaced(&params) {
            Some(section) => self.misplaced_line(section, &params),
            None => self.params(&params),
        }
    }

    fn params(&mut self, params: &[Param]) {
        for param in params {
            self.scan(|| format!("keyw: {}", param.raw));
            for item in &param.items {
                self.scan(|| format!("parm: {}", item.text));
            }
            self.param(param);
        }
    }

    /// Adds to the scan, which ends with the parameter of the first error.
    fn scan(&mut self, text: impl FnOnce() -> String) {
        if self.problems.errors() == self.errors_before {
            self.scan.push(text());
        }
    }

    fn param(&mut self, param: &Param) {
        if let Some(section) = self.section.started_by(&param.key) {
            return self.start(section, param);
        }
        // An include is read before lines are parsed; what is met here did not look like one.
        let Some(keyword) = keywords::lookup(self.section, &param.key).filter(|k| k.name != "include") else {
            return self.unknown(param);
        };
        if self.section != Section::General && matches!(self.current, Current::None) {
            // Its definition could not be named; that was said.
            return;
        }
        self.note_spelling(keyword, param);
        if let Status::Refused(why) = keyword.status {
            let message = format!("`{}=` is refused", keyword.name);
            self.problems.push(Diag::error("refused", message, param.span).label(why));
            return;
        }
        let value = Value { name: keyword.name, param, time: keyword.form == keywords::Form::Seconds };
        let errors = self.problems.errors();
        self.dispatch(keyword, value);
        // What a run does not use depends on the rest of it, and is said at its end.
        if self.problems.errors() == errors && self.section != Section::Rd {
            self.note_accepted(keyword, param);
        }
    }

    fn dispatch(&mut self, keyword: &'static Keyword, value: Value<'_>) {
        match std::mem::take(&mut self.current) {
            Current::None => self.general(keyword, value),
            Current::Hd(mut draft) => {
                self.hd(&mut draft, keyword, value);
                self.current = Current::Hd(draft);
            }
            Current::Rg(mut draft) => {
                self.rg(&mut draft, keyword, value);
                self.current = Current::Rg(draft);
            }
            Current::Fsd(mut draft) => {
                self.fsd(&mut draft, keyword, value);
                self.current = Current::Fsd(draft);
            }
            Current::Fwd(mut draft) => {
                self.fwd(&mut draft, keyword, value);
                self.current = Current::Fwd(draft);
            }
            Current::Sd(mut draft) => {
                self.sd(&mut draft, keyword, value);
                self.current = Current::Sd(draft);
            }
            Current::Wd(mut draft) => {
                self.wd(&mut draft, keyword, value);
                self.current = Current::Wd(draft);
            }
            Current::Rd(mut draft) => {
                self.rd(&mut draft, keyword, value);
                self.current = Current::Rd(draft);
            }
        }
    }

    /// Suggests the full keyword for a short one, once for each.
    fn note_spelling(&mut self, keyword: &Keyword, param: &Param) {
        if keyword.names().any(|n| n == param.key) || matches!(keyword.spelling, Spelling::Family(_)) {
            return;
        }
        self.problems.once(
            &format!("{:?} {}", keyword.section, param.key),
            Diag::note("short-form", format!("`{}=` is short for `{}=`", param.key, keyword.name), param.key_span)
                .label("the full keyword is easier to read")
                .fix(param.key_span, keyword.name),
        );
    }

    /// Says once that a keyword has no effect.
    fn note_accepted(&mut self, keyword: &Keyword, param: &Param) {
        let Status::Accepted(why) = keyword.status else { return };
        if keyword.later {
            // A real run refuses it, and says why.
            return;
        }
        let off = matches!(param.items.as_slice(), [only] if only.text.eq_ignore_ascii_case("no"));
        if off {
            return;
        }
        let name = if matches!(keyword.spelling, Spelling::Family(_)) { param.key.as_str() } else { keyword.name };
        self.problems.once(
            keyword.name,
            Diag::note("no-effect", format!("`{name}=` has no effect here"), param.span).label(why),
        );
    }

    /// Begins a definition.
    fn start(&mut self, section: Section, param: &Param) {
        self.finish_current();
        self.section = section;
        self.mixed(section, param);
        if !self.met.contains(&section) {
            self.met.push(section);
        }
        let Some(name) = self.definition_name(section, param) else { return };
        let is_default = name.value == "default" && section != Section::Rg;
        let keep =
            is_default || (section, name.value.as_str()) == (Section::Fwd, "format") || self.claim(section, &name);
        let own = Vec::new();
        macro_rules! draft {
            ($kind:ident, $default:ident) => {{
                let mut value = self.defaults.$default.clone();
                value.name = (!is_default).then(|| name.clone());
                Current::$kind(Draft { value, name, is_default, keep, own })
            }};
        }
        self.current = match section {
            Section::Hd => draft!(Hd, hd),
            Section::Rg => {
                let value = Rg { name: Some(name.clone()), ..Rg::default() };
                Current::Rg(Draft { value, name, is_default: false, keep, own })
            }
            Section::Fsd => draft!(Fsd, fsd),
            Section::Sd => draft!(Sd, sd),
            Section::Wd => draft!(Wd, wd),
            Section::Fwd => {
                let value = Fwd { name: (!is_default).then(|| name.clone()), ..self.fwd_of(&name) };
                Current::Fwd(Draft { value, name, is_default, keep, own })
            }
            Section::General | Section::Rd => {
                let value = Rd { name: (!is_default).then(|| name.clone()), ..self.defaults.rd.clone() };
                Current::Rd(Box::new(Draft { value, name, is_default, keep, own }))
            }
        };
        if let (Current::Hd(draft), [first, second]) = (&mut self.current, param.items.as_slice()) {
            hd::old_form(draft, first, second, &mut self.problems);
        }
    }

    /// The name of a definition: the first, when there are several.
    fn definition_name(&mut self, section: Section, param: &Param) -> Option<Spanned<String>> {
        let value = Value { name: section.starter(), param, time: false };
        if section == Section::Hd {
            let item = param.items.last().filter(|_| param.items.len() <= 2).or(param.items.first())?;
            if item.text.bytes().all(|b| b.is_ascii_digit()) {
                self.problems.push(numeric_name("hd", &item.text, item.span));
                return None;
            }
            if param.items.len() > 2 {
                self.lost_names(section, param, &item.text, None);
            }
            return Some(Spanned::new(item.text.clone(), item.span));
        }
        let names = value.names(&mut self.problems)?;
        let item = names.value.first()?;
        let first = Spanned::new(item.value.first().to_owned(), item.span);
        let count: usize = names.value.iter().map(|n| n.value.count()).sum();
        if let Some(last) = names.value.last().filter(|_| count > 1) {
            self.lost_names(section, param, &first.value, Some((count, last.value.last().into_owned())));
        }
        Some(first)
    }

    fn lost_names(&mut self, section: Section, param: &Param, first: &str, more: Option<(usize, String)>) {
        let starter = section.starter();
        let lost =
            more.map_or_else(String::new, |(n, last)| format!(": {} more up to `{last}` are not defined", n - 1));
        let mut diag =
            Diag::warning("lost-names", format!("`{}` defines only `{first}`{lost}", param.raw), param.value_span)
                .label("only the first name counts");
        diag = if section == Section::Sd {
            diag.help(format!("`{starter}=NAME,lun=FILE,count=(1,n)` defines n of them, numbered in name and lun"))
        } else if section == Section::Fsd {
            diag.help(format!("`{starter}=NAME,anchor=DIRECTORY,count=(1,n)` defines n of them, numbered"))
        } else {
            diag.help(format!("write a `{starter}=` for each"))
        };
        self.problems.push(diag);
    }

    /// Takes a name; false when it is taken already.
    fn claim(&mut self, section: Section, name: &Spanned<String>) -> bool {
        let any_case = matches!(section, Section::Hd | Section::Fsd | Section::Fwd);
        let text = if any_case { name.value.to_lowercase() } else { name.value.clone() };
        if section == Section::Fwd && Operation::from_word(&text).is_some() {
            self.problems.push(
                Diag::error("reserved-name", format!("`{}` cannot be the name of an FWD", name.value), name.span)
                    .label("it is an operation"),
            );
            return false;
        }
        if section == Section::Sd && text == "concat" {
            self.problems.push(
                Diag::error("reserved-name", "`concat` cannot be the name of an SD", name.span)
                    .label("reserved for concatenated SDs"),
            );
            return false;
        }
        if let Some(first) = self.names.get(&(section, text.clone())) {
            if *first == name.span {
                self.problems.once(
                    &text,
                    Diag::error(
                        "same-for-each-host",
                        format!("`{text}` is repeated for each host, always by this name"),
                        name.span,
                    )
                    .label("needs `$host` or `#host` in it")
                    .help("a definition that holds `$host`, `!host` or `#host` is repeated for each host"),
                );
                return false;
            }
            let upper = section.starter().to_uppercase();
            let mut diag = Diag::error(
                "duplicate-name",
                format!("{} `{}` is defined twice", section.noun().trim_end_matches(" definition"), name.value),
                name.span,
            )
            .label("defined again")
            .related(*first, "first defined here")
            .help(format!("give each {upper} a name of its own"));
            if section == Section::Sd {
                diag = diag.vdbench(format!("An SD can only be defined once: sd={}", name.value));
            }
            self.problems.push(diag);
            return false;
        }
        self.names.insert((section, text), name.span);
        true
    }

    /// Ends the definition that is being read.
    fn finish_current(&mut self) {
        match std::mem::take(&mut self.current) {
            Current::None => {}
            Current::Hd(draft) => self.finish_hd(draft),
            Current::Rg(draft) => self.finish_rg(draft),
            Current::Fsd(draft) => self.finish_fsd(draft),
            Current::Fwd(draft) => self.finish_fwd(draft),
            Current::Sd(draft) => self.finish_sd(draft),
            Current::Wd(draft) => self.finish_wd(draft),
            Current::Rd(draft) => self.finish_rd(*draft),
        }
    }
}
