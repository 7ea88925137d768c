//! A line that shows a keyword at work. A test reads each of them between definitions that it needs.
//!
//! A keyword without a row here gets a line made from the form of its values.

use crate::keywords::Section::{self, Fsd, Fwd, General, Hd, Rd, Sd, Wd};

/// Section, keyword, lines.
type Row = (Section, &'static str, &'static str);

const GENERAL: &[Row] = &[
    (General, "compression", "compression=50"),
    (General, "compratio", "compratio=2"),
    (General, "compressionseed", "compressionseed=17"),
    (General, "dedupratio", "dedupratio=2,dedupunit=4k"),
    (General, "dedupunit", "dedupratio=2,dedupunit=4k"),
    (General, "dedupsets", "dedupratio=2,dedupunit=4k,dedupsets=5%"),
    (General, "deduphotsets", "dedupratio=2,dedupunit=4k,deduphotsets=(10,50)"),
    (General, "dedupflipflop", "dedupratio=2,dedupunit=4k,dedupflipflop=hotsets"),
    (General, "dedup", "dedup=(ratio=2,unit=4k)"),
    (General, "port", "port=6000"),
    (General, "pattern", "pattern=/tmp/pattern.txt"),
    (General, "data_errors", "data_errors=(10,60)"),
    (General, "validate", "validate=(yes,read_after_write)"),
    (General, "journal", "journal=yes"),
    (General, "startcmd", "startcmd=(\"sync\",master)"),
    (General, "endcmd", "endcmd=(\"date >> $output/end.txt\",master)"),
    (General, "heartbeat_error", "heartbeat_error=\"logger lost\""),
    (General, "debug", "debug=25"),
    (General, "unix2windows", "unix2windows=(/mnt,x:)"),
    (General, "formatxfersize", "formatxfersize=1m"),
    (General, "create_anchors", "create_anchors=yes"),
    (General, "formatsds", "formatsds=yes"),
    (General, "report", "report=(host_detail,slave_detail)"),
    (General, "histogram", "histogram=(default,20,40,60,100,1m,10m)"),
    (General, "auxreport", "auxreport=(MyReport,1)"),
    (General, "monitor", "monitor=/tmp/brunt.monitor"),
    (General, "messagescan", "messagescan=no"),
    (General, "abort_failed_skew", "abort_failed_skew=5"),
    (General, "misc", "misc=(allow_in_use=sd1)"),
    (General, "loop", "loop=10m"),
    (General, "ios_per_jvm", "ios_per_jvm=200000"),
    (General, "timeout", "timeout=(30,abort)"),
    (General, "include", "include=hosts.parm"),
];

const HD: &[Row] = &[
    (Hd, "hd", "hd=one,system=localhost"),
    (Hd, "system", "hd=one,system=db7.lab.example"),
    (Hd, "vdbench", "hd=one,vdbench=/opt/brunt/"),
    (Hd, "shell", "hd=one,shell=ssh"),
    (Hd, "user", "hd=one,shell=ssh,user=bench"),
    (Hd, "jvms", "hd=one,system=localhost,jvms=4"),
    (Hd, "clients", "hd=one,system=localhost,clients=2"),
    (Hd, "mount", "hd=one,mount=\"mount -t nfs filer:/x /mnt\""),
    (Hd, "master", "hd=one,master=10.0.0.1"),
];

const SD: &[Row] = &[
    (Sd, "sd", "sd=sd1,lun=/dev/sdb"),
    (Sd, "host", "sd=sd1,host=localhost,lun=/dev/sdb"),
    (Sd, "lun", "sd=sd1,lun=/dev/nvme0n1"),
    (Sd, "count", "sd=sd,lun=/dev/mapper/lun%02d,count=(1,8)"),
    (Sd, "size", "sd=sd1,lun=/tmp/file,size=10g"),
    (Sd, "threads", "sd=sd1,lun=/dev/sdb,threads=32"),
    (Sd, "hitarea", "sd=sd1,lun=/dev/sdb,hitarea=64m"),
    (Sd, "offset", "sd=sd1,lun=/dev/sdb,offset=4k"),
    (Sd, "align", "sd=sd1,lun=/dev/sdb,align=8k"),
    (Sd, "kstat", "sd=sd1,lun=/dev/sdb,kstat=sd1"),
    (Sd, "instance", "sd=sd1,lun=/dev/sdb,instance=sd1"),
    (Sd, "journal", "sd=sd1,lun=/dev/sdb,journal=/tmp"),
    (Sd, "resetlun", "sd=sd1,lun=/dev/sdb,resetlun=60"),
    (Sd, "resetbus", "sd=sd1,lun=/dev/sdb,resetbus=60"),
    (Sd, "openflags", "sd=sd1,lun=/dev/sdb,openflags=o_direct"),
    (Sd, "range", "sd=sd1,lun=/dev/sdb,range=(0,50)"),
    (Sd, "dedupratio", "sd=sd1,lun=/dev/sdb,dedupratio=2,dedupunit=4k"),
    (Sd, "dedupunit", "sd=sd1,lun=/dev/sdb,dedupratio=2,dedupunit=4k"),
    (Sd, "dedupsets", "sd=sd1,lun=/dev/sdb,dedupratio=2,dedupunit=4k,dedupsets=5%"),
    (Sd, "deduphotsets", "sd=sd1,lun=/dev/sdb,dedupratio=2,dedupunit=4k,deduphotsets=(10,50)"),
    (Sd, "dedupflipflop", "sd=sd1,lun=/dev/sdb,dedupratio=2,dedupunit=4k,dedupflipflop=hotsets"),
    (Sd, "dedup", "sd=sd1,lun=/dev/sdb,dedup=(ratio=2,unit=4k)"),
];

