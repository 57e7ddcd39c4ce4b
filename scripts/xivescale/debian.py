# SPDX-License-Identifier: GPL-2.0-or-later
"""A private apt that uses the system's mirror and changes nothing on it."""

import functools
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from .errors import UserError
from .files import write_atomic
from .superbuild import say

# Where a release is called by its number's name or by its age.
SUITES = ("bookworm", "trixie", "stable", "oldstable", "testing", "sid",
          "unstable", "forky")
# What may be taken over from an entry. The architecture is our own choice.
OPTIONS = ("signed-by", "check-valid-until", "check-date", "trusted",
           "by-hash", "inrelease-path")
KEYRINGS = ("usr/share/keyrings/debian-archive-keyring.pgp",
            "usr/share/keyrings/debian-archive-keyring.gpg")
# What to do without an archive, as the end of a message.
OTHERWISE = "give the sources with ./configure --qemu-src= and --linux-src="


@dataclass
class Entry:
    """One archive of the system's apt sources."""
    uri: str
    suites: list
    components: list
    options: dict = field(default_factory=dict)
    path: str = ""


def parse_list(text, path=""):
    """Entries of a one-line-style .list file."""
    entries = []
    for line in text.splitlines():
        match = re.match(r"\s*deb(?:-src)?\s+(?:\[([^]]*)\]\s*)?(\S.*)",
                         line.split("#", 1)[0])
        if not match:
            continue
        options = dict(word.split("=", 1)
                       for word in (match[1] or "").split() if "=" in word)
        words = match[2].split()
        if len(words) < 2:
            continue
        entries.append(Entry(words[0], [words[1]], words[2:],
                             {key.lower(): value
                              for key, value in options.items()}, path))
    return entries


def parse_deb822(text, path=""):
    """Entries of a deb822-style .sources file."""
    entries = []
    for stanza in re.split(r"\n[ \t]*\n", text):
        fields, last = {}, None
        for line in stanza.splitlines():
            if line.startswith("#"):
                continue
            if line[:1] in (" ", "\t"):
                if last:
                    fields[last] += "\n" + line.strip()
            elif ":" in line:
                last, value = line.split(":", 1)
                last = last.strip().lower()
                fields[last] = value.strip()
        if fields.get("enabled", "yes").lower() in ("no", "false", "0"):
            continue
        if "deb" not in re.split(r"[\s-]", fields.get("types", "")):
            continue
        options = {key: value for key, value in fields.items()
                   if key in OPTIONS}
        for uri in fields.get("uris", "").split():
            entries.append(Entry(uri, fields.get("suites", "").split(),
                                 fields.get("components", "").split(),
                                 options, path))
    return entries


def read_sources(root="/"):
    """All entries of the system's apt sources, in both formats."""
    etc = Path(root) / "etc/apt"
    entries = []
    for path in ([etc / "sources.list"]
                 + sorted((etc / "sources.list.d").glob("*"))):
        parse = {".list": parse_list,
                 ".sources": parse_deb822}.get(path.suffix)
        if not parse or not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except PermissionError:
            continue
        entries += parse(text, str(path))
    return entries


def archives(entries, security=False):
    """Entries that may serve Debian's releases, the likeliest first.

    A third party can name its suites and components as Debian does, so
    the caller asks each archive for its origin and goes on to the next.
    """
    found = {}
    for entry in entries:
        suites = {suite.rstrip("/") for suite in entry.suites}
        wanted = [suite + "-security" if security else suite
                  for suite in SUITES]
        if security:
            wanted += [suite + "/updates" for suite in SUITES]
        if "main" not in entry.components or not suites & set(wanted):
            continue
        if entry.uri.startswith(("cdrom:", "file:/cdrom")):
            continue
        keyring = entry.options.get("signed-by", "")
        rank = (("debian-archive" not in keyring) * 2
                + (not re.search(r"/debian(-security)?/*$", entry.uri)))
        found.setdefault((entry.uri.rstrip("/"), keyring), (rank, entry))
    return [entry for _, entry in sorted(found.values(),
                                         key=lambda item: item[0])]


def source_line(kind, entry, suite, keyfile, root="/"):
    """A line of a private sources.list for a suite of this archive."""
    options = {key: value for key, value in entry.options.items()
               if key in OPTIONS}
    key = options.get("signed-by", "")
    if "BEGIN PGP" in key:
        # The key itself stands in the .sources file, dots for empty lines.
        lines = ["" if line == "." else line for line in key.splitlines()]
        write_atomic(keyfile, "\n".join(lines).strip() + "\n")
        options["signed-by"] = str(keyfile)
    elif not key:
        for keyring in KEYRINGS:
            if (Path(root) / keyring).exists():
                options["signed-by"] = "/" + keyring
                break
    else:
        options["signed-by"] = ",".join(key.split())
    text = " ".join(f"{name}={value}" for name, value in options.items())
    return f"{kind} {'[' + text + '] ' if text else ''}{entry.uri} " \
           f"{suite} main"


