# SPDX-License-Identifier: GPL-2.0-or-later
"""The system's apt sources in both formats, and what is made of them.

Packages and kernel by programs that stand in for apt: with an archive, without
one, and with a package at hand.
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from buildtree import BuildTest, write
from xivescale import debian

DEB822 = """\
# A comment
Types: deb
# http://other.test/debian
URIs: http://mirror.test/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.test/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Enabled: no
Types: deb
URIs: http://disabled.test/debian
Suites: trixie
Components: main
"""

THIRD = """\
Types: deb
URIs: http://aaa-vendor.test/apt
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/vendor.gpg

Types: deb
URIs: http://vendor.test/node
Suites: nodistro
Components: main
"""

DEPENDS = """\
linux-image-powerpc64le
  Depends: linux-image-6.1.0-50-powerpc64le
  Depends: <linux-initramfs-tool>
 |Recommends: firmware
  Depends: kmod
"""

ONE_LINE = """\
# deb http://commented.test/debian trixie main
deb [arch=amd64 signed-by=/k.gpg] http://mirror.test/debian/ trixie main contrib
deb-src http://mirror.test/debian/ trixie main # source
deb http://security.test/debian-security trixie-security main
deb cdrom:[Debian]/ trixie main
deb http://flat.test/ ./
"""


class Parse(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="xs-apt-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.etc = self.root / "etc/apt"
        (self.etc / "sources.list.d").mkdir(parents=True)

    def mains(self):
        return debian.archives(debian.read_sources(self.root))

    def security(self):
        return debian.archives(debian.read_sources(self.root), True)

    def test_deb822(self):
        write(self.etc / "sources.list.d/debian.sources", DEB822)
        write(self.etc / "sources.list.d/a.sources", THIRD)
        self.assertEqual([entry.uri for entry in self.mains()],
                         ["http://mirror.test/debian",
                          "http://aaa-vendor.test/apt"])
        self.assertEqual([entry.uri for entry in self.security()],
                         ["http://mirror.test/debian-security"])
        line = debian.source_line("deb-src", self.mains()[0], "trixie",
                                  self.root / "key", self.root)
        self.assertEqual(
            line, "deb-src [signed-by=/usr/share/keyrings/"
            "debian-archive-keyring.gpg] http://mirror.test/debian "
            "trixie main")

    def test_one_line(self):
        write(self.etc / "sources.list", ONE_LINE)
        self.assertEqual([entry.uri for entry in self.mains()],
                         ["http://mirror.test/debian/",
                          "http://mirror.test/debian/"])
        self.assertEqual([entry.uri for entry in self.security()],
                         ["http://security.test/debian-security"])
        line = debian.source_line("deb", self.mains()[0], "bookworm",
                                  self.root / "key", self.root)
        self.assertEqual(line, "deb [signed-by=/k.gpg] "
                         "http://mirror.test/debian/ bookworm main")

    def test_default_keyring(self):
        write(self.etc / "sources.list", "deb http://m.test/debian trixie "
              "main\n")
        keyring = "usr/share/keyrings/debian-archive-keyring.gpg"
        write(self.root / keyring, "")
        self.assertIn(f"[signed-by=/{keyring}]", debian.source_line(
            "deb", self.mains()[0], "trixie", self.root / "k", self.root))

    def test_key_in_the_file(self):
        text = DEB822.split("\n\n", maxsplit=1)[0]
        text = text.replace(" /usr/share/keyrings/debian-archive-keyring.gpg",
                            "\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n"
                            " abc\n -----END PGP PUBLIC KEY BLOCK-----")
        write(self.etc / "sources.list.d/debian.sources", text + "\n")
        key = self.root / "key.asc"
        self.assertIn(f"[signed-by={key}]", debian.source_line(
            "deb", self.mains()[0], "trixie", key, self.root))
        self.assertEqual(key.read_text(),
                         "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nabc\n"
                         "-----END PGP PUBLIC KEY BLOCK-----\n")

    def test_disabled_files(self):
        write(self.etc / "sources.list.d/debian.sources.disabled", DEB822)
        self.assertEqual(self.mains(), [])

    def test_newest_version(self):
        versions = ["1:10.0.9+ds-1", "1:10.0.13+ds-0+deb13u1",
                    "1:10.0.13+ds-0+deb13u1~bpo12+1", "1:10.1.0-1"]
        self.assertEqual(
            debian.PrivateApt._sorted(versions, r"1:10\.0\.\d+\b"),
            [versions[1], versions[2], versions[0]])


    def test_depends(self):
        """As apt-cache tells it; virtual packages are none."""
        apt = debian.PrivateApt(self.root / "apt")
        apt.apt = lambda *command: (0, DEPENDS if command == (
            "apt-cache", "depends", "linux-image-powerpc64le") else "")
        self.assertEqual(apt.depends("linux-image-powerpc64le"),
                         ["linux-image-6.1.0-50-powerpc64le", "kmod"])
        self.assertEqual(apt.depends("linux-image"), [])


class FakeApt(BuildTest):
    """Programs that stand in for those of the system."""

    def fake(self, name, text):
        path = self.dir / "bin" / name
        write(path, "#!/bin/sh\n" + text)
        path.chmod(0o755)
        return {"PATH": f"{path.parent}:{os.environ['PATH']}"}


class NoArchive(FakeApt):
    """The messages of a host without network, by an apt that fails."""

    def test_no_network(self):
        self.configure()
        env = self.fake("apt-get", "echo 'E: Could not resolve host'\n"
                        "exit 100\n")
        said = self.bad("scripts/sources", "busybox", env=env)
        if "no Debian archive" not in said:
            self.assertIn("Could not resolve host", said)
            self.assertIn("look at the network", said)

    def test_packages_without_root(self):
        env = self.fake("id", "echo 1000\n")
        self.fake("sudo", "exit 1\n")
        self.fake("dpkg-query", "echo 'installed gcc c-compiler'\n")
        done = self.run_script("scripts/packages", "unit", env=env)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\napt-get update && apt-get install "
                         r"--no-install-recommends .*meson")
        self.assertNotIn(" gcc ", done.stderr)

    def test_packages_as_root(self):
        env = self.fake("id", "echo 0\n")
        self.fake("dpkg-query", "echo 'installed gcc c-compiler'\n")
        self.fake("apt-get", f"echo \"$@\" >>{self.dir}/log\n"
                  f"test -e {self.dir}/index || "
                  f"{{ case \"$*\" in *update*) touch {self.dir}/index; "
                  "exit 0; esac; exit 100; }\n")
        self.good("scripts/packages", "unit", env=env)
        log = (self.dir / "log").read_text().splitlines()
        self.assertEqual(len(log), 3)
        self.assertIn("install --no-install-recommends", log[2])

    def test_packages_there(self):
        names = self.good("scripts/packages", "--list", "all").split()
        env = self.fake("dpkg-query", "".join(
            f"echo 'installed {name} '\n" for name in names))
        self.assertEqual(self.good("scripts/packages", "all", env=env), "")

    def test_packages_bad_job(self):
        self.assertIn("unknown job 'qemuu'",
                      self.bad("scripts/packages", "qemuu"))


class Kernel(FakeApt):
    """scripts/debian-kernel, with small packages that hold a kernel."""

    NAME = "linux-image-6.1.0-9-powerpc64le"

    def setUp(self):
        super().setUp()
        self.dl = self.build / "dl"
        self.where = self.build / "debian-kernel"

    def package(self, where, name=NAME, holds="boot/vmlinux-6.1.0-9"):
        tree = self.dir / "package"
        shutil.rmtree(tree, ignore_errors=True)
        write(tree / "DEBIAN/control", f"Package: {name}\nVersion: 6.1.9-1\n"
              "Architecture: ppc64el\nMaintainer: nobody <n@example.org>\n"
              "Description: test\n")
        write(tree / holds, name)
        where.mkdir(parents=True, exist_ok=True)
        deb = where / f"{name}_6.1.9-1_ppc64el.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree,
                        deb], check=True, stdout=subprocess.DEVNULL)
        return deb

    def run_it(self, env=None):
        """The kernel of a run that must go well, and what it said."""
        done = self.run_script("scripts/debian-kernel", env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        path, = done.stdout.splitlines()
        # Nothing else is left there.
        self.assertEqual([str(one) for one in self.where.iterdir()], [path])
        return Path(path), done.stderr

    def no_apt(self):
        return self.fake("apt-get", f"touch {self.dir}/called\nexit 100\n")

    def test_given_package(self):
        env = self.no_apt()
        self.package(self.dl)
        self.package(self.dl, self.NAME.replace("-9-", "-50-"),
                     "boot/vmlinux-6.1.0-50")
        kernel, said = self.run_it(env)
        self.assertEqual(kernel, self.where / "vmlinux-6.1.0-50")
        self.assertEqual(kernel.read_text(), self.NAME.replace("-9-", "-50-"))
        self.assertEqual(said, "")
        # The second time it is there, whatever lies in build/dl.
        shutil.rmtree(self.dl)
        self.assertEqual(self.run_it(env)[0], kernel)
        self.assertFalse((self.dir / "called").exists())

    def test_bad_packages(self):
        deb = self.package(self.dl, holds="usr/nothing")
        said = self.bad("scripts/debian-kernel", env=self.no_apt())
        self.assertIn(f"{deb} holds no boot/vmlinux-*", said)
        deb.write_bytes(deb.read_bytes()[:200])
        # The first line is dpkg-deb's.
        said = self.bad("scripts/debian-kernel", env=self.no_apt(), lines=2)
        self.assertIn(f"{deb} could not be extracted", said)
        self.assertEqual(list(self.where.iterdir()), [])

    def test_no_network(self):
        env = self.fake("apt-get", "echo 'E: Could not resolve host'\n"
                        "exit 100\n")
        said = self.bad("scripts/debian-kernel", env=env)
        if "no Debian archive" not in said:
            self.assertIn("Could not resolve host", said)
        self.assertIn(f"put the package linux-image-*-powerpc64le_*_ppc64el"
                      f".deb into {self.dl}", said)
        self.assertNotIn("--qemu-src", said)

    def archive(self, depends):
        """An archive that has this kernel, if any, and nothing else."""
        deb = self.package(self.dir / "archive")
        self.fake("apt-cache", 'case "$*" in\n'
                  f"'depends linux-image-powerpc64le') echo '{depends}';;\n"
                  f"'show {self.NAME}') echo 'Version: 6.1.9-1';;\n"
                  "*) exit 100;;\nesac\n")
        return self.fake(
            "apt-get", 'case "$*" in\n'
            "'update -q') echo 'Origin: Debian' "
            '>"${APT_CONFIG%apt.conf}state/lists/x_Release";;\n'
            f"'download -q {self.NAME}=6.1.9-1') cp {deb} .;;\n"
            "*) exit 100;;\nesac\n")

    def test_archive(self):
        env = self.archive(f"  Depends: {self.NAME}")
        if not debian.archives(debian.read_sources()):
            self.assertIn("no Debian archive",
                          self.bad("scripts/debian-kernel", env=env))
            return
        kernel, said = self.run_it(env)
        self.assertEqual(kernel.read_text(), self.NAME)
        self.assertIn(f"fetching the package {self.NAME} 6.1.9-1", said)
        sources = (self.build / "apt/sources.list").read_text()
        self.assertRegex(sources, r"(?m)^deb .* bookworm main$")
        self.assertFalse(list(self.dl.glob("*.deb")))

    def test_archive_without(self):
        for depends in ("", "  Depends: linux-image-6.1.0-8-powerpc64le"):
            said = self.bad("scripts/debian-kernel",
                            env=self.archive(depends))
            name = depends.split()[-1] if depends else \
                "linux-image-powerpc64le"
            if "no Debian archive" not in said:
                self.assertIn(f"has no {name} for ppc64el in bookworm or "
                              "bookworm-security", said)
            self.assertIn("put the package", said)

    def test_bad_option(self):
        done = self.run_script("scripts/debian-kernel", "--update")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unrecognized arguments: --update", done.stderr)


if __name__ == "__main__":
    unittest.main()