const WD: &[Row] = &[
    (Wd, "wd", "wd=wd1,sd=sd1"),
    (Wd, "sd", "wd=wd1,sd=sd*"),
    (Wd, "skew", "wd=wd1,sd=sd1,skew=100"),
    (Wd, "xfersize", "wd=wd1,sd=sd1,xfersize=(4k,60,64k,40)"),
    (Wd, "rdpct", "wd=wd1,sd=sd1,rdpct=70"),
    (Wd, "writepct", "wd=wd1,sd=sd1,writepct=30"),
    (Wd, "range", "wd=wd1,sd=sd1,range=(50,100)"),
    (Wd, "hotband", "wd=wd1,sd=sd1,hotband=(10,40)"),
    (Wd, "seekpct", "wd=wd1,sd=sd1,seekpct=sequential"),
    (Wd, "stride", "wd=wd1,sd=sd1,stride=(64k,128k)"),
    (Wd, "priority", "wd=wd1,sd=sd1,priority=1"),
    (Wd, "iorate", "wd=wd1,sd=sd1,iorate=500,priority=1"),
    (Wd, "rhpct", "wd=wd1,sd=sd1,rhpct=80"),
    (Wd, "whpct", "wd=wd1,sd=sd1,rdpct=0,whpct=100"),
    (Wd, "host", "wd=wd1,sd=sd1,host=*"),
    (Wd, "openflags", "wd=wd1,sd=sd1,openflags=o_direct"),
    (Wd, "user", "wd=wd1,sd=sd1,user=MyClass"),
    (Wd, "threads", "concatenatesds=yes\nsd=sd1,lun=/dev/sdb\nsd=sd2,lun=/dev/sdc\nwd=wd1,sd=sd*,threads=16"),
    (Wd, "streams", "wd=wd1,sd=sd1,seekpct=sequential,streams=4"),
];

