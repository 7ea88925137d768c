//! Hosts: `clients=` multiplied, workers counted.

use std::collections::HashSet;

use brunt_parm::ast::Hd;
use brunt_parm::{Diag, FileId, ParmFile, Severity, Span, Spanned};

use super::log::Log;
use super::names::Names;
use crate::options::Options;
use crate::plan::Host;

/// The place of what stands in no file.
const NOWHERE: Span = Span { file: FileId(0), start: 0, end: 0 };
/// More workers than any host can use.
const MOST_WORKERS: u32 = 1024;
/// More clients than any host can be.
const MOST_CLIENTS: u32 = 10_000;

/// The hosts of the plan and how they are found.
pub(crate) struct Hosts {
    /// Hosts in order.
    pub(crate) list: Vec<Host>,
    names: Names,
    /// Labels in lower case.
    labels: HashSet<String>,
    /// For each HD that `clients=` multiplied: its label and the hosts made of it.
    multiplied: Vec<(String, Vec<usize>)>,
}

impl Hosts {
    /// Makes the hosts (`docs/vdbench/raw.md` §4). Without any `hd=` there is one, `localhost`.
    pub(crate) fn expand(file: &ParmFile, options: &Options, log: &mut Log) -> Self {
        if let Some(workers) = options.workers.filter(|w| *w > MOST_WORKERS) {
            log.error("out-of-range", format!("-m {workers}: it must be from 1 to {MOST_WORKERS}"), None);
        }
        let mut hosts =
            Self { list: Vec::new(), names: Names::default(), labels: HashSet::new(), multiplied: Vec::new() };
        for hd in &file.hosts {
            hosts.add(hd, options, log);
        }
        if file.hosts.is_empty() {
            let span = file.hd_default.jvms.as_ref().map_or(NOWHERE, |j| j.span);
            let name = || Some(Spanned::new("localhost".to_owned(), span));
            hosts.add(&Hd { name: name(), system: name(), clients: None, ..file.hd_default.clone() }, options, log);
        }
        hosts
    }

    /// The names of the reports of hosts and workers.
    pub(crate) fn report_names(&self) -> impl Iterator<Item = String> + '_ {
        self.list
            .iter()
            .flat_map(|host| std::iter::once(host.label.clone()).chain((0..host.workers).map(|n| host.worker_label(n))))
    }

    fn add(&mut self, hd: &Hd, options: &Options, log: &mut Log) {
        let Some(name) = &hd.name else { return };
        for (field, value, most) in [("jvms", &hd.jvms, MOST_WORKERS), ("clients", &hd.clients, MOST_CLIENTS)] {
            if let Some(bad) = value.as_ref().filter(|v| v.value == 0 || v.value > most) {
                log.push(Diag::error("out-of-range", format!("{field}= must be from 1 to {most}"), bad.span));
            }
        }
        if let Some(mount) = &hd.mount {
            log.unsupported(Some(mount.span), "mount= on a host: this version runs no mount commands");
        }
        let labels = match hd.clients.as_ref().map(|c| c.value) {
            None => vec![name.value.clone()],
            Some(clients) => (0..clients.min(MOST_CLIENTS)).map(|n| format!("{}_cl{n}", name.value)).collect(),
        };
        let mut made = Vec::with_capacity(labels.len());
        for label in labels {
            made.extend(self.add_one(label, name, hd, options, log));
        }
        if hd.clients.is_some() {
            self.multiplied.push((name.value.clone(), made));
        }
    }

    fn add_one(
        &mut self,
        label: String,
        name: &Spanned<String>,
        hd: &Hd,
        options: &Options,
        log: &mut Log,
    ) -> Option<usize> {
        if !self.labels.insert(label.to_ascii_lowercase()) {
            log.push(
                Diag::error("duplicate-host", format!("host `{label}` is defined twice"), name.span)
                    .help("host labels differ in more than upper and lower case"),
            );
            return None;
        }
        let at = self.names.add(&label).ok()?;
        let text = |field: &Option<Spanned<String>>| field.as_ref().map(|f| f.value.clone());
        self.list.push(Host {
            label,
            system: text(&hd.system).unwrap_or_else(|| name.value.clone()),
            shell: text(&hd.shell),
            user: text(&hd.user),
            install_dir: text(&hd.vdbench),
            workers: options.workers.or(hd.jvms.as_ref().map(|j| j.value)).unwrap_or(1).max(1),
        });
        Some(at)
    }

    /// The hosts of a `host=` list, in order and each once. The name of a host that `clients=` multiplied stands for
    /// all of its clients.
    pub(crate) fn select(&self, items: &[Spanned<String>], log: &mut Log) -> Vec<usize> {
        let mut found = Vec::new();
        let mut seen = vec![false; self.list.len()];
        for item in items {
            let mut matches = self.names.matching(&item.value);
            if matches.is_empty() {
                matches = self.clients_of(&item.value);
            }
            if matches.is_empty() {
                log.push(self.unknown(item));
            }
            for at in matches {
                if !std::mem::replace(&mut seen[at], true) {
                    found.push(at);
                }
            }
        }
        found
    }

    /// The first host that a list names, without complaint about the others.
    pub(crate) fn first_matching(&self, items: &[Spanned<String>]) -> Option<usize> {
        items.iter().find_map(|item| self.names.matching(&item.value).first().copied())
    }

    fn clients_of(&self, name: &str) -> Vec<usize> {
        self.multiplied.iter().find(|(n, _)| n == name).map(|(_, made)| made.clone()).unwrap_or_default()
    }

    fn unknown(&self, item: &Spanned<String>) -> Diag {
        let diag =
            Diag::new(Severity::Error, "unknown-host", format!("no host matches `{}`", item.value), Some(item.span))
                .label("no such host");
        match self.names.nearest(&item.value) {
            Some(near) => diag.help(format!("did you mean `{near}`?")).fix(item.span, near),
            None => diag.help(format!("defined are {}", listed(self.names.list()))),
        }
    }
}

/// The first names of a list, for a message.
pub(crate) fn listed(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|n| format!("`{n}`")).collect();
    match names.len() {
        0 => "none".to_owned(),
        n if n > SHOWN => format!("{} and {} more", shown.join(", "), n - SHOWN),
        _ => shown.join(", "),
    }
}
