#!/usr/bin/env python3
"""Measures what docs/performance.md claims, row by row, and prints the table.

  benches/performance.py [--rows 1,2,7b] [--brunt PROGRAM] [--vdbench DIR] [--rounds N] [--seconds N] [--work DIR]

Needs cc, fio and, for the loop device, root; rows against Vdbench need --vdbench (its folder), row 6 valgrind. What is
missing is said and left out. All tools of a row run in turn, round by round, so that a busy neighbour meets them
all; what counts is the median over rounds of the ratio within a round. Nothing writes to a device.
"""
import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import tools
from tools import Failed, Work

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


class Row:
    """A measured row: numbers of all rounds, and what they must reach."""

    def __init__(self, number, what, unit, values, must, goal, low=True, near=False):
        self.number, self.what, self.unit, self.values = number, what, unit, values
        self.must, self.goal, self.low, self.near = must, goal, low, near

    def within(self, times):
        """Whether it is as it must be, or so many times that."""
        self.must = self.must and (self.must * times if self.low else self.must / times)
        return self.verdict() != "missed"

    def verdict(self):
        middle = statistics.median(self.values)
        if self.near:
            middle = abs(middle)
        reached = lambda limit: limit is None or (middle <= limit if self.low else middle >= limit)
        return "goal" if self.goal is not None and reached(self.goal) else "must" if reached(self.must) else "missed"

    def text(self):
        show = lambda v: f"{v:,.0f}" if abs(v) >= 100 else f"{v:.2f}"
        middle = statistics.median(self.values)
        sign = "≤" if self.low else "≥"
        limits = " / ".join(f"{sign} {show(v)}" for v in (self.must, self.goal) if v is not None)
        spread = f"{show(middle)} [{show(min(self.values))}..{show(max(self.values))}]"
        return f"| {self.number} | {self.what} | {spread} {self.unit} | {limits} | {self.verdict()} |"


