# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU sets: counts, ranges, and every way to get them wrong."""

import unittest

import support
from xivescale import cpulist
from xivescale.errors import UserError


class CpuListTest(unittest.TestCase):
    def refused(self, text, reason):
        with self.assertRaises(UserError) as caught:
            cpulist.parse_sets(text, 128)
        self.assertIn(reason, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def test_count_is_first_cpus(self):
        self.assertEqual(cpulist.parse_set("16", 128), tuple(range(16)))

    def test_ranges(self):
        cpus = cpulist.parse_set("64-79/0-15", 128)
        self.assertEqual(cpus, (*range(16), *range(64, 80)))
        self.assertEqual(cpulist.ranges(cpus), "0-15,64-79")
        self.assertFalse(cpulist.is_prefix(cpus))
        self.assertEqual(cpulist.chips(cpus, [64, 64]), 2)

    def test_single_cpus(self):
        cpus = cpulist.parse_set("0/4/8-9", 128)
        self.assertEqual(cpus, (0, 4, 8, 9))
        self.assertEqual(cpulist.ranges(cpus), "0,4,8-9")

    def test_published_rows(self):
        sets = cpulist.parse_sets("16, 80,128", 128)
        self.assertEqual([cpulist.chips(cpus, [64, 64]) for cpus in sets],
                         [1, 2, 2])
        self.assertTrue(all(cpulist.is_prefix(cpus) for cpus in sets))

    def test_unequal_chips(self):
        # CPUs 0-95, 96-175, 176-255 and 256-351; the counts of chips are
        # those of the published table.
        threads = [96, 80, 80, 96]
        for last, chips in ((95, 1), (96, 2), (175, 2), (176, 3), (255, 3),
                            (256, 4), (351, 4)):
            with self.subTest(last):
                self.assertEqual(cpulist.chips(range(last + 1), threads),
                                 chips)
        self.assertEqual(cpulist.chips([95, 256], threads), 2)

    def test_out_of_range(self):
        self.refused("129", "the machine has 128 CPUs")
        self.refused("120-128", "CPU 128 is out of range")

    def test_empty(self):
        self.refused("", "empty CPU set")
        self.refused("16,,32", "empty CPU set")
        self.refused("0", "empty CPU set")

    def test_overlap_and_repeat(self):
        self.refused("0-15/8-20", "CPU 8 is in the set twice")
        self.refused("16,0-15", "in the list already")
        self.refused("16,16", "in the list already")

    def test_not_a_set(self):
        self.refused("15-0", "runs backwards")
        self.refused("-4", "not a CPU or a range")
        self.refused("abc", "not a CPU or a range")
        self.refused("0-15/", "not a CPU or a range")
        self.refused("99999999999", "not a CPU or a range")
        self.refused("\u0661\u0666", "not a CPU or a range")


if __name__ == "__main__":
    unittest.main()