class PrivateApt:
    """An apt with its own lists, cache and sources.

    Its architecture is ppc64el, that of the guests: what we take in binary
    form is either for it or for all, and one index has both.
    """

    def __init__(self, directory, root="/"):
        self.directory = Path(directory)
        self.root = root
        self.conf = self.directory / "apt.conf"

    def write_conf(self):
        """Leave the system's hooks out, take its way to the network."""
        base = self.directory
        for name in ("state/lists/partial", "cache/archives/partial",
                     "parts"):
            (base / name).mkdir(parents=True, exist_ok=True)
        write_atomic(base / "status", "")
        done = subprocess.run(["apt-config", "dump", "Acquire"],
                              capture_output=True, check=False,
                              encoding="utf-8", errors="replace")
        lines = re.findall(r"^Acquire::\S+ .*;$", done.stdout, re.M)
        kept = [line for line in lines
                if re.match(r"Acquire::(https?|ftp|tor|socks|Retries|Check-|"
                            r"ForceIPv|Queue-Mode|Max-)", line, re.I)
                and not line.split()[0].endswith("::")]
        own = {
            "Dir::State": base / "state",
            "Dir::State::status": base / "status",
            "Dir::Cache": base / "cache",
            "Dir::Etc::main": base / "none",
            "Dir::Etc::parts": base / "parts",
            "Dir::Etc::sourcelist": base / "sources.list",
            "Dir::Etc::sourceparts": "-",
            "Dir::Etc::preferences": base / "none",
            "Dir::Etc::preferencesparts": base / "parts",
            "APT::Architecture": "ppc64el",
            "APT::Architectures": "ppc64el",
            "APT::Get::AllowUnauthenticated": "false",
            "Acquire::AllowInsecureRepositories": "false",
            "Acquire::Languages": "none",
            # The user _apt cannot write in a checkout under a private home.
            "APT::Sandbox::User": "root",
        }
        kept += [f'{key} "{value}";' for key, value in own.items()]
        write_atomic(self.conf, "\n".join(kept) + "\n")

    def apt(self, *command, cwd=None):
        """Run an apt command; returns status and all that it said."""
        env = dict(os.environ, APT_CONFIG=str(self.conf), LC_ALL="C.UTF-8")
        done = subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False,
                              encoding="utf-8", errors="replace", env=env,
                              cwd=cwd, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout

    def origins(self):
        """What the fetched archives say they are."""
        texts = [path.read_text(encoding="utf-8", errors="replace")[:4000]
                 for path in self.directory.glob("state/lists/*Release")]
        return {match[1].strip() for text in texts
                for match in [re.search(r"^Origin:(.*)$", text, re.M)]
                if match}

    def update(self, wanted, otherwise=OTHERWISE):
        """Fetch the index of (kind, suite) pairs; optional suites may fail.

        A suite of the security archive that the system does not use is
        left out: the main archive alone will do.  otherwise is the remedy
        that a message names.
        """
        entries = read_sources(self.root)
        mains = archives(entries)
        security = archives(entries, security=True)
        if not mains:
            raise UserError("no Debian archive in the system's apt sources "
                            f"(/etc/apt): {otherwise}")
        self.write_conf()
        said = ""
        for number, main in enumerate(mains):
            lines = []
            for kind, suite in wanted:
                if suite.endswith("-security"):
                    chosen = security[:1]
                else:
                    chosen = [main]
                for entry in chosen:
                    lines.append(source_line(
                        kind, entry, suite,
                        self.directory / f"key{number}.asc", self.root))
            write_atomic(self.directory / "sources.list",
                         "".join(line + "\n" for line in lines))
            say(f"fetching the package index from the archive named in "
                f"{main.path}")
            status, said = self.apt("apt-get", "update", "-q")
            origins = self.origins()
            if origins and all(name.split()[0] == "Debian"
                               for name in origins):
                # A suite that this mirror lacks is missed when it is
                # needed; then the package is named, which says more.
                return said if status else ""
        raise UserError(
            "the Debian archive cannot be reached: "
            + self.reason(said) + "; look at the network and the proxy, or "
            + otherwise)

    @staticmethod
    def reason(said):
        """The line of apt's words that says most."""
        lines = [line.strip() for line in said.splitlines()]
        for pattern in (r"[EW]: Failed to fetch", r"E:", r"Err:"):
            for line in lines:
                if re.match(pattern, line):
                    return line
        return "apt says nothing about why"

    def source_versions(self, package, pattern):
        """Versions of a source package that match, newest first."""
        _, said = self.apt("apt-cache", "showsrc", "--only-source", package)
        return self._sorted(re.findall(r"^Version: (\S+)$", said, re.M),
                            pattern)

    def binary_versions(self, package, pattern):
        """Versions of a binary package that match, newest first."""
        _, said = self.apt("apt-cache", "show", package)
        return self._sorted(re.findall(r"^Version: (\S+)$", said, re.M),
                            pattern)

    def depends(self, package):
        """Packages that the newest of a binary package depends on."""
        _, said = self.apt("apt-cache", "depends", package)
        return re.findall(r"^ +Depends: ([^\s<>]+)$", said, re.M)

    @staticmethod
    def _sorted(versions, pattern):
        def older(one, other):
            return -1 if subprocess.run(
                ["dpkg", "--compare-versions", one, "lt", other],
                check=False).returncode == 0 else 1
        found = [version for version in dict.fromkeys(versions)
                 if re.match(pattern, version)]
        return sorted(found, key=functools.cmp_to_key(older), reverse=True)

    def get_source(self, package, version, where):
        """Download a source package, verified by apt; returns its .dsc."""
        where.mkdir(parents=True, exist_ok=True)
        status, said = self.apt("apt-get", "source", "-q", "--download-only",
                                "--only-source", f"{package}={version}",
                                cwd=where)
        if status:
            raise UserError(f"the source package {package} {version} could "
                            f"not be fetched: {self.reason(said)}")
        plain = version.split(":", 1)[-1]
        return where / f"{package}_{plain}.dsc"

    def get_binary(self, package, version, where):
        """Download a binary package, verified by apt; returns its .deb."""
        where.mkdir(parents=True, exist_ok=True)
        status, said = self.apt("apt-get", "download", "-q",
                                f"{package}={version}", cwd=where)
        found = sorted(where.glob(
            f"{package}_{version.replace(':', '%3a')}_*.deb"))
        if status or not found:
            raise UserError(f"the package {package} {version} could not be "
                            f"fetched: {self.reason(said)}")
        return found[0]
