# SPDX-License-Identifier: GPL-2.0-or-later
"""xs-names on small ELF files, compiled here with debug information.

- static variables, their members through arrays, unions and bit fields
- the type that an instruction accesses: by the variable in its register, by
  what the register was made from, by a pointer loaded before
- what cannot be known is not in the answer
- inline functions, file and line; a kernel that was moved
- files that are none, another build's debug information, bad requests
Expected offsets are worked out from the C below.
"""

import json
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMES = ROOT / "build/unit/xs-names"
CROSS = "powerpc64le-linux-gnu-"

# inner has 12 bytes, so that in[1] is at 8 + 12 and next at 8 + 3 * 12 + 4.
SOURCE = """\
struct inner { int a; union { int u1; short u2; }; unsigned b1 : 3, b2 : 5; };
struct outer { long head; struct inner in[3]; struct outer *next; };
struct outer table[2] = { { .head = 1 } };
char banner[] = "not zero";
static inline int twice(struct outer *o)
{
	return *(volatile int *)&o->in[1].a * 2;
}
int member(struct outer *o) { return twice(o); }
long chase(struct outer *o) { return o->next->head; }
long moved(char *bytes) { struct outer *o = (void *)(bytes + 16);
	__asm__ volatile("" : : "r"(o)); return o->in[2].u1; }
long index_unknown(long *p, long i) { return p[i]; }
long nothing(void *p) { return *(long *)p; }
void _start(void) { }
"""


def run(*argv, **options):
    return subprocess.run([str(word) for word in argv], text=True,
                          capture_output=True, check=False, **options)


