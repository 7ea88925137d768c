//! Output directories: names, old reports, files that cannot be written.

#![allow(clippy::unwrap_used)]

use super::*;

const AT: i64 = 1_796_045_445_042; // 2026-11-30 13:30:45.042 UTC

fn file(name: &str, text: &str) -> Chunk {
    Chunk::File { name: name.into(), text: text.into() }
}

fn open(path: &Path) -> Directory {
    Directory::open(path.to_str().unwrap(), AT, "").unwrap()
}

#[test]
fn missing_directories_are_made() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("a/b");
    let directory = open(&path);
    assert!(directory.created());
    assert_eq!(directory.path(), fs::canonicalize(&path).unwrap());
    // It is that of one execution at a time.
    assert_eq!(is_held(&path).unwrap(), Some(true));
    let second = Directory::open(path.to_str().unwrap(), AT, "").unwrap_err().to_string();
    assert!(
        second.ends_with(
            "is that of an execution that still goes on; give another one, or look there with `brunt attach`"
        )
    );
    drop(directory);
    assert_eq!(is_held(&path).unwrap(), Some(false));
    assert!(!open(&path).created());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o777);
}

#[test]
fn what_was_there_keeps_its_permissions() {
    let temp = tempfile::tempdir().unwrap();
    let mode = || fs::metadata(temp.path()).unwrap().permissions().mode() & 0o777;
    let before = mode();
    let mut directory = open(temp.path());
    directory.write(&[file("a.html", "1\n")]).unwrap();
    assert_eq!(mode(), before);
    assert_eq!(fs::metadata(temp.path().join("a.html")).unwrap().permissions().mode() & 0o777, 0o777);
}

#[test]
fn old_reports_go_and_other_files_stay() {
    let temp = tempfile::tempdir().unwrap();
    for name in ["summary.html", "swat_mon.bin", "swat_mon_total.txt", "events.ndjson", "notes.txt"] {
        fs::write(temp.path().join(name), "old").unwrap();
    }
    open(temp.path());
    let mut left: Vec<_> = fs::read_dir(temp.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [EVENTS, "notes.txt"]);
    assert_eq!(fs::read_to_string(temp.path().join(EVENTS)).unwrap(), "");
}

#[test]
fn plus_takes_the_next_free_number() {
    let temp = tempfile::tempdir().unwrap();
    let asked = format!("{}/out+", temp.path().display());
    for expected in ["out001", "out002"] {
        let directory = Directory::open(&asked, AT, "").unwrap();
        assert_eq!(directory.path().file_name().unwrap(), expected);
        assert!(directory.created());
    }
}

#[test]
fn tod_is_date_and_time() {
    let temp = tempfile::tempdir().unwrap();
    let directory = Directory::open(&format!("{}/out.tod", temp.path().display()), AT, "").unwrap();
    assert_eq!(directory.path().file_name().unwrap(), "out.261130.133045");
}

#[test]
fn tod_and_plus_go_together() {
    let temp = tempfile::tempdir().unwrap();
    let asked = format!("{}/out.tod+", temp.path().display());
    for expected in ["out.261130.133045001", "out.261130.133045002"] {
        let directory = Directory::open(&asked, AT, "").unwrap();
        assert_eq!(directory.path().file_name().unwrap(), expected);
    }
}

#[test]
fn a_directory_that_takes_no_files_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    fs::create_dir(temp.path().join(EVENTS)).unwrap(); // root may write everywhere else
    let error = Directory::open(temp.path().to_str().unwrap(), AT, "").unwrap_err().to_string();
    assert!(error.starts_with("cannot write '") && error.contains("/events.ndjson'"), "{error}");
}

#[test]
fn a_file_in_the_way_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("out");
    fs::write(&path, "").unwrap();
    let error = Directory::open(path.to_str().unwrap(), AT, "").unwrap_err().to_string();
    assert!(error.starts_with("cannot use output directory '") && error.contains("/out'"), "{error}");
}

