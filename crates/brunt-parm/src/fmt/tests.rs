//! Canonical forms.
#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;

use super::*;
use crate::keywords;
use crate::render::render;
use crate::source::ReadError;

/// No other file.
struct Alone;

impl Reader for Alone {
    fn read(&self, _: &str) -> Result<String, ReadError> {
        Err(ReadError::NotFound)
    }

    fn absolute(&self, path: &str) -> String {
        format!("/{path}")
    }
}

/// The canonical form, which keeps the meaning and is its own canonical form.
fn form(text: &str) -> String {
    let formatted = checked("p", text, &Alone)
        .unwrap_or_else(|e| panic!("{}", e.diags.iter().map(|d| render(d, &e.sources, false)).collect::<String>()));
    let again = checked("p", &formatted.text, &Alone).unwrap();
    assert_eq!(again.text, formatted.text, "twice changes something");
    formatted.text
}

fn refused(text: &str) -> Vec<&'static str> {
    checked("p", text, &Alone).unwrap_err().diags.iter().map(|d| d.code).collect()
}

#[test]
fn definitions_stand_on_one_line_with_full_keywords() {
    assert_eq!(
        form("SD=sd1\nlun=/x\nth=4\n\n\nwd=wd1,sd=sd1,xf=4k,re=70\nrd=rd1,wd=wd1,\n  io=100,\n  el=10\nin=1\n"),
        "sd=sd1,lun=/x,threads=4\n\nwd=wd1,sd=sd1,xfersize=4k,rdpct=70\nrd=rd1,wd=wd1,iorate=100,elapsed=10,interval=1\n"
    );
}

#[test]
fn general_parameters_have_a_line_each() {
    assert_eq!(
        form("data_err=5,mon=/x  why\nhd=a,sys=localhost\n"),
        "data_errors=5\nmonitor=/x  * why\nhd=a,system=localhost\n"
    );
}

#[test]
fn other_names_become_the_usual_ones() {
    assert_eq!(
        form("host=a,system=localhost\nsd=s,hd=a,lun=/x\nwd=w,sd=s,readpct=5\n"),
        "hd=a,system=localhost\nsd=s,host=a,lun=/x\nwd=w,sd=s,rdpct=5\n"
    );
}

#[test]
fn values_are_left_alone() {
    let text = "sd=s,lun=\"/a b,C=(d\",size=10M\nrd=r,sd=s,iorate=(1,2-4,1),forthreads=(1-8,d),elapsed=5m\n";
    // Quotes do not protect parentheses from being counted when lines are split; here they are balanced.
    assert_eq!(form(&text.replace("(d", "d")), text.replace("(d", "d"));
}

#[test]
fn comments_stay_where_they_belong() {
    assert_eq!(
        form(
            "* head\n\nsd=sd1,lun=/x   first disk\nsd=sd22,lun=/yy  / second\n* before the run\nrd=rd1,   the run\n* off: elapsed=5,\n\n\
             sd=sd1,  both\niorate=5\n* end\n"
        ),
        "* head\n\nsd=sd1,lun=/x    * first disk\nsd=sd22,lun=/yy  / second\n* before the run\n* the run\n* off: elapsed=5,\n* both\n\
         rd=rd1,sd=sd1,iorate=5\n* end\n"
    );
}

#[test]
fn what_an_old_file_means_is_seen() {
    // The text behind the blank is a comment, and the comma joins the next line.
    assert_eq!(
        form("sd=sd1,lun=/x\nrd=rd1,sd=sd1,iorate=100, elapsed=4\nrd=rd2,sd=sd1,iorate=(1,2\n"),
        "sd=sd1,lun=/x\nrd=rd1,sd=sd1,iorate=100  * elapsed=4\nrd=rd2,sd=sd1,iorate=(1,2)\n"
    );
}

#[test]
fn a_parenthesis_in_a_value_is_not_closed() {
    let text = "sd=s,lun=/(x  * why\nthreads=4\nsd=t,lun=/y,size=1m\n";
    assert_eq!(form("sd=s\nlun=/(x why\nth=4\nsd=t\nlun=/y\nsize=1m\n"), text);
}

#[test]
fn a_dangling_comma_goes() {
    assert_eq!(
        form("sd=sd1,lun=/x,\n* c\nsd=sd2,lun=/y,\nrd=r,sd=sd*,iorate=1,"),
        "sd=sd1,lun=/x\n* c\nsd=sd2,lun=/y\nrd=r,sd=sd*,iorate=1\n"
    );
}

