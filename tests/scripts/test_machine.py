# SPDX-License-Identifier: GPL-2.0-or-later
"""Machine files: the shipped ones are valid, bad ones are refused by name."""

import json
import re

import support
from support import MACHINE, ROOT, ScriptTest
from xivescale import machine, qemu, refdata
from xivescale.errors import UserError


class MachineTest(ScriptTest):
    def bad(self, change, *reasons):
        with self.assertRaises(UserError) as caught:
            machine.Machine(self.machine_file(change))
        text = str(caught.exception)
        self.assertNotIn("\n", text)
        for reason in reasons:
            self.assertIn(reason, text)

    def bad_text(self, text, reason):
        path = self.dir / "machine.json"
        path.write_bytes(text)
        with self.assertRaises(UserError) as caught:
            machine.Machine(path)
        self.assertIn(reason, str(caught.exception))
        self.assertIn("machine.json", str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def test_shipped_files(self):
        for path in (ROOT / "machines").glob("*.json"):
            with self.subTest(path.name):
                model = machine.Machine(path)
                self.assertEqual(model.name, path.stem)
                if model.reference is None:
                    self.assertEqual(model.fitted(), [])
                    continue
                reference = refdata.Reference(model.reference)
                for kernel in model.kernels:
                    if "column" in kernel:
                        self.assertIn(kernel["column"], reference.columns)
                fitted = model.fitted()
                # What each table may be fitted to is agreed on.
                self.assertLessEqual(len(fitted),
                                     8 if "p10" in model.reference else 6)
                for item in fitted:
                    self.assertIsNotNone(reference.value(item["column"],
                                                         item["cpus"]))

    def test_found_by_name(self):
        self.assertEqual(machine.Machine("power9-2s").path, MACHINE)
        with self.assertRaisesRegex(UserError, "no such machine file"):
            machine.Machine("power99")

    def derived(self, change):
        """A machine file beside a copy of the shipped one, its base."""
        (self.dir / "parent.json").write_text(MACHINE.read_text())
        data = {"name": "child", "description": "derived", "base": "parent"}
        change(data)
        path = self.dir / "child.json"
        path.write_text(json.dumps(data))
        return machine.Machine(path)

    def bad_derived(self, change, *reasons):
        with self.assertRaises(UserError) as caught:
            self.derived(change)
        for reason in reasons:
            self.assertIn(reason, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def test_base(self):
        base = machine.Machine(MACHINE)
        child = self.derived(lambda data: data.update(
            clock={"instruction-ps": {"value": 777, "source": "chosen",
                                      "note": "a test"}},
            cpus=[16]))
        self.assertEqual(child.name, "child")
        self.assertEqual(child.values("clock"),
                         base.values("clock") | {"instruction-ps": 777})
        self.assertEqual(child.values("contention"),
                         base.values("contention"))
        self.assertEqual([len(item) for item in child.cpu_sets], [16])
        # the same reference: the base's fitted rows are this one's too
        self.assertEqual({"same-chip-ns" in item["parameters"]
                          for item in child.fitted()}, {True, False})

    def test_base_of_another_reference(self):
        child = self.derived(lambda data: data.update(
            reference="irqdebug_p9.csv",
            kernels=[{"name": "a", "variant": "a", "append": ""}]))
        self.assertEqual(child.fitted(), [])
        item = child.contention["same-chip-ns"]
        self.assertEqual(item["source"], "chosen")
        self.assertIn("parent", item["note"])

    def test_base_without_its_reference(self):
        """Another machine: the published figures are not of this one."""
        child = self.derived(lambda data: data.update(
            reference=None,
            kernels=[{"name": "a", "variant": "a", "append": ""}]))
        self.assertIsNone(child.reference)
        self.assertEqual(child.fitted(), [])
        self.assertEqual(child.contention["same-chip-ns"]["source"], "chosen")
        # A column needs a reference.
        self.bad_derived(lambda data: data.update(reference=None), "column")

    def test_times_in_instructions(self):
        """An instruction of half the time: so are all times not given."""
        base = machine.Machine(MACHINE)
        half = base.values("clock")["instruction-ps"] / 2
        self.assertEqual(half, int(half))
        child = self.derived(lambda data: data.update(
            times="in-instructions",
            clock={"instruction-ps": {"value": int(half), "source": "fitted",
                                      "rows": [["ipi_sys", 16]]}},
            contention={"same-chip-ns": {"value": 7, "source": "chosen",
                                         "note": "a test"}}))
        for name, value in base.values("contention").items():
            with self.subTest(name):
                if name == "same-chip-ns":
                    expected = 7
                elif name.endswith("-ns"):
                    expected = value / 2
                else:
                    expected = value
                self.assertEqual(child.values("contention")[name], expected)
        self.assertEqual(
            child.values("clock"), base.values("clock") | {
                "instruction-ps": int(half),
                "pause-ns": round(base.values("clock")["pause-ns"] / 2)})
        item = child.contention["cross-chip-ns"]
        self.assertEqual((item["source"], item["note"]),
                         ("chosen", "as many instructions as in parent"))
        # What was fitted there is not fitted here.
        self.assertNotIn("cross-chip-ns", [
            name for item in child.fitted() for name in item["parameters"]])

    def test_bad_times(self):
        self.bad(lambda data: data.update(times="in-instructions"),
                 "times", "needs a base")
        self.bad_derived(lambda data: data.update(times="scaled"),
                         "times", "in-instructions")
        self.bad_derived(lambda data: data.update(times="in-instructions"),
                         "times", "needs clock.instruction-ps")
        self.bad_derived(lambda data: data.update(
            times="in-instructions", clock=3), "times", "instruction-ps")
        self.bad_derived(lambda data: data.update(
            times="in-instructions",
            clock={"instruction-ps": {"value": 0, "source": "chosen",
                                      "note": "a test"}}),
            "clock.instruction-ps", "out of range")
        self.bad_derived(lambda data: data.update(
            times="in-instructions", contention=3,
            clock={"instruction-ps": {"value": 500, "source": "chosen",
                                      "note": "a test"}}),
            "contention", "JSON object")

    def test_bad_base(self):
        self.bad_derived(lambda data: data.update(base="none"),
                         "child.json", "none.json")
        self.bad_derived(lambda data: data.update(base="child"),
                         "has a base itself")
        self.bad_derived(lambda data: data.update(base="../parent"), "base")
        self.bad_derived(lambda data: data.update(base=7), "base")
        self.bad_derived(lambda data: data.pop("name"),
                         "key 'name' is missing")
        self.bad_derived(lambda data: data.update(clock=3),
                         "clock", "JSON object")
        self.bad_derived(lambda data: data.update(
            contention={"same-chip": {}}), "same-chip")

    def test_not_json(self):
        self.bad_text(b"", "not JSON")
        self.bad_text(b"hello", "not JSON")
        self.bad_text(b"{\"name\": ", "not JSON")
        self.bad_text(b"\xff\xfe", "not JSON")
        self.bad_text(b"[" * 100000, "nested too deeply")
        self.bad_text(b"[]", "must be a JSON object")
        self.bad_text(b"{\"name\": \"a\", \"name\": \"b\"}", "given twice")
        self.bad_text(b"{\"name\": NaN}", "NaN is not a JSON number")
        with self.assertRaisesRegex(UserError, "cannot be read"):
            machine.Machine(self.dir / "none.json")
        with self.assertRaisesRegex(UserError, "cannot be read"):
            machine.Machine(self.dir)

    def test_missing_key(self):
        for key in ("name", "smp", "clock", "contention", "storm", "kernels",
                    "cpus", "memory", "machine", "description"):
            with self.subTest(key):
                self.bad(lambda data: data.pop(key),
                         f"key '{key}' is missing")
        self.bad(lambda data: data["contention"].pop("same-chip-ns"),
                 "contention", "'same-chip-ns' is missing")
        self.bad(lambda data: data["smp"].pop("cores"), "'cores' is missing")
        self.bad(lambda data: data["kernels"][0].pop("variant"),
                 "kernels[0]", "'variant' is missing")

    def test_unknown_key(self):
        self.bad(lambda data: data.update(colour="red"),
                 "unknown key 'colour'", "known: name")
        self.bad(lambda data: data["contention"].update({"same-chip": 5}),
                 "contention", "unknown key 'same-chip'")
        self.bad(lambda data: data["clock"]["quantum-ns"].update(unit="ns"),
                 "clock.quantum-ns", "unknown key 'unit'")

    def test_range(self):
        def put(value):
            return lambda data: data["contention"]["same-chip-ns"].update(
                value=value)
        where = "contention.same-chip-ns.value"
        self.bad(put(-1), where, "out of range (0 to 1000000 ns)")
        self.bad(put(10 ** 30), where, "out of range")
        self.bad(put(57.0001), where, "more than three decimals")
        self.bad(put("57"), where, "not a number")
        self.bad(put(True), where, "not a number")
        self.bad(put(None), where, "not a number")
        self.bad(lambda data: data["contention"]["departure-pct"].update(
            value=50.5), "contention.departure-pct", "not a whole number")
        self.bad(lambda data: data["contention"]["holder-rule"].update(
            value="lode"), "'lode' is not one of load, load-store, none")
        self.bad(lambda data: data["contention"]["holder-rule"].update(
            value=["load"]), "is not one of")
        self.bad(lambda data: data["clock"]["instruction-ps"].update(value=0),
                 "clock.instruction-ps.value", "out of range")
        self.bad(lambda data: data["storm"].update(offset=0),
                 "storm.offset", "out of range")

    def test_fractions_and_forms(self):
        for given, kept in ((57.5, 57.5), (57.0, 57), (0.58, 0.58)):
            path = self.machine_file(
                lambda data: data["contention"]["same-chip-ns"].update(
                    value=given))
            value = machine.Machine(path).values("contention")["same-chip-ns"]
            self.assertEqual(repr(value), repr(kept))

    def test_table_is_the_simulators(self):
        """Names, order, ranges and words as in the model's own table."""
        text = (ROOT / "hw/intc/contention/params.c").read_text()
        words = {name: re.findall('"([a-z-]+)"', body) for name, body in
                 re.findall(r"char \*const (\w+)\[\] = \{([^}]*)\}", text)}
        found = {}
        for kind, name, rest in re.findall(
                r'^    (TIME|SLOPE|INTEGER|RULE)\("([a-z-]+)",([^"]*(?:"[^"]*",)?'
                r'[^"]*)', text, re.M):
            fields = [field.strip() for field in rest.split(",")]
            if kind == "TIME":
                found[name] = machine.Time(0, 1_000_000, "ns")
            elif kind == "SLOPE":
                found[name] = machine.Time(0, 1000, "%")
            elif kind == "RULE":
                found[name] = machine.Word(tuple(words[fields[1]]))
            elif name == "line-bytes":
                found[name] = machine.Number(128, 128, "bytes")
            elif name not in ("filter-entries", "seed"):
                found[name] = machine.Number(int(fields[3]), int(fields[4]),
                                             fields[0].strip('"'))
        self.assertEqual(list(found.items()),
                         list(machine.CONTENTION.items()))
        text = (ROOT / "accel/tcg/simtime-options.c").read_text()
        found = {name: (int(low), int(high)) for name, low, high in
                 re.findall(r'\{ "simtime-([a-z-]+)", &[\w.]+,\s+(\d+), '
                            r'(\d+),', text) if name != "limit-ms"}
        self.assertEqual(found, {name: (form.low, form.high)
                                 for name, form in machine.CLOCK.items()})

    def test_topology(self):
        self.bad(lambda data: data["smp"].update(cores=15), "smp",
                 "sockets 2 x cores 15 x threads 4 = 120 does not match "
                 "cpus 128")
        self.bad(lambda data: data["smp"].update(sockets=0), "smp.sockets",
                 "out of range")
        self.bad(lambda data: data["contention"]["cores-per-domain"].update(
            value=3), "cores-per-domain", "do not divide")

    def test_unequal_chips(self):
        """A list of cores becomes chip-cores, and -smp what goes with it."""
        def put(cores, cpus):
            def change(data):
                data["smp"].update(sockets=4, cores=cores, cpus=cpus)
                data["cpus"] = [16]
            return change
        model = machine.Machine(self.machine_file(put([3, 1, 2, 3], 36)))
        self.assertEqual(model.chip_cores, [3, 1, 2, 3])
        self.assertEqual(model.chip_threads, [12, 4, 8, 12])
        self.assertEqual(qemu.machine_type(model),
                         "powernv9,chip-cores=3:1:2:3")
        self.assertEqual(qemu.smp_option(model),
                         "36,sockets=4,cores=3,threads=4,maxcpus=48")
        self.bad(put([3, 1, 2], 24), "smp.cores", "3 numbers for 4 sockets")
        self.bad(put([3, 0, 2, 3], 32), "smp.cores[1]", "out of range")
        self.bad(put([3, 1, 2, "3"], 36), "smp.cores[3]",
                 "not a whole number")
        self.bad(put([3, 1, 2, 3], 48), "smp", "cores 3 + 1 + 2 + 3 x "
                 "threads 4 = 36 does not match cpus 48")
        self.bad(lambda data: (put([4, 2, 3, 4], 52)(data),
                               data["contention"]["cores-per-domain"].update(
                                   value=2)),
                 "cores-per-domain", "3 cores a chip do not divide")

    def test_equal_chips(self):
        model = machine.Machine(MACHINE)
        self.assertEqual(model.chip_threads, [64, 64])
        self.assertEqual(qemu.machine_type(model), "powernv9")
        self.assertEqual(qemu.smp_option(model),
                         "128,sockets=2,cores=16,threads=4")

    def test_append(self):
        self.bad(lambda data: data.update(append=" "), "append", "not a text")
        self.bad(lambda data: data.update(append=["a"]), "append",
                 "must be a string")
        self.assertEqual(machine.Machine(MACHINE).append, "")
        path = self.machine_file(lambda data: data.update(append="a=1 b"))
        self.assertEqual(machine.Machine(path).append, "a=1 b")

    def test_source_labels(self):
        def label(**item):
            return lambda data: data["contention"].update(
                {"same-chip-ns": item})
        self.bad(label(value=1), "'source' is missing")
        self.bad(label(value=1, source="guess"), "'guess' is not one of")
        self.bad(label(value=1, source="override"), "is not one of")
        self.bad(label(value=1, source="published"), "needs the key 'where'")
        self.bad(label(value=1, source="fitted"), "needs the key 'rows'")
        self.bad(label(value=1, source="chosen"), "needs the key 'note'")
        self.bad(label(value=1, source="chosen", note=" "), "note")
        self.bad(label(value=1, source="fitted", rows=[]), "rows")
        self.bad(label(value=1, source="fitted", rows=[["a"]]), "rows")
        self.bad(label(value=1, source="chosen", note="x", rows=[["a", 1]]),
                 "'rows' does not go with source 'chosen'")

    def test_other_values(self):
        self.bad(lambda data: data.update(name="../x"), "name")
        self.bad(lambda data: data.update(machine="pseries"), "machine")
        self.bad(lambda data: data.update(memory="lots"), "memory")
        self.bad(lambda data: data.update(cpus=[]), "cpus")
        self.bad(lambda data: data.update(cpus=[16, 256]), "cpus",
                 "out of range")
        self.bad(lambda data: data.update(cpus=[1.5]), "cpus")
        self.bad(lambda data: data.update(kernels=[]), "kernels")
        self.bad(lambda data: data["kernels"].append(data["kernels"][0]),
                 "kernels[5]", "second kernel")
        self.bad(lambda data: data.update(reference="../../x"), "reference")

    def test_override(self):
        model = machine.Machine(MACHINE)
        fitted = model.fitted()
        model.override("same-chip-ns=80")
        item = model.contention["same-chip-ns"]
        self.assertEqual((item["value"], item["source"]), (80, "override"))
        # What is overridden is fitted no more.
        self.assertNotEqual(model.fitted(), fitted)
        for text, reason in (("same-chip-ns=-5", "out of range"),
                             ("same-chip-ns=x", "not a number"),
                             ("same-chip-ns=nan", "out of range"),
                             ("same-chip-ns=inf", "out of range"),
                             ("same-chip-ns=1e-9", "three decimals"),
                             ("departure-pct=1.5", "not a whole number"),
                             ("holder-rule=x", "not one of load"),
                             ("same-chip-ns", "give NAME=VALUE"),
                             ("nothing=1", "no parameter 'nothing'"),
                             ("cores-per-domain=5", "do not divide")):
            with self.subTest(text):
                with self.assertRaisesRegex(UserError, reason):
                    machine.Machine(MACHINE).override(text)


if __name__ == "__main__":
    support.unittest.main()
