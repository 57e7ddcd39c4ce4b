# SPDX-License-Identifier: GPL-2.0-or-later
# Names for the jobs of the super-build; the work is done in scripts/.

.DEFAULT_GOAL := all
.SUFFIXES:

targets := all qemu stock guests unit check check-unit check-scripts check-patches \
           check-qtest check-guest compare tables bench refresh-check help clean \
           distclean
.PHONY: $(targets) packages-qemu packages-unit packages-guests packages-run \
        packages-test

# The default configuration will do for whoever does not care.
ifneq ($(filter-out help clean distclean,$(or $(MAKECMDGOALS),all)),)
include build/config.mak
endif

build/config.mak: configure VERSION
	./configure --recheck

python := $(CONFIG_PYTHON)

all: qemu guests unit ## build everything

qemu: packages-qemu ## build build/qemu/qemu-system-ppc64
	scripts/build-qemu

guests: packages-guests ## build the guest kernels and images, build/guest/*
	$(python) scripts/sources linux busybox
	$(python) scripts/build-guest --jobs $(CONFIG_JOBS) --linux-src build/src/linux \
		$(CONFIG_GUESTS)

unit: packages-unit ## build the stand-alone model, its unit tests, and xs-names
	$(python) scripts/check --build-only unit

check: qemu guests unit packages-run packages-test ## run all tests
	$(python) scripts/check unit scripts patches qtest guest

check-unit: unit ## run the unit tests of the model
	$(python) scripts/check unit

check-scripts: unit packages-test ## run the tests of the scripts
	$(python) scripts/check scripts

check-patches: qemu ## verify both patch series
	$(python) scripts/sources linux
	$(python) scripts/check patches

check-qtest: qemu packages-run ## run the qtests, ours and QEMU's for powernv
	$(python) scripts/check qtest

check-guest: qemu guests unit packages-run ## run the tests that boot guests
	$(python) scripts/check guest

compare: qemu guests packages-run ## print the POWER9 table, patched against unpatched
	$(python) scripts/compare --machine power9-2s

# One after the other, so that none measures beside another.
tables: compare ## all published tables, and the documents made from them
	$(python) scripts/compare --machine power9-2s-irqdebug
	$(python) scripts/compare --machine power10-4s
	$(python) scripts/docs-results
	$(python) scripts/docs-results --machine power9-2s-irqdebug
	$(python) scripts/docs-results --machine power10-4s

stock: packages-qemu ## build the unmodified QEMU, build/qemu-stock
	scripts/build-qemu --stock

bench: qemu stock guests unit packages-run ## measure the simulator against its targets
	build/unit/bench-contention
	$(python) scripts/bench

refresh-check: ## verify that refreshing the patches changes nothing
	$(python) scripts/sources qemu linux
	$(python) scripts/patches check

packages-qemu packages-unit packages-guests packages-run packages-test: build/config.mak
	@scripts/packages $(@:packages-%=%)

help: ## print this list
	@echo "Targets of make:"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1 - \2/p' Makefile | \
		awk -F ' - ' '{ printf "%-16s %s\n", $$1, $$2 }'
	@echo "Choices such as other sources: ./configure --help"

clean: ## remove what was built; sources, downloads and results stay
	rm -rf build/qemu build/qemu-stock build/unit build/guest build/check

distclean: ## remove build/ with all in it
	@test ! -d build/src/qemu.orig || scripts/patches status --quiet qemu || test -n "$(FORCE)" || { \
		echo "build/src/qemu has edits that patches/qemu lacks: scripts/patches refresh, or make distclean FORCE=1" >&2; exit 1; }
	rm -rf build
