//! File system definitions: `count=` expanded, anchors checked (`docs/vdbench/filesystem.md` §1).

use std::collections::HashMap;

use brunt_parm::ast::{FileSizes, Fsd as FsdDef};
use brunt_parm::{Diag, ParmFile, Span, Spanned};

use super::flags;
use super::log::Log;
use super::names::Names;
use super::settings::validates;
use crate::plan::fs::Fsd;
use crate::tree::Structure;

/// Size of a file when nothing is said, bytes.
const DEFAULT_SIZE: u64 = 4096;
/// Files of a directory when nothing is said.
const DEFAULT_FILES: u64 = 10;
/// Letters of a name that validation keeps with each block.
const VALIDATED_NAME: usize = 8;

/// The file systems of the plan and how they are found.
#[derive(Default)]
pub(crate) struct Fsds {
    /// File systems in order.
    pub(crate) list: Vec<Fsd>,
    /// Their names.
    pub(crate) names: Names,
}

impl Fsds {
    /// Makes the file systems.
    pub(crate) fn expand(file: &ParmFile, log: &mut Log) -> Self {
        let mut fsds = Self::default();
        let mut places = HashMap::new();
        for def in &file.fsds {
            fsds.add(def, &mut places, log);
        }
        fsds.check_anchors(log);
        if let Some(validate) = validates(file) {
            fsds.check_names(validate, log);
        }
        fsds
    }

    fn add(&mut self, def: &FsdDef, places: &mut HashMap<String, Span>, log: &mut Log) {
        let Some(name) = &def.name else { return };
        let Some(template) = template(def, name, log) else { return };
        let numbers: Vec<Option<u64>> = match &def.count {
            None => vec![None],
            Some(count) => (0..count.value.1).map(|k| Some(count.value.0.saturating_add(k))).collect(),
        };
        for number in numbers {
            let digits = number.map(|n| n.to_string()).unwrap_or_default();
            let named = format!("{}{digits}", name.value);
            if let Some(first) = places.insert(named.to_lowercase(), name.span) {
                log.push(
                    Diag::error("duplicate-fsd", format!("fsd `{named}` is defined twice"), name.span)
                        .label("defined again, whatever the case of its letters")
                        .related(first, "first defined here"),
                );
                return;
            }
            if self.names.add(&named).is_ok() {
                let anchor = format!("{}{digits}", template.anchor);
                self.list.push(Fsd { name: named, anchor, ..template.clone() });
            }
        }
    }

    /// No anchor may lie below another one. Sorted with a `/` behind them, what lies below follows at once.
    fn check_anchors(&self, log: &mut Log) {
        let mut anchors: Vec<(String, &Fsd)> =
            self.list.iter().map(|f| (format!("{}/", f.anchor.trim_end_matches('/')), f)).collect();
        anchors.sort_by(|a, b| a.0.cmp(&b.0));
        for pair in anchors.windows(2) {
            let ((upper, above), (lower, below)) = (&pair[0], &pair[1]);
            if upper != lower
                && lower.starts_with(upper.as_str())
                && let Some(span) = below.span
            {
                let mut diag = Diag::error(
                    "anchor-in-anchor",
                    format!("anchor `{}` lies below anchor `{}`", below.anchor, above.anchor),
                    span,
                )
                .label(format!("fsd `{}` is part of fsd `{}`", below.name, above.name))
                .help("give each file system a directory beside those of the others");
                if let Some(span) = above.span.filter(|s| *s != span) {
                    diag = diag.related(span, "the upper one");
                }
                log.push(diag);
            }
        }
    }

    fn check_names(&self, validate: Span, log: &mut Log) {
        for fsd in self.list.iter().filter(|f| f.name.chars().count() > VALIDATED_NAME) {
            let Some(span) = fsd.span else { continue };
            log.push(
                Diag::error("long-name", format!("fsd `{}`: data validation needs a shorter name", fsd.name), span)
                    .label(format!("more than {VALIDATED_NAME} letters"))
                    .related(validate, "validated here"),
            );
        }
    }
}

/// Everything of the file system but its number.
fn template(def: &FsdDef, name: &Spanned<String>, log: &mut Log) -> Option<Fsd> {
    let (file_mask, dir_mask) = match &def.mask {
        Some(mask) => mask.value.clone(),
        None => ("vdb_f%04d.file".to_owned(), "vdb.%d_%d.dir".to_owned()),
    };
    let number = |field: &Option<Spanned<u64>>, default: u64| {
        field.as_ref().map_or(default, |f| f.value).min(u64::from(u32::MAX)) as u32
    };
    let depth = number(&def.depth, 1);
    Some(Fsd {
        name: name.value.clone(),
        // Without one it was said.
        anchor: def.anchor.as_ref()?.value.clone(),
        structure: Structure {
            // One level is built for `depth=0`, which counts none.
            depth: depth.max(1),
            width: number(&def.width, 1),
            files: number(&def.files, DEFAULT_FILES),
            sizes: def.sizes.as_ref().map_or(FileSizes::Fixed(DEFAULT_SIZE), |s| s.value.clone()),
            spread: def.distribution.as_ref().map(|d| d.value).unwrap_or_default(),
            total_size: def.totalsize.as_ref().map(|t| t.value).filter(|t| *t > 0),
            working_set: def.wss.as_ref().map(|w| w.value).filter(|w| *w > 0),
        },
        shared: def.shared.as_ref().is_some_and(|s| s.value),
        openflags: flags::parse(&def.openflags, log).unwrap_or_default(),
        file_mask,
        dir_mask,
        journal: def.journal.as_ref().map(|j| j.value.clone()),
        span: Some(name.span),
    })
}
