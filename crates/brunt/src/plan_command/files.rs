//! File systems of a plan: what is below their anchors, and what formats make.

use std::collections::BTreeSet;

use brunt_plan::plan::Plan;
use brunt_plan::plan::fs::Make;
use brunt_plan::tree::{Structure, Totals};
use serde::Serialize;

use super::outline::FormatOutline;

/// Files up to which the choice of `totalsize=` is worked out; it takes a moment for each.
const WORKED_OUT: u64 = 10_000_000;

/// A file system in the structure that some runs use.
#[derive(Debug, Serialize)]
pub struct FsdOutline {
    /// Name.
    pub fsd: String,
    /// Directory above all others.
    pub anchor: String,
    /// Whether several hosts use it.
    pub shared: bool,
    /// Levels of directories.
    pub depth: u32,
    /// Directories in each directory.
    pub width: u32,
    /// Files in each directory that holds files.
    pub files_in_each: u32,
    /// Directories in all; null when there are too many.
    pub directories: Option<u64>,
    /// Files in all; null when there are too many.
    pub files: Option<u64>,
    /// Bytes of all files.
    pub bytes: Option<u64>,
    /// Files that `totalsize=` leaves; null when that was not worked out.
    pub made_files: Option<u64>,
    /// Their bytes.
    pub made_bytes: Option<u64>,
    /// Bytes that runs use (`wss=`).
    pub working_set: Option<u64>,
    /// The runs that do so.
    pub runs: BTreeSet<String>,
}

/// Every file system in every structure that runs use, formats left out.
pub fn file_systems(plan: &Plan) -> Vec<FsdOutline> {
    let mut seen: Vec<(usize, Structure, BTreeSet<String>)> = Vec::new();
    for run in &plan.runs {
        let Some(files) = run.files.as_ref().filter(|f| f.format.is_none()) else { continue };
        for (at, fsd) in files.fsds.iter().filter_map(|at| Some((*at, plan.fsds.get(*at)?))) {
            let structure = files.changes.apply(&fsd.structure);
            match seen.iter_mut().find(|(n, s, _)| *n == at && *s == structure) {
                Some((.., runs)) => drop(runs.insert(run.name.clone())),
                None => seen.push((at, structure, BTreeSet::from([run.name.clone()]))),
            }
        }
    }
    seen.sort_by_key(|(at, ..)| *at);
    seen.into_iter().map(|(at, structure, runs)| outline(plan, at, &structure, runs)).collect()
}

fn outline(plan: &Plan, at: usize, structure: &Structure, runs: BTreeSet<String>) -> FsdOutline {
    let fsd = &plan.fsds[at];
    let totals = structure.totals();
    let made = made(structure, totals);
    FsdOutline {
        fsd: fsd.name.clone(),
        anchor: fsd.anchor.clone(),
        shared: fsd.shared,
        depth: structure.depth,
        width: structure.width,
        files_in_each: structure.files,
        directories: structure.directories(),
        files: structure.file_count(),
        bytes: totals.map(|t| t.bytes),
        made_files: made.map(|(files, _)| files),
        made_bytes: made.map(|(_, bytes)| bytes),
        working_set: structure.working_set,
        runs,
    }
}

/// Files and bytes that are made of a structure.
fn made(structure: &Structure, totals: Option<Totals>) -> Option<(u64, u64)> {
    let totals = totals?;
    if structure.total_size.is_none() {
        return Some((totals.files, totals.bytes));
    }
    if totals.files > WORKED_OUT {
        return None;
    }
    let chosen: BTreeSet<u64> = structure.made().into_iter().collect();
    let sizes = (0..).zip(structure.file_sizes()).filter(|(n, _)| chosen.contains(n)).map(|(_, size)| size);
    Some((chosen.len() as u64, sizes.fold(0, u64::saturating_add)))
}

/// What the formats of file systems make.
pub fn formats(plan: &Plan) -> Vec<FormatOutline> {
    let mut out = Vec::new();
    for run in &plan.runs {
        let Some((files, format)) = run.files.as_ref().and_then(|f| Some((f, f.format?))) else { continue };
        for fsd in files.fsds.iter().filter_map(|at| plan.fsds.get(*at)) {
            let structure = files.changes.apply(&fsd.structure);
            let directories = structure.directories().unwrap_or(0);
            let (files, bytes) = made(&structure, structure.totals()).unwrap_or((0, 0));
            let (directories, files, bytes) = match format.make {
                Make::Nothing => (0, 0, 0),
                Make::Directories => (directories, 0, 0),
                Make::Files => (directories, files, bytes),
            };
            out.push(FormatOutline {
                run: run.name.clone(),
                definition: fsd.name.clone(),
                path: fsd.anchor.clone(),
                host: None,
                deletes: format.delete,
                directories,
                files,
                bytes,
            });
        }
    }
    out
}
