# SPDX-License-Identifier: GPL-2.0-or-later
"""A real kernel on a POWER10 machine whose chips have 2, 1, 1 and 2 cores.

- Linux numbers the CPUs chip by chip, a node a chip
- IPIs within the first chip move less than a line each between chips, and
  IPIs between the first and the second move at least one each, as the sender
  writes what its target reads: the model has the chips that Linux sees.
  (Ticks and RCU of idle CPUs on other chips may move lines at any time, by
  the hundred, so zero would be too much to ask.)
"""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Chips(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.dir = Path(directory.name)
        data = json.loads((ROOT / "machines/power10-4s.json").read_text())
        data.update(
            name="small", memory="2G", cpus=[16],
            kernels=data["kernels"][:1],
            smp={"cpus": 48, "sockets": 4, "cores": [2, 1, 1, 2],
                 "threads": 8})
        cls.machine = cls.dir / "small.json"
        cls.machine.write_text(json.dumps(data))

    def run_script(self, name, *options):
        done = subprocess.run(
            [ROOT / "scripts" / name, *options], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_numbers(self):
        said = self.run_script(
            "boot", self.machine, "--timeout", "300", "--exec",
            "for n in 0 1 2 3; do echo "
            "node $n $(cat /sys/devices/system/node/node$n/cpulist); done")
        nodes = [line.split()[1:] for line in said.splitlines()
                 if line.startswith("node ")]
        # 16, 8, 8 and 16 threads.
        self.assertEqual(nodes, [["0", "0-15"], ["1", "16-23"],
                                 ["2", "24-31"], ["3", "32-47"]])

    def test_model(self):
        out = self.dir / "out"
        self.run_script(
            "compare", "--machine", self.machine, "--kernel", "before",
            "--cpus", "0-15,8-23", "--duration", "600", "--out", out)
        points = json.loads((out / "result.json").read_text())["points"]
        crossed = {}
        for point in points:
            moved = list(point["stats"][0]["transfers"].values())
            ipis = point["rate"] * 600      # million a second, in 600 us
            crossed[point["cpulist"]] = sum(moved[2:]) / ipis
        self.assertEqual([point["chips"] for point in points], [1, 2])
        self.assertLess(crossed["0-15"], 1)
        self.assertGreaterEqual(crossed["8-23"], 1)


if __name__ == "__main__":
    unittest.main()
