#!/usr/bin/env python3
"""What many workers on one machine cost their master, and whether any interval is missed.

  benches/scale.py [--workers 200] [--seconds 60] [--brunt PROGRAM] [--hosts]

Runs benches/scale.parm: real worker processes with 64 SDs each on the null back end, paced at 10 I/Os per second and SD,
intervals of a second. One agent has all workers; with --hosts each worker has an agent, and so a host, of its own. CPU
times are those of the kernel between the first interval and the last. It fails where an interval is missing, or lacks
anybody's part.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SDS, PER_SD = 64, 10
TICK = os.sysconf("SC_CLK_TCK")


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def children(pid):
    """All processes below one."""
    below = []
    for thread in os.listdir(f"/proc/{pid}/task") if os.path.exists(f"/proc/{pid}/task") else []:
        for child in read(f"/proc/{pid}/task/{thread}/children").split():
            below += [int(child), *children(int(child))]
    return below


def usage(pid):
    """(CPU seconds, resident KiB, proportional KiB, threads, open files) of a process."""
    stat = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if not stat:
        return None
    field = lambda text, name: int(next((l.split()[1] for l in text.splitlines() if l.startswith(name)), 0))
    status, rollup = read(f"/proc/{pid}/status"), read(f"/proc/{pid}/smaps_rollup")
    files = len(os.listdir(f"/proc/{pid}/fd")) if os.path.exists(f"/proc/{pid}/fd") else 0
    cpu = (int(stat[11]) + int(stat[12])) / TICK
    return cpu, field(status, "VmRSS:"), field(rollup, "Pss:"), field(status, "Threads:"), files


def look(master):
    """By role: what its processes use together."""
    roles = {"master": [usage(master)], "agents": [], "workers": []}
    for pid in children(master):
        words = read(f"/proc/{pid}/cmdline").split("\0")
        role = {"agent": "agents", "worker": "workers"}.get(words[1] if len(words) > 1 else "")
        if role and (used := usage(pid)):
            roles[role].append(used)
    return {role: (len(used), [sum(column) for column in zip(*used)]) for role, used in roles.items() if used}


def parmfile(folder, args):
    """The parameter file, and the variables of it."""
    text = read(f"{HERE}/scale.parm")
    if args.hosts:
        hosts = "\n".join(f"hd=h{n},system=localhost" for n in range(1, args.workers + 1))
        text = text.replace("hd=h1,system=localhost,jvms=$workers", hosts)
    path = f"{folder}/scale.parm"
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    rate = args.workers * SDS * PER_SD
    return [path, f"workers={args.workers}", f"rate={rate}", f"elapsed={args.seconds}"], rate


def has_ended(child, seconds):
    try:
        child.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        return False


def play(args, folder):
    """Runs it: the asked rate, the events, looks at the processes with their times, and how long all took."""
    words, rate = parmfile(folder, args)
    argv = [args.brunt, "-f", *words, "-o", f"{folder}/out"]
    began, looks = time.monotonic(), []
    with open(f"{folder}/said", "wb") as said:
        master = subprocess.Popen(argv, stdout=said, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        while not has_ended(master, 4):
            # Looking costs something itself.
            if '"kind":"interval"' in read(f"{folder}/out/events.ndjson"):
                looks.append((time.monotonic(), look(master.pid)))
    wall = time.monotonic() - began
    if master.returncode:
        sys.exit(f"{argv[0]} ended with {master.returncode}: {read(f'{folder}/said')[-800:]}")
    records = [json.loads(line) for line in read(f"{folder}/out/events.ndjson").splitlines()]
    events = [{**record["event"], "at_ms": record["at_ms"]} for record in records]
    return rate, events, looks, wall


def of_kind(events, kind):
    return [event for event in events if event.get("kind") == kind]


def told(values, unit, digits=1):
    return f"{statistics.median(values):,.{digits}f} [{min(values):,.{digits}f}..{max(values):,.{digits}f}] {unit}"


def ops(cell):
    return sum(cell.get(side, {}).get("ops", 0) for side in ("read", "write"))


def rows(args, rate, events, looks, wall):
    """What is printed, and what is wrong."""
    intervals, wrong = of_kind(events, "interval"), []
    start = of_kind(events, "run_started")[0]
    numbers = [i["interval"] for i in intervals]
    if numbers != list(range(1, args.seconds + 1)):
        wrong.append(f"intervals {numbers}")
    for i in intervals:
        silent = [w for w, cell in enumerate(i["workers"]) if ops(cell) == 0]
        if i["missing_workers"] or silent or len(i["workers"]) != args.workers:
            wrong.append(f"interval {i['interval']}: {i['missing_workers']} missing, silent {silent[:9]}")
    late = [i["at_ms"] - start["start_ms"] - 1000 * i["interval"] for i in intervals]
    counted = [i for i in intervals if not i["warmup"]]
    reached = [ops(i["total"]) / (i["length_ns"] / 1e9) for i in counted]
    yield "workers, SDs of each", f"{args.workers}, {SDS}"
    yield "intervals", f"{len(intervals)} of {args.seconds}"
    yield "length", told([i["length_ns"] / 1e6 for i in intervals], "ms", 2)
    yield "row behind the end of its interval", told(late, "ms", 0)
    yield "I/Os per second", f"{told(reached, 'of', 0)} {rate:,}"
    yield "launch to first I/O", f"{(start['start_ms'] - events[0]['at_ms']) / 1000:.2f} s"
    yield "beyond elapsed", f"{wall - args.seconds:.2f} s"
    size = sum(len(json.dumps(i)) for i in intervals) / len(intervals)
    yield "events.ndjson", f"{size / 1024:.1f} KiB an interval"
    if len(looks) >= 2:
        (first, before), (last, after) = looks[0], looks[-2] if len(looks) > 2 else looks[-1]
        for role, (count, used) in after.items():
            if role not in before:
                continue
            cpu = (used[0] - before[role][1][0]) / (last - first) * 100
            yield role, (
                f"{count} processes, {cpu:.1f} % of a core, {used[1] / 1024:,.0f} MiB resident, {used[2] / 1024:,.0f} MiB "
                f"proportional, {used[3]:.0f} threads, {used[4]:.0f} open files"
            )
    else:
        wrong.append("too short to look twice at the processes: --seconds 15 or more")
    for text in wrong:
        yield "WRONG", text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--brunt", default=os.path.join(os.path.dirname(HERE), "target/release/brunt"))
    parser.add_argument("--hosts", action="store_true", help="an agent for each worker")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = list(rows(args, *play(args, folder)))
    width = max(len(name) for name, _ in table)
    for name, text in table:
        print(f"{name:{width}}  {text}")
    sys.exit(any(name == "WRONG" for name, _ in table))


if __name__ == "__main__":
    main()