class Bench:
    def __init__(self, args):
        self.args = args
        self.brunt = os.path.abspath(args.brunt)
        self.folder = tempfile.mkdtemp(prefix="brunt-bench-", dir=args.work)
        self.shm = tempfile.mkdtemp(prefix="brunt-bench-", dir="/dev/shm")
        self.loops, self.big_loop, self.small_loops = [], None, []
        self.programs = {}

    def close(self):
        for device in self.loops:
            subprocess.run(["losetup", "-d", device], check=False)
        shutil.rmtree(self.shm, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    # ------------------------------------------------------------ what is measured

    def file(self, folder, size=1 << 30):
        path = f"{folder}/data-{size}"
        if not os.path.exists(path):
            with open(path, "wb") as f:
                for _ in range(size >> 20):
                    f.write(random.randbytes(1 << 20))
        return path

    def tmpfs(self, threads):
        return Work(self.file(self.shm), threads)

    def cached(self, threads):
        path = self.file(self.folder)
        with open(path, "rb") as f:
            while f.read(1 << 24):
                pass
        return Work(path, threads, direct=False)

    def loop(self, threads):
        if not self.big_loop:
            self.big_loop = self.make_loop(self.file(self.shm))
        return Work(self.big_loop, threads)

    def make_loop(self, path):
        argv = ["losetup", "--direct-io=on", "--show", "-f", path]
        made = subprocess.run(argv, capture_output=True, text=True, check=False)
        if made.returncode:
            raise Failed(f"no loop device: {made.stderr.strip()}")
        self.loops.append(made.stdout.strip())
        return self.loops[-1]

    def program(self, name):
        if name not in self.programs:
            out = f"{self.folder}/{name}"
            subprocess.run(["cc", "-O2", "-o", out, f"{HERE}/{name}.c", "-lpthread"], check=True)
            self.programs[name] = out
        return self.programs[name]

    # ------------------------------------------------------------ the tools

    # A tool is a function of seconds; 0 seconds: what it does to start and to stop.

    def bare(self, work, clocked=False):
        return lambda s: tools.bare(self.program("bare"), work, s, clocked) if s else {"cpu_s": 0.0}

    def run_brunt(self, work, *options, prefix="", **parm):
        return self.like_vdbench(f"{prefix}{self.brunt}", work, options, parm)

    def vdbench(self, work, **parm):
        if not self.args.vdbench:
            raise Failed("needs --vdbench DIR")
        return self.like_vdbench(f"{self.args.vdbench}/vdbench", work, (), parm)

    def like_vdbench(self, command, work, options, parm):
        def tool(seconds):
            idle = {} if seconds else {"rate": 10}
            return tools.vdbench_like(command, work, seconds or 2, options, **{**parm, **idle})

        return tool

    def rounds(self, contenders, rounds):
        """CPU ns per I/O of each, round by round: {name: [numbers]}."""
        start = {name: statistics.median(tool(0)["cpu_s"] for _ in range(3)) for name, tool in contenders.items()}
        numbers = {name: [] for name in contenders}
        for n in range(rounds):
            for name, tool in contenders.items():
                numbers[name].append(tools.per_io(tool(self.args.seconds), start[name]))
            shown = ", ".join(f"{name} {values[-1]:.0f}" for name, values in numbers.items())
            print(f"  round {n + 1}: CPU ns per I/O: {shown}", file=sys.stderr)
        return numbers

    # ------------------------------------------------------------ the rows

    def row_1(self):
        for threads in (1, 8):
            work = self.tmpfs(threads)
            got = self.rounds({"bare": self.bare(work), "brunt": self.run_brunt(work)}, self.args.rounds or 9)
            over = [b - a for a, b in zip(got["bare"], got["brunt"])]
            yield Row("1", f"tmpfs, threads={threads}: CPU over bare pread", "ns per I/O", over, 250, 150)

    def row_2(self):
        for threads in (1, 8):
            work = self.tmpfs(threads)
            contenders = {"fio psync": lambda s: tools.fio(work, s, "psync", jobs=threads), "brunt": self.run_brunt(work)}
            got = self.rounds(contenders, self.args.rounds or 9)
            ratio = [a / b for a, b in zip(got["fio psync"], got["brunt"])]
            yield Row("2", f"tmpfs, threads={threads}: against fio psync", "×", ratio, 1.0, 1.05, low=False)

    def row_3(self):
        work = self.tmpfs(8)
        got = self.rounds({"Vdbench": self.vdbench(work), "brunt": self.run_brunt(work)}, self.args.rounds or 9)
        ratio = [a / b for a, b in zip(got["Vdbench"], got["brunt"])]
        yield Row("3", "tmpfs, threads=8: against Vdbench", "×", ratio, 1.3, 1.4, low=False)

    FIXED = ("--fixedbufs", "--registerfiles")

    def row_4(self):
        work = self.cached(32)
        fio = lambda s: tools.fio(work, s, "io_uring", depth=32, extra=self.FIXED)
        got = self.rounds({"fio": fio, "brunt": self.run_brunt(work, "--engine", "uring")}, self.args.rounds or 5)
        ratio = [a / b for a, b in zip(got["fio"], got["brunt"])]
        yield Row("4", "page-cached file, 32 outstanding, uring: against fio io_uring", "×", ratio, 1.2, 1.3, low=False)

    def row_5(self):
        work = self.tmpfs(32)
        got = self.rounds({"brunt": self.run_brunt(work, "--engine", "null")}, self.args.rounds or 5)
        yield Row("5", "null device, 32 outstanding: CPU of the whole program", "ns per I/O", got["brunt"], 200, 130)

    def row_6(self):
        """User instructions per I/O: the difference of two numbers of I/Os under callgrind."""
        if not shutil.which("valgrind"):
            raise Failed("needs valgrind")
        argv = ["cargo", "build", "--release", "--locked", "-q", "-p", "brunt-engine", "--example", "measure"]
        subprocess.run(argv, cwd=ROOT, check=True)
        example = f"{self.args.target}/release/examples/measure"
        work = self.tmpfs(32)

        def instructions(kind, lanes, ios):
            argv = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.folder}/callgrind", example, "ios", kind]
            done = subprocess.run([*argv, work.target, str(lanes), str(ios)], capture_output=True, text=True, check=False)
            found = re.findall(r"Collected : (\d+)", done.stderr)
            if done.returncode or not found:
                raise Failed(done.stderr[-400:])
            return sum(map(int, found)), int(re.search(r"^(\d+) I/Os$", done.stdout, re.M).group(1))

        for kind, lanes, goal in (("sync", 1, 350), ("uring", 32, 400)):
            few, many = instructions(kind, lanes, 20_000), instructions(kind, lanes, 60_000)
            each = (many[0] - few[0]) / (many[1] - few[1])
            yield Row("6", f"user instructions per I/O, {kind}", "", [each], 600, goal)

    def row_7(self):
        work = self.loop(32)
        fio = lambda s: tools.fio(work, s, "io_uring", depth=32, extra=self.FIXED)
        contenders = {"Vdbench": self.vdbench(work), "fio": fio, "brunt": self.run_brunt(work)}
        got = self.rounds(contenders, self.args.rounds or 9)
        for name, must, goal in (("Vdbench", 2.5, 3.0), ("fio", 1.0, 1.1)):
            ratio = [a / b for a, b in zip(got[name], got["brunt"])]
            yield Row("7", f"loop device, 32 outstanding: against {name}", "×", ratio, must, goal, low=False)

    def row_7b(self):
        work = self.loop(32)
        deny = self.program("deny_uring")
        fio = lambda s: tools.fio(work, s, "libaio", depth=32)
        contenders = {"Vdbench": self.vdbench(work), "fio": fio, "brunt": self.run_brunt(work, prefix=f"{deny} ")}
        got = self.rounds(contenders, self.args.rounds or 5)
        for name, must, goal in (("Vdbench", 2.0, 2.5), ("fio", 1.0, 1.1)):
            ratio = [a / b for a, b in zip(got[name], got["brunt"])]
            what = f"the same without io_uring (aio): against {name}"
            yield Row("7b", what, "×", ratio, must, goal, low=False)

    def p50(self, result):
        """The median response time of reads in the run's end, ns."""
        ends = [e["event"] for e in result["events"] if e["event"]["kind"] == "run_ended"]
        if not ends:
            raise Failed("no run_ended event")
        return ends[-1]["times"]["read"]["service"]["p50_ns"]

    def bare_p50(self, work, engine):
        """The median of a loop of the same system calls and nothing else, ns."""
        if engine == "sync":
            return tools.bare(self.program("bare"), work, 2, True)["p50_ns"]
        argv = [self.program("bare_async"), "-e", engine, "-t", "2", "-s", str(work.xfer), work.target]
        status, text, *_ = tools.run(argv)
        if status:
            raise Failed(text[-400:])
        return json.loads(text.strip().splitlines()[-1])["p50_ns"]

    def row_8(self):
        work = self.loop(1)
        names = ("sync", "aio", "uring")
        bare, ours = {name: [] for name in names}, {name: [] for name in names}
        for n in range(self.args.rounds or 9):
            for name in names:
                # By turns the first and the second, so that a drift favours neither.
                steps = [lambda: bare[name].append(self.bare_p50(work, name)),
                         lambda: ours[name].append(self.p50(self.run_brunt(work, "--engine", name)(3)))]
                for step in steps if n % 2 else reversed(steps):
                    step()
            shown = ", ".join(f"{name} {bare[name][-1]} {ours[name][-1]}" for name in names)
            print(f"  p50 ns, bare and Brunt: {shown}", file=sys.stderr)
        for name in names:
            offset = [b - a for a, b in zip(bare[name], ours[name])]
            yield Row("8", f"loop device, threads=1, {name}: p50 off that of a bare loop of its calls", "ns", offset, 150, 60, near=True)
        middles = [statistics.median(ours[name]) for name in names]
        yield Row("8", "the same: between sync, aio and uring, medians", "ns", [max(middles) - min(middles)], 500, None)

    def many_files(self, count):
        """So many files of 256 KiB."""
        folder = f"{self.shm}/many"
        os.makedirs(folder, exist_ok=True)
        paths = [f"{folder}/{n}" for n in range(count)]
        for path in paths:
            if not os.path.exists(path):
                with open(path, "wb") as f:
                    f.write(random.randbytes(1 << 18))
        return paths

    def many_loops(self, count):
        """So many loop devices."""
        while len(self.small_loops) < count:
            path = self.many_files(count)[len(self.small_loops)]
            self.small_loops.append(self.make_loop(path))
        return self.small_loops[:count]

    def many(self, luns, threads, seconds, rate="max"):
        """A parameter file of many SDs."""
        lines = [f"sd=sd{n},lun={lun},size=256k,threads={threads},openflags=o_direct\n" for n, lun in enumerate(luns)]
        lines.append("wd=wd1,sd=sd*,xfersize=8k,rdpct=100,seekpct=100\n")
        lines.append(f"rd=rd1,wd=wd1,iorate={rate},elapsed={seconds},interval=1\n")
        return "".join(lines)

    def watched(self, parm, seconds):
        """Runs Brunt and watches it: seconds to the first I/O, seconds beyond elapsed, peak resident MiB of the tree, and the
        threads of its largest process while it does I/O."""
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/parm", "w", encoding="ascii") as f:
                f.write(parm)
            began, wall = time.time(), time.monotonic()
            argv = [self.brunt, "-f", f"{folder}/parm", "-o", f"{folder}/out"]
            child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            peak, threads = 0, []
            while child.poll() is None:
                now = resident(child.pid)
                peak = max(peak, now[0])
                threads.append((time.time(), now[1]))
                time.sleep(0.02)
            wall = time.monotonic() - wall
            if child.returncode:
                raise Failed(child.stderr.read().decode()[-400:])
            with open(f"{folder}/out/events.ndjson", encoding="utf-8") as f:
                events = [json.loads(line)["event"] for line in f]
            starts = [e["start_ms"] for e in events if e["kind"] == "run_started"]
        start = starts[0] / 1000
        running = max((n for at, n in threads if start < at < start + seconds), default=0)
        return start - began, wall - seconds, peak / 1024, running

    def row_9(self):
        for what, sds, threads, must, goal in (("1 SD × 8", 1, 8, 0.3, 0.1), ("1,000 SDs × 1", 1000, 1, 1.0, 0.5)):
            got = [self.watched(self.many(self.many_files(sds), threads, 2), 2) for _ in range(self.args.rounds or 5)]
            yield Row("9", f"launch to first I/O, {what}", "s", [g[0] for g in got], must, goal)
            yield Row("9", f"time beyond elapsed, {what}", "s", [g[1] for g in got], 0.5, 0.25)

    def row_10(self):
        for sds, threads, must in ((1, 8, 30), (100, 8, 100), (1000, 1, 100)):
            got = [self.watched(self.many(self.many_files(sds), threads, 4), 4)[2]]
            yield Row("10", f"resident memory, {sds:,} × {threads}, whole tree", "MiB", got, must, None)
        got = self.watched(self.many(self.many_loops(1000), 32, 4), 4)
        yield Row("10", "resident memory, 1,000 loop devices × 32, whole tree", "MiB", [got[2]], 600, None)
        yield Row("10", "threads of the process that does I/O, 1,000 loop devices × 32", "", [got[3]], 2 * os.cpu_count() + 8, None)

    def row_11(self):
        work = self.tmpfs(8)
        for rate in (1_000, 10_000, 100_000):
            for kind in ("deterministic", "exponential"):
                parm = work.parmfile(11, rate).replace("interval=1", f"interval=1,distribution={kind}")
                with tempfile.TemporaryDirectory() as folder:
                    with open(f"{folder}/parm", "w", encoding="ascii") as f:
                        f.write(parm)
                    status, text, *_ = tools.run([self.brunt, "-f", f"{folder}/parm", "-o", f"{folder}/out"])
                    rows = tools.rows_of(text)[1:]
                if status or not rows:
                    raise Failed(text[-400:])
                off = abs(statistics.mean(r for r, _ in rows) / rate - 1) * 100
                limit = 0.1 if kind == "deterministic" else 300 / (rate * len(rows)) ** 0.5
                yield Row("11", f"{rate:,} per second, {kind}: off by", "%", [off], limit, None)

    def row_12(self):
        work = self.tmpfs(8)
        contenders = {"brunt": self.run_brunt(work, rate=1000)}
        if self.args.vdbench:
            contenders["Vdbench"] = self.vdbench(work, rate=1000)
        # A run of 2 seconds is its start; the other 8 count.
        start = {name: statistics.median(tool(2)["cpu_s"] for _ in range(3)) for name, tool in contenders.items()}
        shares = {name: [] for name in contenders}
        for _ in range(self.args.rounds or 5):
            for name, tool in contenders.items():
                shares[name].append((tool(10)["cpu_s"] - start[name]) / 8 * 100)
        yield Row("12", "CPU while pacing at 1,000 per second", "% of a core", shares["brunt"], 8, 5)
        if "Vdbench" in shares:
            ratio = [a / b for a, b in zip(shares["brunt"], shares["Vdbench"])]
            yield Row("12", "the same: share of Vdbench's", "×", ratio, 0.67, None)


