# SPDX-License-Identifier: GPL-2.0-or-later
"""A few instructions instead of firmware, and ways to watch them run."""

import json
import re
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
QEMU = ROOT / "build/qemu/qemu-system-ppc64"

# Where a powernv thread starts in the image that -bios loads at 0.
ENTRY = 0x10

ENTER = 0x6D6B0000              # xoris r11,r11,0
LEAVE = 0x6D8C0000              # xoris r12,r12,0
NOP = 0x60000000                # ori r0,r0,0
LOW = 0x7C210B78                # or r1,r1,r1: low priority
MEDIUM = 0x7C421378             # or r2,r2,r2: normal priority
STOP_HERE = 0x48000000          # b .
SIMTIME = "tcg,simtime=on"


def branch(words):
    """A branch by so many instructions."""
    return 0x48000000 | (words * 4 & 0x03FFFFFC)


class Bare:
    """QEMU with an image of instructions, stopped when the test is over."""

    def __init__(self, instructions, *options, accel=SIMTIME,
                 machine="powernv9", smp="1"):
        self.dir = tempfile.TemporaryDirectory()
        image = Path(self.dir.name) / "image"
        image.write_bytes(bytes(ENTRY) +
                          b"".join(struct.pack(">I", i)
                                   for i in instructions))
        self.qmp_path = f"{self.dir.name}/qmp"
        self.gdb_path = f"{self.dir.name}/gdb"
        self.process = subprocess.Popen(
            [QEMU, "-M", machine, "-smp", smp, "-accel", accel,
             "-bios", image, "-nodefaults", "-display", "none",
             "-serial", "null", "-qmp",
             f"unix:{self.qmp_path},server=on,wait=off",
             "-chardev", f"socket,id=gdb,path={self.gdb_path},"
             "server=on,wait=off", "-gdb", "chardev:gdb", *options],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        self.dir.cleanup()

    def finish(self, timeout=30):
        """Exit status and what was said on stderr."""
        said = self.process.communicate(timeout=timeout)[1]
        return self.process.returncode, said


def connect(path):
    """A connection to a socket that may not be there yet."""
    end = time.monotonic() + 20
    while True:
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(path)
            s.settimeout(20)
            return s
        except OSError:
            s.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


class Qmp:
    """The monitor protocol, as far as the tests need it."""

    def __init__(self, path):
        self.socket = connect(path)
        self.file = self.socket.makefile("rw")
        self.file.readline()
        self.call("qmp_capabilities")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def call(self, command, **arguments):
        json.dump({"execute": command, "arguments": arguments}, self.file)
        self.file.write("\n")
        self.file.flush()
        while True:
            answer = json.loads(self.file.readline())
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise RuntimeError(answer["error"]["desc"])

    def hmp(self, line):
        return self.call("human-monitor-command", **{"command-line": line})

    def pc(self, cpu=0):
        """Where a vCPU is."""
        text = self.call("human-monitor-command",
                         **{"command-line": "info registers",
                            "cpu-index": cpu})
        return int(re.search(r"NIP ([0-9a-f]+)", text)[1], 16)


class Gdb:
    """The remote protocol of gdb: packets and their answers."""

    def __init__(self, path):
        self.socket = connect(path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def call(self, packet):
        checksum = sum(packet.encode()) & 0xFF
        self.socket.sendall(f"${packet}#{checksum:02x}".encode())
        data = b""
        while not re.search(rb"\$[^#]*#[0-9a-f]{2}$", data):
            got = self.socket.recv(65536)
            if not got:
                raise ConnectionError("the stub has closed the connection")
            data += got
        self.socket.sendall(b"+")
        return re.search(rb"\$([^#]*)#", data)[1].decode()