const RD: &[Row] = &[
    (Rd, "rd", "rd=rd1,wd=wd1,iorate=max"),
    (Rd, "wd", "rd=rd1,wd=wd*,iorate=max"),
    (Rd, "sd", "rd=rd1,wd=wd1,sd=single,iorate=max"),
    (Rd, "iorate", "rd=rd1,wd=wd1,iorate=(1000-5000,1000)"),
    (Rd, "maxdata", "rd=rd1,wd=wd1,iorate=max,maxdata=100g"),
    (Rd, "maxdataread", "rd=rd1,wd=wd1,iorate=max,maxdataread=2"),
    (Rd, "maxdatawritten", "rd=rd1,wd=wd1,iorate=max,maxdatawritten=100g"),
    (Rd, "curve", "rd=rd1,wd=wd1,iorate=curve,curve=(10-100,10)"),
    (Rd, "stopcurve", "rd=rd1,wd=wd1,iorate=curve,stopcurve=20"),
    (Rd, "elapsed", "rd=rd1,wd=wd1,iorate=max,elapsed=5m"),
    (Rd, "interval", "rd=rd1,wd=wd1,iorate=max,elapsed=300,interval=5"),
    (Rd, "warmup", "rd=rd1,wd=wd1,iorate=max,elapsed=300,interval=5,warmup=60"),
    (Rd, "pause", "rd=rd1,wd=wd1,iorate=max,pause=30"),
    (Rd, "forxfersize", "rd=rd1,wd=wd1,iorate=max,forxfersize=(4k-64k,d)"),
    (Rd, "forthreads", "rd=rd1,wd=wd1,iorate=max,forthreads=(1-64,d)"),
    (Rd, "forrdpct", "rd=rd1,wd=wd1,iorate=max,forrdpct=(0-100,25)"),
    (Rd, "forrhpct", "rd=rd1,wd=wd1,iorate=max,forrhpct=(0,50,100)"),
    (Rd, "forwhpct", "rd=rd1,wd=wd1,iorate=max,forwhpct=(0,100)"),
    (Rd, "forseekpct", "rd=rd1,wd=wd1,iorate=max,forseekpct=(0,100)"),
    (Rd, "forhitarea", "rd=rd1,wd=wd1,iorate=max,forhitarea=(1m,1g)"),
    (Rd, "forcompression", "rd=rd1,wd=wd1,iorate=max,forcompression=(50,100)"),
    (Rd, "xfersize", "rd=rd1,wd=wd1,iorate=max,xfersize=8k"),
    (Rd, "hitarea", "rd=rd1,wd=wd1,iorate=max,hitarea=64m"),
    (Rd, "compression", "rd=rd1,wd=wd1,iorate=max,compression=50"),
    (Rd, "distribution", "rd=rd1,wd=wd1,iorate=5000,distribution=deterministic"),
    (Rd, "startcmd", "rd=rd1,wd=wd1,iorate=max,startcmd=(\"sync\",master)"),
    (Rd, "endcmd", "rd=rd1,wd=wd1,iorate=max,endcmd=\"date\""),
    (Rd, "openflags", "rd=rd1,wd=wd1,iorate=max,openflags=o_sync"),
    (Rd, "fsd", "rd=rd1,fwd=fwd1,fsd=fsd1,fwdrate=max"),
    (Rd, "fwd", "rd=rd1,fwd=fwd*,fwdrate=max"),
    (Rd, "fwdrate", "rd=rd1,fwd=fwd1,fwdrate=(100,200)"),
    (Rd, "operations", "rd=rd1,fwd=fwd1,fwdrate=max,operations=(mkdir,create,read)"),
    (Rd, "format", "rd=rd1,fwd=fwd1,fwdrate=max,format=(clean,only)"),
    (Rd, "mount", "rd=rd1,wd=wd1,iorate=max,mount=\"mount -o rw\""),
    (Rd, "foroperations", "rd=rd1,fwd=fwd1,fwdrate=max,foroperations=(read,write)"),
    (Rd, "forsizes", "rd=rd1,fwd=fwd1,fwdrate=max,format=yes,forsizes=(4k,1m)"),
    (Rd, "fortotalsize", "rd=rd1,fwd=fwd1,fwdrate=max,format=restart,fortotalsize=(1g,2g)"),
    (Rd, "forwss", "rd=rd1,fwd=fwd1,fwdrate=max,forwss=(64m,1g)"),
];

const FILES: &[Row] = &[
    (Fsd, "fsd", "fsd=fsd1,anchor=/mnt/x,depth=2,width=4,files=100,size=64k"),
    (Fsd, "anchor", "fsd=fsd1,anchor=/mnt/x,files=100,size=64k"),
    (Fsd, "width", "fsd=fsd1,anchor=/mnt/x,depth=2,width=4"),
    (Fsd, "depth", "fsd=fsd1,anchor=/mnt/x,depth=2,width=4"),
    (Fsd, "sizes", "fsd=fsd1,anchor=/mnt/x,sizes=(4k,50,64k,50)"),
    (Fsd, "shared", "fsd=fsd1,anchor=/mnt/x,shared=yes"),
    (Fsd, "wss", "fsd=fsd1,anchor=/mnt/x,files=1000,size=64k,wss=16m"),
    (Fsd, "totalsize", "fsd=fsd1,anchor=/mnt/x,files=1000,size=64k,totalsize=32m"),
    (Fsd, "files", "fsd=fsd1,anchor=/mnt/x,files=1000"),
    (Fsd, "distribution", "fsd=fsd1,anchor=/mnt/x,depth=2,width=4,distribution=all"),
    (Fsd, "openflags", "fsd=fsd1,anchor=/mnt/x,openflags=o_direct"),
    (Fsd, "log", "fsd=fsd1,anchor=/mnt/x,log=no"),
    (Fsd, "count", "fsd=fsd,anchor=/mnt/x,count=(1,4)"),
    (Fsd, "journal", "fsd=fsd1,anchor=/mnt/x,journal=/tmp"),
    (Fsd, "mask", "fsd=fsd1,anchor=/mnt/x,mask=(\"vdb_f%06d.file\",\"vdb.%02d_%02d.dir\")"),
    (Fwd, "fwd", "fwd=fwd1,fsd=fsd1,operation=read"),
    (Fwd, "fsd", "fwd=fwd1,fsd=fsd*,operation=read"),
    (Fwd, "rdpct", "fwd=fwd1,fsd=fsd1,rdpct=80,fileio=random"),
    (Fwd, "stopafter", "fwd=fwd1,fsd=fsd1,operation=read,fileio=random,stopafter=100"),
    (Fwd, "operation", "fwd=fwd1,fsd=fsd1,operation=getattr"),
    (Fwd, "fileselect", "fwd=fwd1,fsd=fsd1,operation=read,fileselect=(random,once)"),
    (Fwd, "fileio", "fwd=fwd1,fsd=fsd1,operation=read,fileio=random"),
    (Fwd, "xfersizes", "fwd=fwd1,fsd=fsd1,operation=write,xfersizes=(4k,50,64k,50)"),
    (Fwd, "skew", "fwd=fwd1,fsd=fsd1,operation=read,skew=100"),
    (Fwd, "threads", "fwd=fwd1,fsd=fsd1,operation=read,threads=16"),
    (Fwd, "host", "fwd=fwd1,fsd=fsd1,operation=read,host=localhost"),
    (Fwd, "openflags", "fwd=fwd1,fsd=fsd1,operation=write,openflags=o_direct"),
];

