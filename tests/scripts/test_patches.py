# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/sources, patches and overlay on a small QEMU tree."""

import os
import time
import unittest

from buildtree import BuildTest, write

HEADER = """SPDX-License-Identifier: GPL-2.0-or-later
Subject: A hook for the test

The test wants it so.

"""


class Tree(BuildTest):
    def edit(self, name, old, new):
        path = self.tree / name
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1))

    def hook(self):
        """The small tree with one hook in a patch of its own."""
        self.sources()
        self.edit("hw/intc/xive.c", "line 10\n", "line 10\nhook();\n")
        self.good("scripts/patches", "import", "hook", "hw/intc/xive.c")
        patch = self.root / "patches/qemu/hook.patch"
        body = patch.read_text()
        patch.write_text(HEADER + body[body.index("--- a/"):])
        return patch


class Sources(Tree):
    def test_unpacked_once(self):
        self.sources()
        pristine = self.build / "src/qemu.orig"
        self.assertTrue((pristine / "hw/intc/xive.c").is_file())
        self.assertFalse((self.tree / "roms").exists())
        self.assertIn("#pycotap", (self.tree / "pythondeps.toml").read_text())
        self.assertIn("\npycotap", (self.qemu / "pythondeps.toml")
                      .read_text())
        self.assertEqual(self.good("scripts/sources", "qemu"), "")

    def test_interrupted(self):
        self.sources()
        # As a kill in the middle of unpacking leaves it.
        (self.build / "src/.qemu.orig.stamp").unlink()
        left = self.build / "src/.unpack.1/half"
        write(left, "")
        self.good("scripts/sources", "qemu")
        self.assertFalse(left.parent.exists())
        self.assertTrue((self.tree / "hw/ppc/pnv.c").exists())

    def test_other_source_keeps_edits(self):
        self.sources()
        self.edit("hw/ppc/pnv.c", "row 3\n", "row three\n")
        archive = self.dir / "q.tar"
        self.good("tar", "-C", self.dir, "-cf", archive, "given")
        self.configure(f"--qemu-src={archive}")
        self.assertIn("edits that patches/qemu lacks",
                      self.bad("scripts/sources", "qemu"))
        self.edit("hw/ppc/pnv.c", "row three\n", "row 3\n")
        self.good("scripts/sources", "qemu")

    def test_lacks_subproject(self):
        self.configure(f"--qemu-src={self.qemu}")
        os.remove(self.qemu / "subprojects/keycodemapdb/meson.build")
        os.rmdir(self.qemu / "subprojects/keycodemapdb")
        self.assertIn("lacks subprojects/keycodemapdb",
                      self.bad("scripts/sources", "qemu"))

    def test_source_gone(self):
        self.configure(f"--qemu-src={self.qemu}")
        self.qemu.rename(self.dir / "away")
        self.assertIn("does not exist", self.bad("scripts/sources", "qemu"))

    def test_linux_directory_is_not_copied(self):
        linux = self.dir / "linux"
        write(linux / "Makefile", "VERSION = 6\nPATCHLEVEL = 1\n"
              "SUBLEVEL = 9\n")
        self.configure(f"--linux-src={linux}")
        self.good("scripts/sources", "linux")
        self.assertEqual(os.readlink(self.build / "src/linux"), str(linux))
        self.assertIn('"linux": "6.1.9"', self.good(
            "scripts/sources", "--print-versions", "linux"))


