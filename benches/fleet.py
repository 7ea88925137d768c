#!/usr/bin/env python3
"""Measures how long a fleet takes from the command to its first I/O: hosts that are network namespaces, each with a
real sshd of its own, the master in another one.

  benches/fleet.py [--brunt PROGRAM] [--hosts N] [--rounds N]

Needs root, iproute2, OpenSSH. Runs with the program on the hosts and with hosts that have none yet; prints the
median and the range over rounds for the whole and for each step: the time, and the CPU time of everything, sshd and agents of all
hosts included (needs cgroups). Nothing is left behind, nothing of this machine is changed.
"""
import argparse
import bisect
import concurrent.futures
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

NAMESPACES = "/run/netns"
# A host's own view of this machine: its folder as /mnt, a home and temporary folders of its own, another boot.
HOST = """
hostname {name}
mount --bind {folder} /mnt
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/sshd
for dir in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o mode=1777 tmpfs $dir; done
mount -t tmpfs -o mode=700 tmpfs /root
mount --bind /mnt/boot_id /proc/sys/kernel/random/boot_id
exec /usr/sbin/sshd -D -e -f /mnt/sshd_config
"""


def shell(lines):
    subprocess.run(["/bin/sh", "-ec", lines], check=True)


def inside(namespace):
    """Processes in a namespace."""
    said = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True).stdout
    return [int(pid) for pid in said.split()]


class Cpu:
    """CPU time of this process and of all that it starts, as a cgroup counts it."""

    def __init__(self):
        first, second = "/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup"
        self.old = os.path.exists(f"{first}/cpuacct.usage")
        self.parent = first if self.old else second
        self.path = f"{self.parent}/brunt-fleet-{os.getpid()}"
        os.mkdir(self.path)
        self.move(self.path)
        self.times, self.used, self.over = [], [], threading.Event()
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.thread.start()

    def move(self, group):
        with open(f"{group}/cgroup.procs", "w") as file:
            file.write(str(os.getpid()))

    def now(self):
        """Seconds."""
        if self.old:
            with open(f"{self.path}/cpuacct.usage") as file:
                return int(file.read()) / 1e9
        with open(f"{self.path}/cpu.stat") as file:
            return int(file.read().split()[1]) / 1e6

    def follow(self):
        while not self.over.wait(0.02):
            self.times.append(time.time())
            self.used.append(self.now())

    def at(self, when):
        """What was used up to that time."""
        return self.used[min(bisect.bisect(self.times, when), len(self.used) - 1)]

    def close(self):
        self.over.set()
        self.thread.join()
        self.move(self.parent)
        os.rmdir(self.path)


