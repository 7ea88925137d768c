"""The tools that are compared: each runs a work for some seconds and says how many I/Os it did and what CPU it took.

CPU time is that of the whole process tree as the kernel accounts it to whoever waits for it. What a tool needs
to start and to stop, measured by runs that do next to nothing, is taken out.
"""
import json
import os
import re
import shlex
import subprocess
import tempfile
import time

ROW = re.compile(r"^\d\d:\d\d:\d\d\.\d+\s+(\d+)\s+([\d.]+)\s+([\d.]+)\s+(\d+)\s+([\d.]+)\s+([\d.]+)", re.M)


class Failed(Exception):
    """A tool did not do what it was asked for."""


def run(argv, timeout=600):
    """Runs a command: (status, output, wall seconds, CPU seconds of its tree, peak resident KiB of its largest process)."""
    with tempfile.TemporaryFile() as out:
        began = time.monotonic()
        child = subprocess.Popen(argv, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - began
        out.seek(0)
        text = out.read().decode(errors="replace")
    return child.returncode, text, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


class Work:
    """Random reads of one target."""

    def __init__(self, target, threads, size=1 << 30, xfer=8192, direct=True):
        self.target, self.threads, self.xfer, self.direct = target, threads, xfer, direct
        fd = os.open(target, os.O_RDONLY)
        try:
            self.size = min(size, os.lseek(fd, 0, os.SEEK_END)) // 65536 * 65536
        finally:
            os.close(fd)

    def parmfile(self, seconds, rate="max", extra=""):
        flags = "openflags=o_direct," if self.direct else ""
        return (
            f"{extra}sd=sd1,lun={self.target},size={self.size},{flags}threads={self.threads}\n"
            f"wd=wd1,sd=sd1,xfersize={self.xfer},rdpct=100,seekpct=100\n"
            f"rd=rd1,wd=wd1,iorate={rate},elapsed={seconds},interval=1\n"
        )


def rows_of(text):
    """(I/Os per second, mean response in ms) of each interval of one second."""
    return [(float(m[1]), float(m[5])) for m in ROW.findall(text)]


def vdbench_like(command, work, seconds, options=(), **parm):
    """Runs Brunt or Vdbench: dict of I/Os, CPU seconds, wall seconds, output folder's events if there are any."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/parm", "w", encoding="ascii") as f:
            f.write(work.parmfile(seconds, **parm))
        argv = [*shlex.split(command), "-f", f"{folder}/parm", "-o", f"{folder}/out", *options]
        status, text, wall, cpu, rss = run(argv)
        rows = rows_of(text)
        if status or not rows:
            raise Failed(f"{argv[0]} ended with {status}: {text[-600:]}")
        events = []
        if os.path.exists(f"{folder}/out/events.ndjson"):
            with open(f"{folder}/out/events.ndjson", encoding="utf-8") as f:
                events = [json.loads(line) for line in f]
    return {"ios": sum(r for r, _ in rows), "cpu_s": cpu, "wall_s": wall, "rss_kib": rss, "rows": rows, "events": events}


def bare(program, work, seconds, clocked=False):
    """The bare loop; its start costs nothing worth counting."""
    argv = [program, "-n", str(work.threads), "-t", str(seconds), "-s", str(work.xfer)]
    argv += ([] if work.direct else ["-b"]) + (["-c"] if clocked else [])
    status, text, wall, cpu, _ = run([*argv, work.target])
    if status:
        raise Failed(text[-400:])
    got = json.loads(text.strip().splitlines()[-1])
    return {"ios": got["ios"], "cpu_s": cpu, "wall_s": wall, "p50_ns": got["p50_ns"]}


def fio(work, seconds, engine, depth=1, jobs=1, extra=(), prefix=()):
    """fio with full latency statistics; 0 seconds: one I/O."""
    argv = [
        *prefix, "fio", "--name=a", f"--filename={work.target}", f"--size={work.size}", "--rw=randread",
        f"--bs={work.xfer}", f"--direct={int(work.direct)}", f"--ioengine={engine}", f"--iodepth={depth}",
        f"--numjobs={jobs}", "--gtod_reduce=0", "--norandommap", "--randrepeat=0", "--thread", "--group_reporting",
        *(["--time_based", f"--runtime={seconds}"] if seconds else ["--number_ios=1"]), "--output-format=json", "--readonly",
        *([] if work.direct else ["--invalidate=0"]), *extra,
    ]
    status, text, wall, cpu, rss = run(argv)
    if status or "{" not in text:
        raise Failed(text[-400:])
    job = json.loads(text[text.index("{"):])["jobs"][0]
    if job.get("error"):
        raise Failed(text[-400:])
    p50 = job["read"]["clat_ns"].get("percentile", {}).get("50.000000", 0)
    return {"ios": job["read"]["total_ios"], "cpu_s": cpu, "wall_s": wall, "rss_kib": rss, "p50_ns": p50}


def per_io(result, start_s):
    """CPU ns per I/O of a run, without what the tool needs to start and to stop."""
    return max(0.0, result["cpu_s"] - start_s) * 1e9 / result["ios"]
