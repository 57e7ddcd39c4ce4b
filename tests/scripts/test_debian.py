# SPDX-License-Identifier: GPL-2.0-or-later
"""The system's apt sources in both formats, and what is made of them."""

import os
import shutil
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


class NoArchive(BuildTest):
    """The messages of a host without network, by an apt that fails."""

    def fake(self, name, text):
        path = self.dir / "bin" / name
        write(path, "#!/bin/sh\n" + text)
        path.chmod(0o755)
        return {"PATH": f"{path.parent}:{os.environ['PATH']}"}

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


if __name__ == "__main__":
    unittest.main()
