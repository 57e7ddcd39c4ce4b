# SPDX-License-Identifier: GPL-2.0-or-later
"""Clocks and the region of interest, with a few instructions for a guest.

- a mistake with the region markers ends the run with one line and status 1
- with the clocks off the markers are no-ops
- the region can be opened and closed by QMP
- the simulated-time limit ends a guest that hangs
- stop, cont, quit and registers by HMP and QMP, and gdb, with clocks on
- two threads that wait at low priority do not keep a third from running
"""

import time
import unittest

from bare import (Bare, ENTER, Gdb, LEAVE, LOW, MEDIUM, NOP, Qmp, STOP_HERE,
                  branch)


class Region(unittest.TestCase):
    def fails(self, instructions, words):
        with Bare(instructions) as guest:
            status, said = guest.finish()
        self.assertEqual(status, 1, said)
        lines = [line for line in said.splitlines() if "region" in line]
        self.assertEqual(len(lines), 1, said)
        for word in words:
            self.assertIn(word, lines[0])

    def test_entered_twice(self):
        self.fails([ENTER, NOP, ENTER, STOP_HERE],
                   ["vCPU 0", "twice", "leave it first"])

    def test_left_without_entering(self):
        self.fails([NOP, LEAVE, STOP_HERE],
                   ["vCPU 0", "without", "enter it first"])

    def test_entered_again_after_leaving(self):
        with Bare([ENTER, NOP, LEAVE, ENTER, LEAVE, STOP_HERE]) as guest, \
                Qmp(guest.qmp_path) as qmp:
            time.sleep(0.5)
            self.assertEqual(qmp.pc(), 0x10 + 5 * 4)
            self.assertIsNone(guest.process.poll())

    def test_no_op_without_clocks(self):
        with Bare([ENTER, ENTER, LEAVE, LEAVE, LEAVE, STOP_HERE],
                  accel="tcg") as guest, Qmp(guest.qmp_path) as qmp:
            time.sleep(0.5)
            self.assertEqual(qmp.pc(), 0x10 + 5 * 4)

    def test_by_qmp(self):
        path = "/machine/peripheral/cm"
        with Bare([NOP, branch(-1)], "-device",
                  "contention,id=cm") as guest, Qmp(guest.qmp_path) as qmp:
            def region():
                return qmp.call("qom-get", path=path, property="region")

            def wait_for(value):
                end = time.monotonic() + 20
                while region() != value and time.monotonic() < end:
                    time.sleep(0.02)
                self.assertEqual(region(), value)

            self.assertFalse(region())
            qmp.call("qom-set", path=path, property="region", value=True)
            wait_for(True)
            with self.assertRaisesRegex(RuntimeError, "entered already"):
                qmp.call("qom-set", path=path, property="region", value=True)
            qmp.call("qom-set", path=path, property="region", value=False)
            wait_for(False)


class Limit(unittest.TestCase):
    def test_guest_that_hangs(self):
        with Bare([NOP, branch(-1)],
                  accel="tcg,simtime=on,simtime-limit-ms=20") as guest:
            status, said = guest.finish()
        self.assertEqual(status, 1)
        self.assertIn("simtime-limit-ms=20", said)


class Monitor(unittest.TestCase):
    def test_stop_cont_quit(self):
        with Bare([NOP, branch(-1)], smp="4") as guest, \
                Qmp(guest.qmp_path) as qmp:
            for _ in range(3):
                qmp.call("stop")
                self.assertFalse(qmp.call("query-status")["running"])
                self.assertIn(qmp.pc(3), (0x10, 0x14))
                qmp.call("cont")
                self.assertTrue(qmp.call("query-status")["running"])
            qmp.hmp("stop")
            self.assertIn("paused", qmp.hmp("info status"))
            qmp.hmp("cont")
            self.assertIn("running", qmp.hmp("info status"))
            qmp.call("system_reset")
            time.sleep(0.2)
            self.assertIn(qmp.pc(), (0x10, 0x14))
            qmp.call("quit")
            self.assertEqual(guest.finish()[0], 0)

    def test_gdb_steps_and_breaks(self):
        with Bare([NOP, NOP, NOP, branch(-2)]) as guest, \
                Gdb(guest.gdb_path) as gdb:
            self.assertTrue(gdb.call("?").startswith("T"))

            def pc():
                # Register 64 of the power core feature is the pc.
                return int(gdb.call("p40"), 16)

            before = pc()
            self.assertTrue(gdb.call("s").startswith("T05"))
            after = {0x10: 0x14, 0x14: 0x18, 0x18: 0x1C, 0x1C: 0x14}[before]
            self.assertEqual(pc(), after)
            self.assertEqual(gdb.call("Z0,18,4"), "OK")
            self.assertTrue(gdb.call("c").startswith("T05"))
            self.assertEqual(pc(), 0x18)


class Waiting(unittest.TestCase):
    def test_low_priority_leaves_time_to_others(self):
        # Each thread reads its number (mfspr PIR) and all but 0 wait at low
        # priority; thread 0 must get through 3 << 20 loops, which takes
        # longer than the test has if the others keep their share.
        mfpir_r3 = 0x7C7FFAA6           # mfspr r3,1023
        cmpdi_r3 = 0x2C230000           # cmpdi r3,0
        bne = 0x40820000 | 5 * 4        # to the waiting loop
        lis_r4 = 0x3C800030             # r4 = 3 << 20
        mtctr_r4 = 0x7C8903A6
        bdnz = 0x4200FFFC & 0xFFFF0000 | (-4 & 0xFFFC)
        code = [mfpir_r3, cmpdi_r3, bne, lis_r4, mtctr_r4, NOP, bdnz]
        code[2] = 0x40820000 | (len(code) + 1 - 2) * 4
        code += [STOP_HERE, LOW, MEDIUM, branch(-2)]
        done = 0x10 + 7 * 4
        with Bare(code, smp="4,cores=1,threads=4",
                  accel="tcg,simtime=on") as guest, \
                Qmp(guest.qmp_path) as qmp:
            end = time.monotonic() + 20
            while qmp.pc() != done and time.monotonic() < end:
                time.sleep(0.05)
            self.assertEqual(qmp.pc(), done)


if __name__ == "__main__":
    unittest.main()