#[test]
fn pieces_are_appended_and_replaced() {
    let temp = tempfile::tempdir().unwrap();
    let mut directory = open(temp.path());
    directory.write(&[file("a.html", "1\n"), Chunk::Console("no file\n".into()), file("a.html", "2\n")]).unwrap();
    let replace = |text: &str| Chunk::Replace { name: "b.html".into(), text: text.into() };
    directory.write(&[replace("first\n"), replace("second\n")]).unwrap();
    assert_eq!(fs::read_to_string(temp.path().join("a.html")).unwrap(), "1\n2\n");
    assert_eq!(fs::read_to_string(temp.path().join("b.html")).unwrap(), "second\n");
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 3, "and {EVENTS}");
}

#[test]
fn events_stay_when_a_directory_is_opened_again_and_reports_are_written_anew() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join(EVENTS), format!("1\n{}\nhalf", "2".repeat(200_000))).unwrap();
    fs::write(temp.path().join("a.html"), "old\n").unwrap();
    let mut directory = Directory::reopen(temp.path()).unwrap();
    directory.write(&[file(EVENTS, "3\n"), file("a.html", "new\n")]).unwrap();
    let events = fs::read_to_string(temp.path().join(EVENTS)).unwrap();
    assert_eq!(events, format!("1\n{}\n3\n", "2".repeat(200_000)));
    assert_eq!(fs::read_to_string(temp.path().join("a.html")).unwrap(), "new\n");
    assert!(matches!(Directory::reopen(temp.path()), Err(OutputError::InUse { .. })));
    drop(directory);
    fs::write(temp.path().join(EVENTS), "x".repeat(100_000)).unwrap();
    Directory::reopen(temp.path()).unwrap();
    assert_eq!(fs::metadata(temp.path().join(EVENTS)).unwrap().len(), 0);
}

#[test]
fn more_files_than_are_kept_open() {
    let temp = tempfile::tempdir().unwrap();
    let mut directory = open(temp.path());
    let names: Vec<String> = (0..OPEN_FILES + 20).map(|n| format!("sd{n}.html")).collect();
    for text in ["1\n", "2\n"] {
        directory.write(&names.iter().map(|name| file(name, text)).collect::<Vec<_>>()).unwrap();
    }
    for name in &names {
        assert_eq!(fs::read_to_string(temp.path().join(name)).unwrap(), "1\n2\n");
    }
}

#[test]
fn a_full_file_is_named_and_the_others_are_written() {
    let temp = tempfile::tempdir().unwrap();
    let mut directory = open(temp.path());
    std::os::unix::fs::symlink("/dev/full", temp.path().join("flatfile.html")).unwrap();
    for _ in 0..2 {
        let error = directory.write(&[file("flatfile.html", "row\n"), file("summary.html", "row\n")]).unwrap_err();
        let OutputError::Write { path, source } = &error else { unreachable!("{error}") };
        assert_eq!(path.file_name().unwrap(), "flatfile.html");
        assert_eq!(source.kind(), io::ErrorKind::StorageFull);
    }
    assert_eq!(fs::read_to_string(temp.path().join("summary.html")).unwrap(), "row\nrow\n");
}

#[test]
fn nothing_is_written_elsewhere() {
    let temp = tempfile::tempdir().unwrap();
    let mut directory = open(&temp.path().join("out"));
    let error = directory.write(&[file("../sd1.html", "row\n")]).unwrap_err();
    assert!(error.to_string().ends_with("/out/../sd1.html': a report's name cannot hold '/'"), "{error}");
    assert!(!temp.path().join("sd1.html").exists());
}

#[test]
fn pieces_of_one_file_are_joined_and_keep_their_order() {
    let temp = tempfile::tempdir().unwrap();
    let mut directory = open(temp.path());
    let whole = |text: &str| Chunk::Replace { name: "a.html".into(), text: text.into() };
    directory.write(&[file("a.html", "1\n"), file("b.html", "x\n"), file("a.html", "2\n")]).unwrap();
    assert_eq!(pieces(&[file("a.html", "1\n"), file("b.html", "x\n"), file("a.html", "2\n")]).len(), 2);
    let read = |name: &str| fs::read_to_string(temp.path().join(name)).unwrap();
    assert_eq!((read("a.html").as_str(), read("b.html").as_str()), ("1\n2\n", "x\n"));
    directory.write(&[file("a.html", "3\n"), whole("new\n"), file("a.html", "4\n"), file("a.html", "5\n")]).unwrap();
    assert_eq!(read("a.html"), "new\n4\n5\n");
}
