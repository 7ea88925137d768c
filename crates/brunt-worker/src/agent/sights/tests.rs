//! Paths that mean something else in a later run, and files that runs make.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use brunt_plan::work::{LunKind, Sight};
use brunt_proto::v1;

use super::Sights;
use crate::inspect::{self, Roots};

fn sight(kind: LunKind, identity: Option<String>) -> Sight {
    Sight { kind, identity, size: 0, allow_in_use: false, overwrite: false, node: None }
}

/// Two workers that both open a lun.
fn slots(lun: &Path, sight: &Sight) -> Vec<v1::WorkerSlot> {
    let target = v1::Target {
        name: "sd1".into(),
        lun: lun.display().to_string(),
        write: true,
        sight: Some(sight.clone().into()),
        ..Default::default()
    };
    let share = v1::WorkerShare { targets: vec![target], ..Default::default() };
    vec![v1::WorkerSlot { share: Some(share), placement: None }; 2]
}

/// What inspection says.
fn identity(lun: &Path) -> Option<String> {
    let lun = lun.display().to_string();
    let query =
        super::LunQuery { sd: 0, name: "sd1".into(), lun, will_write: true, allow_in_use: false, overwrite: false };
    inspect::again(&Roots::default(), &[query]).remove(0).identity
}

#[tokio::test]
async fn a_lun_is_what_it_was_or_the_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, link] = ["a", "b", "link"].map(|name| folder.path().join(name));
    fs::write(&a, "a").unwrap();
    fs::write(&b, "b").unwrap();
    symlink(&a, &link).unwrap();
    let (sights, known) = (Sights::default(), sight(LunKind::File, identity(&link)));
    let mut slots = slots(&link, &known);
    let compared = sights.compare(&mut slots).await.unwrap();
    let nodes = slots.iter().map(|slot| slot.share.as_ref().unwrap().targets[0].sight.clone().unwrap().node);
    assert!(nodes.into_iter().all(|node| node.is_some()));
    sights.confirm(compared).await.unwrap();
    // A worker of its own process does not look again.
    fs::remove_file(&link).unwrap();
    symlink(&b, &link).unwrap();
    assert!(sights.compare(&mut slots).await.unwrap().0.is_empty());
    let (was, is) = (known.identity.clone().unwrap(), identity(&b).unwrap());
    let text = sights.compare(&mut self::slots(&link, &known)).await.unwrap_err();
    let expected = format!("sd=sd1: {} was the file {was}, and now is the file {is}; ", link.display());
    assert!(text.starts_with(&expected), "{text}");
    fs::remove_file(&link).unwrap();
    let text = sights.compare(&mut self::slots(&link, &known)).await.unwrap_err();
    assert!(text.contains("and now is nothing; "), "{text}");
}

#[tokio::test]
async fn a_file_that_a_run_has_made_is_expected_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let (made, kept) = (folder.path().join("made"), folder.path().join("kept"));
    let (sights, missing) = (Sights::default(), sight(LunKind::Missing, None));
    let compared = sights.compare(&mut slots(&made, &missing)).await.unwrap();
    // The workers open it.
    fs::write(&made, "").unwrap();
    sights.confirm(compared).await.unwrap();
    let compared = sights.compare(&mut slots(&made, &missing)).await.unwrap();
    sights.confirm(compared).await.unwrap();
    fs::rename(&made, &kept).unwrap();
    fs::write(&made, "").unwrap();
    let text = sights.compare(&mut slots(&made, &missing)).await.unwrap_err();
    assert!(text.contains("made was the file local:file:"), "{text}");
    fs::remove_file(&made).unwrap();
    symlink("/dev/null", &made).unwrap();
    for sights in [sights, Sights::default()] {
        let text = sights.compare(&mut slots(&made, &missing)).await.unwrap_err();
        assert!(text.contains("and now is the device local:character:1:3; "), "{text}");
    }
}