/// The example of one keyword, by its full name.
pub(super) fn of(section: Section, name: &str) -> Option<&'static str> {
    all().find(|(s, n, _)| *s == section && *n == name).map(|(.., text)| text)
}

fn all() -> impl Iterator<Item = Row> {
    [GENERAL, HD, SD, WD, RD, FILES].into_iter().flatten().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain;
    use crate::keywords::{self, Keyword};
    use crate::render::render;
    use crate::source::{ReadError, Reader};
    use crate::{Input, Severity, parse};

    /// The parameter file and the file that one example includes.
    struct Files(String);

    impl Reader for Files {
        fn read(&self, path: &str) -> Result<String, ReadError> {
            match path {
                "parmfile" => Ok(self.0.clone()),
                "hosts.parm" => Ok("hd=localhost\n".to_owned()),
                _ => Err(ReadError::NotFound),
            }
        }

        fn absolute(&self, path: &str) -> String {
            format!("/{path}")
        }
    }

    /// An example with the definitions it needs around it.
    fn file(keyword: &Keyword, example: &str) -> String {
        let files = example.contains("fsd") || example.contains("fwd");
        let needed = if files {
            [
                "fsd=fsd1,anchor=/mnt/x,files=10,size=64k",
                "fwd=fwd1,fsd=fsd1,operation=read",
                "rd=rd1,fwd=fwd1,fwdrate=10",
            ]
        } else {
            ["sd=sd1,lun=/dev/sdb", "wd=wd1,sd=sd1", "rd=rd1,wd=wd1,iorate=max"]
        };
        let mut lines: Vec<&str> = needed.to_vec();
        // A definition of the example stands in place of the one of its kind.
        lines.retain(|line| {
            let starter = &line[..line.find('=').unwrap_or(0) + 1];
            !example.lines().any(|e| e.starts_with(starter))
        });
        let (before, after): (Vec<&str>, Vec<&str>) = lines.iter().partition(|line| {
            let of = |text: &str| Section::General.started_by(text.split('=').next().unwrap_or_default());
            of(line) < Some(keyword.section)
        });
        [before, example.lines().collect(), after].concat().join("\n")
    }

    #[test]
    fn every_example_is_right() {
        for keyword in keywords::table() {
            let Some(example) = of(keyword.section, keyword.name) else { continue };
            let text = file(keyword, example);
            let input = Input { files: vec!["parmfile".to_owned()], ..Input::default() };
            let parsed = parse(&input, &Files(text.clone()));
            // Sections that are not read yet are said to be so; what else is wrong is the example's fault.
            let wrong = parsed.diags.iter().find(|d| d.severity != Severity::Note && d.code != "not-yet");
            let wrong = wrong.filter(|d| !matches!(d.code, "no-effect" | "no-workload" | "no-storage"));
            assert!(
                wrong.is_none(),
                "{text}\n{}",
                wrong.map_or_else(String::new, |d| render(d, &parsed.sources, false))
            );
            assert!(parsed.scan.iter().any(|l| l.starts_with("line:")), "{text}");
        }
    }

    #[test]
    fn an_example_shows_its_keyword() {
        for keyword in keywords::table() {
            let Some(example) = explain::example(keyword) else { continue };
            let shown = keyword.names().any(|n| example.contains(&format!("{n}=")));
            assert!(shown, "{} is not in {example}", keyword.name);
        }
    }

    #[test]
    fn every_row_belongs_to_a_keyword() {
        for (section, name, _) in all().filter(|(s, ..)| !keywords::section(*s).is_empty()) {
            assert_eq!(keywords::lookup(section, name).map(|k| k.name), Some(name), "{section:?}");
        }
    }
}