#[test]
fn variables_and_includes_stay() {
    let text = "include=hosts.parm\nsd=s,lun=$lun,size=$size\n$more\nth=4\nrd=r,sd=s,$extra,iorate=(1,$n)\ninclude=!x  * why\nel=5\n";
    assert_eq!(form(text), text);
    assert_eq!(form("sd=s,lun=/x,\ninclude=y\nth=4\n"), "sd=s,lun=/x,\ninclude=y\nth=4\n");
    // A variable within a keyword.
    assert_eq!(form("mon=/x,dedup$X=5,mess=no\nloop=2\n"), "monitor=/x,dedup$X=5\nmessagescan=no\nloop=2\n");
    assert_eq!(form("$a,\n  $b\nsd=s,lun=/x\n"), "$a,\n$b\nsd=s,lun=/x\n");
}

#[test]
fn nothing_behind_the_end_is_touched() {
    assert_eq!(form("sd=s,lun=/x\n\neof\n  what, ever =\r\n\n"), "sd=s,lun=/x\n\neof\n  what, ever =\r\n\n");
}

#[test]
fn line_ends_and_marks_of_other_systems_go() {
    assert_eq!(form("\u{feff}sd=s,lun=/x\r\n\r\n\twd=w,sd=s\tremark\r\n"), "sd=s,lun=/x\n\nwd=w,sd=s  * remark\n");
    assert_eq!(form(""), "");
    assert_eq!(form("\n\n\n"), "");
}

#[test]
fn what_cannot_be_told_apart_is_refused_with_its_place() {
    assert_eq!(refused("sd=s,lun=/x\nrd=r,iorate =5\n"), ["no-keyword"]);
    assert_eq!(refused("rd=r,iorate=(1,2,sd=s\nel=5"), ["unclosed-parenthesis"]);
    assert_eq!(refused("sd=s,lun=\"/x\nsize=1m"), ["open-quote"]);
    assert_eq!(refused("sd=s,,lun=/x"), ["empty-parameter"]);
    assert_eq!(refused("rd=r,iorate$(1-5\nsd=s"), ["no-keyword"]);
    let error = checked("p", "sd=s\nlun=(/x", &Alone);
    assert!(error.is_ok(), "closed by the end of the file");
}

#[test]
fn runs_that_were_joined_are_named() {
    let joined = format("p", "rd=a,sd=s,iorate=1\n\nrd=b,\nsd=s\nrd=c\nsd=s\n").unwrap().joined_runs;
    assert_eq!(joined, [3, 5]);
}

#[test]
fn a_carriage_return_before_a_comma_ends_no_line() {
    let formatted = format("p", "rd=r,\n  el=10s,in=1\r,\n").unwrap();
    assert_eq!(formatted.text, "rd=r,elapsed=10s,interval=1\n");
}

/// Something that a parameter file might hold.
fn token() -> impl Strategy<Value = String> {
    let names: Vec<String> = keywords::table().map(|k| format!("{}=", k.name)).collect();
    let bits = [
        "sd=",
        "wd=",
        "rd=",
        "hd=",
        "sd=s,lun=/x\n",
        "wd=w,sd=s",
        "rd=r,sd=s",
        "default",
        ",",
        ",",
        ",",
        "\n",
        "\n",
        " ",
        "\t",
        "(",
        ")",
        "\"",
        "-",
        "*",
        "#",
        "/",
        "$x",
        "!x",
        "$host",
        "include=b",
        "eof",
        "max",
        "1",
        "4k",
        "x",
        "th=",
        "el=",
        "\r\n",
        "é",
    ];
    prop_oneof![proptest::sample::select(names), proptest::sample::select(bits.to_vec()).prop_map(str::to_owned)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn twice_is_once_and_the_meaning_stays(tokens in proptest::collection::vec(token(), 0..40)) {
        let text = tokens.concat();
        match checked("p", &text, &Alone) {
            Ok(formatted) => {
                let again = checked("p", &formatted.text, &Alone);
                prop_assert!(again.is_ok(), "{:?} is refused", formatted.text);
                prop_assert_eq!(again.unwrap().text, formatted.text);
            }
            Err(error) => prop_assert!(error.diags.iter().all(|d| d.code != "not-stable"), "{text:?}"),
        }
    }

    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        let _ = checked("p", &text, &Alone);
    }
}