class Patches(Tree):
    def test_import_has_one_line_of_context(self):
        patch = self.hook()
        self.assertEqual(patch.read_text(), HEADER + (
            "--- a/hw/intc/xive.c\n+++ b/hw/intc/xive.c\n"
            "@@ -10,2 +10,3 @@ line 9\n line 10\n+hook();\n line 11\n"))
        self.assertIn("1 patches, 1 files, 1 lines added, 0 removed",
                      self.good("scripts/patches", "check", "qemu"))

    def test_refresh_is_identical(self):
        patch = self.hook()
        before = patch.read_bytes()
        stat = patch.stat().st_mtime_ns
        self.good("scripts/patches", "refresh", "qemu")
        self.assertEqual(patch.read_bytes(), before)
        self.assertEqual(patch.stat().st_mtime_ns, stat)

    def test_refresh_takes_an_edit(self):
        patch = self.hook()
        self.edit("hw/intc/xive.c", "line 20\n", "line 20\nmore();\n")
        self.assertIn("run scripts/patches refresh",
                      self.bad("scripts/patches", "check", "qemu"))
        self.good("scripts/patches", "refresh", "qemu")
        self.assertIn("+more();", patch.read_text())
        self.assertTrue(patch.read_text().startswith(HEADER))

    def test_edit_that_belongs_to_no_patch(self):
        self.hook()
        self.edit("hw/ppc/pnv.c", "row 5\n", "row five\n")
        done = self.run_script("scripts/patches", "refresh", "qemu")
        self.assertEqual(done.returncode, 1)
        self.assertIn("hw/ppc/pnv.c is changed but belongs to no patch",
                      done.stderr)
        self.assertIn("belongs to no patch", self.run_script(
            "scripts/patches", "status").stdout)

    def test_apply_writes_only_what_changes(self):
        self.hook()
        self.tree.rename(self.dir / "old")
        (self.build / "src/.qemu.applied.json").unlink()
        self.good("scripts/sources", "qemu")
        self.good("scripts/patches", "apply")
        self.assertIn("hook();", (self.tree / "hw/intc/xive.c").read_text())
        past = time.time() - 1000
        for name in ("hw/intc/xive.c", "hw/ppc/pnv.c"):
            os.utime(self.tree / name, (past, past))
        (self.build / "src/.qemu.applied.json").unlink()
        self.good("scripts/patches", "apply")
        for name in ("hw/intc/xive.c", "hw/ppc/pnv.c"):
            self.assertEqual((self.tree / name).stat().st_mtime, past)

    def test_apply_follows_the_series(self):
        patch = self.hook()
        patch.write_text(patch.read_text().replace("hook();", "other();"))
        self.good("scripts/patches", "apply")
        self.assertIn("other();", (self.tree / "hw/intc/xive.c").read_text())
        write(self.root / "patches/qemu/series", "# none\n")
        self.good("scripts/patches", "apply")
        self.assertNotIn("other", (self.tree / "hw/intc/xive.c").read_text())

    def test_apply_keeps_edits(self):
        patch = self.hook()
        self.edit("hw/intc/xive.c", "line 20\n", "mine();\n")
        self.good("scripts/patches", "apply")
        self.assertIn("mine();", (self.tree / "hw/intc/xive.c").read_text())
        patch.write_text(patch.read_text().replace("hook();", "other();"))
        self.assertIn("has edits of its own",
                      self.bad("scripts/patches", "apply"))
        self.assertIn("mine();", (self.tree / "hw/intc/xive.c").read_text())
        self.good("scripts/patches", "apply", "--force")
        text = (self.tree / "hw/intc/xive.c").read_text()
        self.assertIn("other();", text)
        self.assertNotIn("mine();", text)

    def test_offset_but_no_fuzz(self):
        patch = self.hook()
        text = patch.read_text()
        # Another point release: the same lines two lines further up.
        patch.write_text(text.replace("-10,2 +10,3", "-12,2 +12,3"))
        self.assertIn("1 apply with an offset",
                      self.good("scripts/patches", "check", "qemu"))
        patch.write_text(text.replace(" line 11\n", " line eleven\n"))
        self.assertIn("does not apply",
                      self.bad("scripts/patches", "check", "qemu"))

    def test_one_patch_a_file(self):
        self.hook()
        self.edit("hw/intc/xive.c", "line 20\n", "line 20\nmore();\n")
        self.assertIn("belongs to hook.patch", self.bad(
            "scripts/patches", "import", "second", "hw/intc/xive.c"))

    def test_import_refuses(self):
        self.sources()
        self.assertIn("has no edits", self.bad(
            "scripts/patches", "import", "x", "hw/ppc/pnv.c"))
        self.assertIn("goes into the checkout as overlay", self.bad(
            "scripts/patches", "import", "x", "hw/ppc/new.c"))
        self.assertIn("no name for a patch", self.bad(
            "scripts/patches", "new", "..."))

    def test_header_is_asked_for(self):
        patch = self.hook()
        text = patch.read_text()
        patch.write_text(text[text.index("--- a/"):])
        self.assertIn("no header",
                      self.bad("scripts/patches", "check", "qemu"))
        self.good("scripts/patches", "new", "more")
        self.assertIn("still the template", self.bad(
            "scripts/patches", "check", "qemu", lines=2))

    def test_stray_patch(self):
        self.hook()
        write(self.root / "patches/qemu/left.patch", HEADER)
        self.assertIn("left.patch is not in the series",
                      self.bad("scripts/patches", "check", "qemu"))

    def test_linux_variants(self):
        linux = self.dir / "linux"
        write(linux / "Makefile", "VERSION = 6\nPATCHLEVEL = 1\n"
              "SUBLEVEL = 9\n")
        write(linux / "irq.c", "".join(f"l{n}\n" for n in range(20)))
        body = "--- a/irq.c\n+++ b/irq.c\n@@ -%d,3 +%d,3 @@\n l%d\n-%s\n+%s\n l%d\n"
        base = self.root / "patches/linux"
        write(base / "0001-a.patch", HEADER + body % (5, 5, 4, "l5", "A", 6))
        write(base / "0002-b.patch", HEADER + body % (9, 9, 8, "l9", "B", 10))
        write(base / "0003-c.patch", HEADER + body % (9, 9, 8, "B", "C", 10))
        write(base / "series", "0001-a.patch\n0002-b.patch\n0003-c.patch\n")
        write(self.root / "guest/variants", "all: 0001 0002 0003\n")
        self.configure(f"--linux-src={linux}")
        self.good("scripts/sources", "linux")
        self.good("scripts/patches", "refresh", "linux")
        self.good("scripts/patches", "check", "linux")
        write(self.root / "guest/variants", "some: 0001 0003\n")
        self.assertIn("variant some: patches/linux/0003-c.patch does not",
                      self.bad("scripts/patches", "check", "linux"))
        self.assertNotIn("A", (linux / "irq.c").read_text())