class Fleet:
    """Hosts around a switch, and the master's machine."""

    def __init__(self, hosts, folder):
        self.prefix = f"brunt-{os.getpid()}-b"
        self.folder = folder
        self.names = [f"h{n}" for n in range(1, hosts + 1)]
        self.sshds = []

    def namespace(self, part):
        return f"{self.prefix}-{part}"

    def build(self):
        switch = self.namespace("s")
        lines = [f"ip netns add {switch}", f"ip -n {switch} link add name br0 type bridge forward_delay 0",
                 f"ip -n {switch} link set dev br0 up"]
        for address, name in enumerate(["m"] + self.names, 1):
            own = self.namespace(name)
            lines += [f"ip netns add {own}", f"ip -n {own} link set dev lo up",
                      f"ip -n {switch} link add name {name} type veth peer name eth0 netns {own}",
                      f"ip -n {switch} link set dev {name} master br0 up",
                      f"ip -n {own} address add 10.77.0.{address}/24 dev eth0", f"ip -n {own} link set dev eth0 up"]
        shell("\n".join(lines))
        shell(f"ssh-keygen -q -t ed25519 -N '' -f {self.folder}/client_key")
        config, known = "", ""
        for address, name in enumerate(self.names, 2):
            folder = os.path.join(self.folder, name)
            os.mkdir(folder, 0o755)
            shell(f"ssh-keygen -q -t ed25519 -N '' -f {folder}/host_key")
            shutil.copy(f"{self.folder}/client_key.pub", f"{folder}/authorized")
            with open(f"{folder}/sshd_config", "w") as file:
                file.write("HostKey /mnt/host_key\nAuthorizedKeysFile /mnt/authorized\nPidFile none\nPort 22\n"
                           "Include /etc/ssh/sshd_config\n")
            with open(f"{folder}/boot_id", "w") as file:
                file.write(f"00000000-0000-4000-8000-{address:012}\n")
            with open(f"{folder}/lun", "w") as file:
                file.truncate(1 << 20)
            config += f"Host {name}\n  HostName 10.77.0.{address}\n"
            with open(f"{folder}/host_key.pub") as file:
                known += f"10.77.0.{address} {file.read()}"
        config += (f"Host *\n  User root\n  IdentityFile {self.folder}/client_key\n  IdentitiesOnly yes\n"
                   f"  IdentityAgent none\n  GlobalKnownHostsFile /dev/null\n"
                   f"  UserKnownHostsFile {self.folder}/known_hosts\n  StrictHostKeyChecking yes\n")
        for name, text in (("ssh_config", config), ("known_hosts", known)):
            with open(os.path.join(self.folder, name), "w") as file:
                file.write(text)
        for name in self.names:
            script = HOST.format(name=name, folder=os.path.join(self.folder, name))
            sshd = subprocess.Popen(
                ["nsenter", f"--net={NAMESPACES}/{self.namespace(name)}", "unshare", "--mount", "--propagation",
                 "private", "--uts", "/bin/sh", "-ec", script],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.sshds.append(sshd)
        for sshd in self.sshds:
            said = ""
            while "Server listening" not in said:
                line = sshd.stderr.readline()
                said += line
                if not line:
                    sys.exit(f"a host did not start: {said}")

    def remove(self):
        for part in ["m"] + self.names + ["s"]:
            own = self.namespace(part)
            while os.path.exists(f"{NAMESPACES}/{own}") and (pids := inside(own)):
                for pid in pids:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
            subprocess.run(["ip", "netns", "delete", own], stderr=subprocess.DEVNULL)
        for sshd in self.sshds:
            sshd.wait()

    def master(self, words):
        """A command on the master's machine."""
        return ["nsenter", f"--net={NAMESPACES}/{self.namespace('m')}"] + words

    def on_all(self, command):
        """Runs a command on all hosts over ssh, all at once: begin and end."""
        def one(name):
            words = ["ssh", "-F", f"{self.folder}/ssh_config", "-oBatchMode=yes", name, command]
            subprocess.run(self.master(words), stdin=subprocess.DEVNULL, check=True)
        began = time.time()
        with concurrent.futures.ThreadPoolExecutor(len(self.names)) as pool:
            list(pool.map(one, self.names))
        return began, time.time()


def run(fleet, cpu, program, folder):
    """One execution: seconds of each step, in order."""
    hosts = "".join(f"hd={name}\n" for name in fleet.names)
    rate = 10 * len(fleet.names)
    with open(f"{folder}/p", "w") as file:
        file.write(f"misc=(engine=null)\nhd=default,shell=ssh\n{hosts}sd=sd1,lun=/mnt/lun,threads={len(fleet.names)}\n"
                   f"wd=wd1,sd=sd1,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,iorate={rate},elapsed=3,interval=1\n")
    environment = dict(os.environ, BRUNT_SSH=f"ssh -F {fleet.folder}/ssh_config")
    began = time.time()
    done = subprocess.run(fleet.master([program, "-f", "p", "-o", "out+"]), cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    ended = time.time()
    if done.returncode != 0:
        sys.exit(f"it failed: {done.stdout}{done.stderr}")
    out = re.search(r"Output directory: (\S+)", done.stdout).group(1)
    at, first, rows = {}, None, 0
    with open(f"{out}/events.ndjson") as file:
        for line in file:
            record = json.loads(line)
            event = record["event"]
            if event["kind"] == "interval":
                rows = event["interval"]
                first = first or record["at_ms"] / 1000 - event["length_ns"] / 1e9
            elif first is None:
                # The last of each kind before the run.
                at[event["kind"]] = record["at_ms"] / 1000
    if rows != 3:
        sys.exit(f"{rows} intervals of 3: {done.stdout}")
    steps = {
        "launch to first I/O": (began, first),
        "  own start": (began, at["planned"]),
        "  all hosts greeted (ssh, program, agent)": (at["planned"], at["workers_connected"]),
        "  all hosts looked at": (at["workers_connected"], at["query_completed"]),
        "  prepared, round trips, start instant": (at["query_completed"], first),
        "the run, 3 s and the time beyond": (first, ended),
    }
    return {step: (till - since, cpu.at(till) - cpu.at(since)) for step, (since, till) in steps.items()}


def show(title, rounds):
    print(f"\n{title:45} {'time':>8} {'range':>16} {'CPU':>9} {'range':>16}")
    for step in rounds[0]:
        print(f"  {step:43}", end="")
        for values in zip(*(each[step] for each in rounds)):
            print(f" {statistics.median(values):7.2f} s {f'[{min(values):.2f}..{max(values):.2f}]':>16}", end="")
        print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brunt", default="target/release/brunt")
    parser.add_argument("--hosts", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("network namespaces need root")
    program = os.path.abspath(args.brunt)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        fleet, cpu = Fleet(args.hosts, folder), Cpu()
        try:
            fleet.build()
            print(f"{args.hosts} hosts, {os.cpu_count()} CPUs for all of them and the master, load {os.getloadavg()[0]:.1f}, "
                  f"{os.path.getsize(program) / 1e6:.1f} MB of program")
            logins = []
            for _ in range(args.rounds):
                since, till = fleet.on_all("true")
                time.sleep(0.1)
                logins.append({"`ssh HOST true` on all hosts at once": (till - since, cpu.at(till) - cpu.at(since))})
            copied, there = [], []
            for _ in range(args.rounds):
                fleet.on_all("rm -rf /root/.cache")
                copied.append(run(fleet, cpu, program, folder))
                there.append(run(fleet, cpu, program, folder))
            show("ssh alone", logins)
            show("hosts that have the program", there)
            show("hosts that get it", copied)
        finally:
            fleet.remove()
            cpu.close()


if __name__ == "__main__":
    main()