def build(where, name, source, *flags):
    path = Path(where) / name
    (Path(where) / "source.c").write_text(source)
    done = run(CROSS + "gcc", "-O2", "-g", "-ffreestanding", "-nostdlib",
               "-static", "-fno-pic", "-mno-vsx", "-mcpu=power8",
               "-Wl,-Ttext=0xc000000000010000", "-Wl,--build-id=sha1",
               *flags, "-o", path, "source.c", cwd=where)
    if done.returncode:
        raise AssertionError(done.stderr)
    return path


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not NAMES.exists():
            raise AssertionError(f"{NAMES} is missing: run make unit")
        cls.dir = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.dir.cleanup)
        cls.path = build(cls.dir.name, "vmlinux", SOURCE)
        cls.symbols = {
            name: int(addr, 16) for addr, _, name in
            (line.split() for line in
             run(CROSS + "nm", cls.path).stdout.splitlines())}
        cls.code = run(CROSS + "objdump", "-d", "--no-show-raw-insn",
                       cls.path).stdout

    def ask(self, *requests, options=()):
        done = run(NAMES, "--kernel", self.path, *options,
                   input="".join(f"{line}\n" for line in requests))
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(answers), len(requests))
        return answers if len(answers) > 1 else answers[0]

    def loads(self, function):
        """Addresses of the loads of a function that use no stack or TOC."""
        body = re.search(rf"^[0-9a-f]+ <{function}>:\n(.*?)\n\n",
                         self.code + "\n\n", re.M | re.S)[1]
        return [int(match[1], 16) for match in re.finditer(
            r"^ *([0-9a-f]+):\s+l(?:wz|wa|d|ha|hz)x?\s+"
            r"r\d+,(?!.*\((?:r1|r2)\))", body, re.M)]

    def test_members_of_a_variable(self):
        table = self.symbols["table"]
        # (offset, bytes, what is there); an outer has 8 + 36 + 4 + 8 bytes.
        for offset, size, field in (
                (0, 8, "[0].head"), (8, 4, "[0].in[0].a"),
                (20, 4, "[0].in[1].a"), (24, 4, "[0].in[1].{u1|u2}"),
                (28, 4, "[0].in[1].{b1|b2}"), (48, 8, "[0].next"),
                (56, 8, "[1].head")):
            answer = self.ask(f"data {table + offset:x} {size:x}")
            self.assertEqual(answer["kind"], "static")
            self.assertEqual(answer["symbol"], "table")
            self.assertEqual(answer["symbol_offset"], offset)
            self.assertEqual(answer["field"], field)

    def test_outside_of_all(self):
        self.assertEqual(self.ask("data c0000000dead0000"),
                         {"kind": "unknown"})
        self.assertEqual(self.ask("code c0000000dead0000"), {})
        self.assertEqual(self.ask("access c0000000dead0000 c000000000000000"),
                         {})

    def test_variable_in_the_register(self):
        pc, = self.loads("member")
        answer = self.ask(f"access {pc:x} c000000001000014")
        self.assertEqual((answer["type"], answer["field"],
                          answer["type_offset"]),
                         ("struct outer", "in[1].a", 20))
        self.assertEqual(answer["type_size"], 56)

    def test_pointer_loaded_before(self):
        first, second = self.loads("chase")
        self.assertEqual(self.ask(f"access {first:x} c000000001000030")
                         ["field"], "next")
        answer = self.ask(f"access {second:x} c000000001000000")
        self.assertEqual((answer["type"], answer["field"]),
                         ("struct outer", "head"))
        self.assertEqual(answer["field_type"], "long int")

    def test_register_made_from_another(self):
        pc, = self.loads("moved")
        answer = self.ask(f"access {pc:x} c000000001000030")
        self.assertEqual((answer["type"], answer["field"]),
                         ("struct outer", "in[2].{u1|u2}"))

    def test_not_known(self):
        for function in ("index_unknown", "nothing"):
            pc, = self.loads(function)
            self.assertEqual(self.ask(f"access {pc:x} c000000001000000"), {})

    def test_inline_functions(self):
        pc, = self.loads("member")
        answer = self.ask(f"code {pc:x}")
        self.assertEqual([item["name"] for item in answer["functions"]],
                         ["twice", "member"])
        self.assertEqual(answer["functions"][0]["called_at"], 9)
        self.assertEqual(answer["line"], 7)
        self.assertTrue(answer["file"].endswith("source.c"))
        self.assertEqual(answer["symbol"], "member")
        self.assertIn(answer["instruction"], ("lwz", "lwa"))

    def test_moved_kernel(self):
        # 1 MiB above its link address, as told.
        slide = 1 << 20
        pc, = self.loads("member")
        data, code = self.ask(f"data {self.symbols['table'] + slide:x} 8",
                              f"code {pc + slide:x}",
                              options=("--slide", hex(slide)))
        self.assertEqual(data["field"], "[0].head")
        self.assertEqual(code["symbol"], "member")

    def test_debug_information_beside_it(self):
        with tempfile.TemporaryDirectory() as where:
            stripped = Path(where) / "vmlinux"
            done = run(CROSS + "objcopy", "--strip-debug", self.path,
                       stripped)
            self.assertEqual(done.returncode, 0, done.stderr)
            pc, = self.loads("member")
            request = f"code {pc:x}\n"
            without = run(NAMES, "--kernel", stripped, input=request)
            self.assertNotIn("line", json.loads(without.stdout))
            self.assertIn("no debug information", without.stderr)
            debug = Path(f"{stripped}.debug")
            debug.write_bytes(self.path.read_bytes())
            with_it = run(NAMES, "--kernel", stripped, input=request)
            self.assertEqual(json.loads(with_it.stdout)["line"], 7)
            # Of another build it would tell lies.
            other = build(where, "other", SOURCE + "int one_more;\n")
            debug.write_bytes(other.read_bytes())
            lies = run(NAMES, "--kernel", stripped, input=request)
            self.assertNotIn("line", json.loads(lies.stdout))
            self.assertIn("not of the same build", lies.stderr)


class Mistakes(unittest.TestCase):
    def fails(self, words, *argv, said=""):
        done = run(NAMES, *argv, input=said)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_no_kernel(self):
        self.fails(["--kernel"])
        self.fails(["/nowhere/vmlinux", "cannot be read"],
                   "--kernel", "/nowhere/vmlinux")

    def test_no_elf(self):
        self.fails([__file__], "--kernel", __file__)

    def test_elf_of_another_machine(self):
        self.fails([str(NAMES), "ppc64"], "--kernel", NAMES)

    def test_bad_memory_image(self):
        with tempfile.TemporaryDirectory() as where:
            kernel = build(where, "vmlinux", SOURCE)
            self.fails(["no image of a guest's memory"], "--kernel", kernel,
                       "--memory", __file__)

    def test_bad_requests(self):
        with tempfile.TemporaryDirectory() as where:
            kernel = build(where, "vmlinux", SOURCE)
            for line in ("code", "code xyz", "what 10", "access 10",
                         "data 10 20 30"):
                self.fails([f"'{line}'", "known:"], "--kernel", kernel,
                           said=line + "\n")


if __name__ == "__main__":
    unittest.main()