class Overlay(Tree):
    def test_links(self):
        self.sources()
        write(self.root / "hw/intc/contention/model.c", "int model;\n")
        write(self.root / "hw/intc/contention/model.c~", "old\n")
        write(self.root / "tests/unit/test-contention-x.c", "alone\n")
        write(self.root / "tests/qtest/xivescale-test.c", "test\n")
        self.assertIn("2 links made, 0 removed",
                      self.good("scripts/overlay"))
        link = self.tree / "hw/intc/contention/model.c"
        self.assertFalse(os.path.isabs(os.readlink(link)))
        self.assertEqual(link.read_text(), "int model;\n")
        self.assertEqual(self.good("scripts/overlay"), "")
        self.good("scripts/patches", "status", "qemu")

    def test_stale_link(self):
        self.sources()
        write(self.root / "hw/intc/contention/model.c", "int model;\n")
        self.good("scripts/overlay")
        os.remove(self.root / "hw/intc/contention/model.c")
        self.assertIn("0 links made, 1 removed",
                      self.good("scripts/overlay"))
        self.assertFalse((self.tree / "hw/intc/contention").exists())
        self.assertTrue((self.tree / "hw/intc/xive.c").exists())

    def test_moved_checkout(self):
        self.sources()
        write(self.root / "hw/intc/model.c", "int model;\n")
        self.good("scripts/overlay")
        self.root.rename(self.dir / "moved")
        self.root = self.dir / "moved"
        self.assertEqual(self.good("scripts/overlay"), "")
        self.assertEqual((self.root / "build/src/qemu/hw/intc/model.c")
                         .read_text(), "int model;\n")

    def test_directory_linked_by_hand(self):
        self.sources()
        model = self.root / "hw/intc/contention/model.c"
        write(model, "int model;\n")
        (self.tree / "hw/intc/contention").symlink_to(model.parent)
        self.good("scripts/overlay")
        self.assertFalse(model.is_symlink())
        self.assertFalse((self.tree / "hw/intc/contention").is_symlink())
        self.assertTrue((self.tree / "hw/intc/contention/model.c")
                        .is_symlink())

    def test_hides_a_file_of_qemu(self):
        self.sources()
        write(self.root / "hw/intc/xive.c", "mine\n")
        self.assertIn("exists in QEMU itself", self.bad("scripts/overlay"))


if __name__ == "__main__":
    unittest.main()