def resident(pid):
    """Resident KiB of a process and all below it, and the threads of that which has most."""
    total, most, todo = 0, 0, [pid]
    while todo:
        one = todo.pop()
        try:
            with open(f"/proc/{one}/status", encoding="ascii") as f:
                found = re.search(r"VmRSS:\s+(\d+)", f.read())
            total += int(found.group(1)) if found else 0
            tasks = os.listdir(f"/proc/{one}/task")
            most = max(most, len(tasks))
            for task in tasks:
                with open(f"/proc/{one}/task/{task}/children", encoding="ascii") as f:
                    todo += map(int, f.read().split())
        except OSError:
            pass
    return total, most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="1,2,3,4,5,6,7,7b,8,9,10,11,12")
    parser.add_argument("--brunt", default=f"{ROOT}/target/release/brunt")
    parser.add_argument("--target", default=f"{ROOT}/target", help="where cargo builds")
    parser.add_argument("--vdbench", help="folder of a Vdbench that runs here")
    parser.add_argument("--rounds", type=int, help="instead of those of the table")
    parser.add_argument("--seconds", type=int, default=4, help="of a run, at least 2")
    parser.add_argument("--work", default="/var/tmp", help="a folder on a disk's file system")
    parser.add_argument("--margin", type=float, default=1, help="fail only beyond so many times what must be reached")
    args = parser.parse_args()
    bench = Bench(args)
    table = []
    try:
        for number in args.rows.split(","):
            print(f"row {number}", file=sys.stderr)
            try:
                for row in getattr(bench, f"row_{number}")():
                    print(row.text(), flush=True)
                    table.append(row)
            except Failed as why:
                print(f"row {number} left out: {why}", file=sys.stderr)
    finally:
        bench.close()
    return not all(row.within(args.margin) for row in table)


if __name__ == "__main__":
    sys.exit(main())
