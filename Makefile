# SPDX-License-Identifier: BSD-2-Clause
# "make" alone lists what there is to make. All output lands in build/.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

# Debian's own Python: the one that has the Debian packages.
PYTHON ?= /usr/bin/python3
JOBS ?= $(shell nproc)

CTEST = ctest --test-dir build/host --output-on-failure --no-tests=error -j $(JOBS) --output-junit $(CURDIR)/build/junit.xml

# Where tools/setup found QEMU, KDIR, KERNEL and Catch2. Any of them can be given instead:
#   make run QEMU=/opt/qemu/bin/qemu-system-x86_64
ENV := . build/deps/env.sh;

GUEST_PROGRAMS := $(addprefix build/host/,libverbs-lite/exrnic-push \
  libverbs-lite/exrnic-guest-test libverbs-lite/exrnic-pingpong libverbs-lite/exrnic-collective libverbs-lite/exrnic-fetch libverbs-lite/exrnic-tickets libverbs-lite/exrnic-bench libverbs-lite/exrnic-clock \
  libverbs-lite/sisci-guest-test libverbs-lite/scibench libverbs-lite/scipp libverbs-lite/dma_bench libverbs-lite/intr_bench \
  libverbs-lite/exrnic-cluster libverbs-lite/exrnic-pm libverbs-lite/exrnic-dsm \
  kmod/test/exrnic-kmod-test tests/guest/exrnic-tcp tests/guest/exrnic-forge tests/guest/exrnic-ntb-forge tests/guest/exrnic-counters tools/exrnicctl/exrnicctl tools/fabric/program/exrnic-fm)

# faulty.bin fails as tests want it to.
GUEST_FIRMWARE := $(addprefix build/host/firmware/,firmware.bin faulty.bin)

GUEST_CONTENTS := $(addprefix --firmware ,$(GUEST_FIRMWARE)) $(GUEST_PROGRAMS) tests/guest/ethernet.sh tests/guest/fabric.sh

.PHONY: help setup build host kmod guest guest-programs guest-world provider world-test demo shell debug-guest newcomer install install-library install-driver install-dkms \
  install-provider install-guest install-unknown ntb-modules ntb-clients gen lint rtl-report check test scale-test sizes soak guest-soak kmod-matrix run run-peb bench bench-world scale bench-java bench-ntb bench-libraries images figures \
  sanitize coverage fuzz debug-kernel-test wheel deb deb-test proofs mutants night format clean distclean

# By group. Durations are those of two cores, when everything is fetched and built.
help: ## Develop | This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { split($$2, text, " [|] "); \
	    lines[text[1]] = lines[text[1]] sprintf("  make %-17s %s\n", $$1, text[2]) } \
	  END { count = split("Use,Test,Test longer,Measure,Develop", groups, ","); \
	    for (i = 1; i <= count; i++) printf "%s%s\n%s", (i > 1 ? "\n" : ""), groups[i], lines[groups[i]] }' Makefile

setup: ## Develop | Install or unpack what is missing (packages, QEMU, Catch2, guest kernel)
	@tools/setup/setup.sh

build: host guest ## Develop | Build everything: simulator, libraries, tests, kernel modules, guest image

# CMake cannot follow a clone that was moved: configure anew then. Nor can Ninja by itself, when files
# come or go in the list of what Verilator reads.
CONFIGURED = grep -qsx "CMAKE_HOME_DIRECTORY:INTERNAL=$(CURDIR)" build/host/CMakeCache.txt

UP_TO_DATE = [[ -z "$(WERROR)" && build/host/build.ninja -nt rtl-model/rtl.f ]]
WITH_TESTS = grep -qsx "EXRNIC_TESTS:BOOL=ON" build/host/CMakeCache.txt

# WERROR=1, or 0: whether the compilers' warnings are errors, from then on. It builds all anew.
CMAKE = cmake -S . -B build/host -G Ninja $(if $(WERROR),-DEXRNIC_WERROR=$(WERROR))
CONFIGURE = $(CONFIGURED) || rm -rf build/host; $(UP_TO_DATE) && $(WITH_TESTS) || $(CMAKE) -DEXRNIC_TESTS=ON

# For programs alone. In a fresh clone without the models of the tests, which Verilator reads for a minute; else with what there was.
CONFIGURE_PROGRAMS = $(CONFIGURED) || rm -rf build/host; \
  $(UP_TO_DATE) || $(CMAKE) $$($(WITH_TESTS) || echo -DEXRNIC_TESTS=OFF)

# Java is 116 MB that nobody needs who runs the guests alone. What was configured without it is configured anew.
host: setup
	@tools/setup/extra.sh default-jdk-headless
	@grep -qsF exrnic.jar build/host/build.ninja || rm -f build/host/build.ninja
	@$(ENV) $(CONFIGURE)
	@$(ENV) cmake --build build/host -j $(JOBS)

# What two guests need, and no more: no test is built.
guest-programs: setup
	@$(ENV) $(if $(CHECKED),$(CONFIGURE),$(CONFIGURE_PROGRAMS))
	@$(ENV) cmake --build build/host -j $(JOBS) --target exrnic-sim$(if $(CHECKED),-checked) exrnic-time \
	  $(basename $(notdir $(GUEST_FIRMWARE))) $(notdir $(GUEST_PROGRAMS))

kmod: setup
	@$(ENV) tools/kbuild.sh build/kmod EXRNIC_TESTS=m

guest: guest-programs kmod
	@$(PYTHON) sim/guest/make_initramfs.py --output build/guest/initramfs.cpio \
	  --modules build/kmod/kmod $(GUEST_CONTENTS)

# A minute or two and 140 MB when it is made; nothing when it is there. PACKAGES: more than those of
# tools/setup/world-packages.txt. SUITE: another Debian than the system's.
ntb-modules: setup
	@$(ENV) tools/ntb_clients.sh build/ntb

# ROUNDS of the kernel's own test; CORE=rtl: not on the reference model.
ROUNDS ?= 1
ntb-clients: CORE = ref
ntb-clients: build guest-world ntb-modules ## Test | Linux's NTB and its clients, built unmodified, and ntb_test.sh in two guests: make ntb-clients ROUNDS=20
	@$(ENV) $(PYTHON) tests/ntb/ntb_clients.py --core $(CORE) --rounds $(ROUNDS)

guest-world: setup ## Use | A Debian with RDMA programs for guests, booted by sim/launch --world: make guest-world PACKAGES="..." (2 min)
	@$(ENV) tools/guest_world.sh $(PACKAGES)

gen: setup ## Develop | Regenerate the generated files (rtl-model/gen, from rtl-model/spec)
	@$(PYTHON) tools/hwgen/hwgen.py

lint: setup ## Develop | Check layout, generated files, RTL, C and C++, kernel modules, scripts, licences
	@$(ENV) PYTHON=$(PYTHON) tools/lint/lint.sh

test: build lint guest-world provider ntb-modules ## Test | Everything that a change must pass: build, lint and all tests (14 min when built). JUnit: build/junit.xml
	@tools/setup/extra.sh tshark $(PYTHON_PACKAGES) spin
	@$(ENV) $(CTEST)

# Whole nodes of RTL are not run, blocks are. ctest --test-dir build/host -L rtl, or guest, has the others.
check: host lint ## Test | Lint, and the tests that need no guest and no whole RTL: for use while working (3 min)
	@tools/setup/extra.sh $(PYTHON_PACKAGES) spin
	@$(ENV) $(CTEST) -L quick

scale-test: build ## Test | One network in several processes: networks without hosts, processes and guests at their nodes (1 min)
	@$(ENV) $(CTEST) -L ranks

# What makes the wheel, and what tests it.
WHEEL_PACKAGES := python3-setuptools python3-wheel
PYTHON_PACKAGES := $(WHEEL_PACKAGES) python3-pytest

# NAMES: only these. CORE=rtl: not on the reference model.
world-test: CORE = ref
world-test: build guest-world provider ## Test | A distribution's programs in two guests, as a table: make world-test NAMES="fio UCX" CORE=rtl (7 min)
	@$(ENV) $(PYTHON) tests/world/world_test.py --core $(CORE) $(NAMES)

# Seeds are consecutive; a failure names the seed that repeats it.
OPS ?= 10000
SEED ?= 1
INSTRUCTIONS ?= 1000000
ACCESSES ?= 1000000
FUZZ_SECONDS ?= 10
SIZES ?= N_QP=256;N_CQ=128;N_SRQ=64;N_STAG=1024;N_READS=512;N_WINDOW=32;N_NODE=16

sizes: setup ## Test longer | Tests of whole nodes, on cores with other table sizes: make sizes SIZES="N_QP=256;N_NODE=1024"
	@$(ENV) cmake -S . -B build/sizes -G Ninja -DEXRNIC_SIZES="$(SIZES)"
	@$(ENV) cmake --build build/sizes -j $(JOBS) --target operations_tests reliability_tests
	@for part in operations reliability; do \
		ctest --test-dir build/sizes/tests/$$part --no-tests=error -j $(JOBS) --output-on-failure || exit 1; done

soak: host ## Test longer | Random work, compared with models: make soak OPS=n INSTRUCTIONS=n ACCESSES=n SEED=s
	@build/host/rtl-model/tiles/firmware/cpu/exrnic-cpu-soak $(INSTRUCTIONS) $(SEED)
	@build/host/tests/cores/exrnic-soak $(OPS) $(SEED)
	@build/host/tests/cores/cores_tests "[soak]"
	@EXRNIC_TEST_CORES=ref build/host/tests/reliability/reliability_tests "[soak]"
	@build/host/tests/operations/operations_tests "[soak]"
	@build/host/tests/firmware/firmware_tests "[soak]"
	@build/host/tests/protection/exrnic-protection-soak ref $(ACCESSES) $(SEED)
	@build/host/tests/protection/exrnic-protection-soak rtl $$(( $(ACCESSES) / 10 + 1 )) $(SEED)
	@build/host/tests/fuzz/exrnic-fuzz all --seconds $(FUZZ_SECONDS) --seed $(SEED)

# Five random tests share the time; beside them all others of the program run once.
MINUTES ?= 10
DEATHS ?= 10000
guest-soak: build ## Test longer | Guests that lose device, link or peer, guests with killed processes, hostile guests: make guest-soak MINUTES=n DEATHS=n SEED=s
	@$(ENV) $(PYTHON) tests/guest/guest_removal_test.py
	@$(ENV) $(PYTHON) sim/launch --run-seconds $$(( $(DEATHS) / 5 + 120 )) --sim-argument=--core --sim-argument=ref \
	  run "exrnic-guest-test --node {node} --oob /dev/ttyS1 --seed $(SEED) --deaths $(DEATHS) --only killed"
	@$(ENV) exec $(PYTHON) sim/launch --run-seconds $$(( $(MINUTES) * 120 + 300 )) \
	  run "exrnic-kmod-test -s $(SEED) -t $$(( $(MINUTES) * 12000 ))"

# The verilated core as make test has it: it is linked, not built anew with sanitizers.
sanitize: setup ## Test longer | Tests under ASan and UBSan, and those with threads under TSan
	@$(ENV) $(CONFIGURE)
	@$(ENV) cmake --build build/host -j $(JOBS) --target \
	  exrnic_core_model exrnic_core_256_model exrnic_core_checked_model exrnic_core_checked_256_model
	@$(ENV) tools/sanitize.sh

# All is built anew, with counters; the module for the guests is as ever.
coverage: kmod ## Test longer | Lines of C++ and RTL that tests execute, at least 90 % of each: docs/coverage.md
	@tools/setup/extra.sh gcovr
	@$(ENV) PYTHON=$(PYTHON) tools/coverage.sh

# NAMES: only these.
proofs: setup ## Test longer | Protocols (SPIN), firmware and data path (CBMC) for all inputs, each also with a rule removed: make proofs NAMES="lives c/" (5 min)
	@tools/setup/extra.sh spin
	@tests/proofs/proofs.py --cbmc "$$(tools/setup/cbmc.sh)" $(NAMES)

# BLOCK: only this one. N: changes to each. SEED: which.
mutants: setup ## Test longer | Small changes to RTL and C++, one at a time: which ones does no test notice? make mutants BLOCK=efe_rx N=20 SEED=s: docs/mutants.md
	@mkdir -p build/bench
	@$(ENV) $(PYTHON) tools/mutants/mutants.py $(if $(BLOCK),--block $(BLOCK),--report docs/mutants.md --results build/bench/results.json) $(if $(N),--number $(N)) $(if $(SEED),--seed $(SEED))

# SEED: the first of consecutive ones; without it one of this minute.
HOURS ?= 8
night: build guest-world provider ## Test longer | A night of random work, mutants, fuzzers, guests under kills, debug kernel, with new seeds: make night HOURS=n: build/night/report.md
	@$(ENV) $(PYTHON) tools/night/night.py --hours $(HOURS) $(if $(filter-out file default,$(origin SEED)),--seed $(SEED))

SECONDS ?= 60
fuzz: setup ## Test longer | Parsers under libFuzzer, guided by coverage: make fuzz SECONDS=n TARGET=name (all without a name)
	@tools/setup/extra.sh clang libclang-rt-dev
	@$(ENV) tools/fuzz.sh $(SECONDS) $(TARGET)

# For run and demo. CAPTURE=1: what passes the Ethernet ports, for Wireshark. TRACE=1: a timeline of
# every work request. PAGE=1: what was lost, where and why, as a page. WAVES=1 or WAVES=node=1,from=NS,to=NS: the signals of one core, by a program
# whose core has them, which is built then, in minutes. All land in build/run/push or build/run/demo.
# ASSERT=1: the core is checked, by a program of its own, too: what its blocks assert holds, or the run fails.
RECORDS = $(if $(filter-out 0,$(CAPTURE)),--capture) $(if $(filter-out 0,$(TRACE)),--trace) \
  $(if $(filter-out 0,$(PAGE)),--page) \
  $(if $(WAVES_WANTED),--sim build/host/sim/exrnic-sim-waves --waves "$(filter-out 1,$(WAVES))") $(CHECKED)
CHECKED = $(if $(filter-out 0,$(ASSERT)),$(if $(WAVES_WANTED),$(error WAVES and ASSERT are two programs: give one \
  of them))--sim build/host/sim/exrnic-sim-checked)
WAVES_WANTED = $(filter-out 0,$(WAVES))
WAVES_PROGRAM = $(if $(WAVES_WANTED),$(ENV) cmake build/host -DEXRNIC_WAVES=ON >/dev/null; \
  cmake --build build/host -j $(JOBS) --target exrnic-sim-waves)

# Neither QEMU nor a kernel is needed. CORE=ref: on the reference model.
CORE ?= rtl
demo: ## Use | Two processes exchange data through simulated RNICs, without guests or root (seconds). CAPTURE=1 TRACE=1 PAGE=1 WAVES=1 ASSERT=1 CORE=ref
	@tools/setup/setup.sh host
	@$(ENV) $(if $(CHECKED),$(CONFIGURE),$(CONFIGURE_PROGRAMS))
	@$(ENV) cmake --build build/host -j $(JOBS) --target exrnic-sim$(if $(CHECKED),-checked) exrnic-demo
	@$(WAVES_PROGRAM)
	@exec $(PYTHON) sim/launch/demo.py --core $(CORE) $(RECORDS)

# Half an hour and more: all is fetched and built there. TARGETS: what is made there, run and test.
newcomer: ## Test longer | The commands of README.md in a fresh clone on a bare Debian, with their times: make newcomer SUITE=bookworm|trixie|sid
	@tools/newcomer.sh "$(SUITE)" $(TARGETS)

provider: setup ## Use | The rdma-core provider for the libibverbs of Debian 12 and 13: build/provider
	@$(ENV) tools/provider.sh

# The modules are built for the running kernel, or that of the headers in KDIR, unless DKMS does that.
PREFIX ?= /usr/local
PARTS ?= library
INSTALLABLE := library driver dkms provider guest
UNKNOWN_PARTS = $(filter-out $(INSTALLABLE),$(PARTS))
install: $(if $(UNKNOWN_PARTS),install-unknown,$(addprefix install-,$(PARTS))) ## Use | Install to PREFIX (and DESTDIR, for packages), PARTS="library driver dkms provider guest"; by default the library

install-library: host
	@DESTDIR=$(DESTDIR) cmake --install build/host --prefix $(PREFIX)

wheel: setup ## Use | The Python package exrnic as a wheel: build/wheel
	@tools/setup/extra.sh $(WHEEL_PACKAGES)
	@PYTHON=$(PYTHON) python/wheel.sh build/wheel

deb: host provider ## Use | Debian packages of everything that make install installs, for this Debian, checked by lintian: build/deb
	@tools/setup/extra.sh lintian help2man file
	@$(ENV) tools/deb/deb.sh

deb-test: deb ## Test longer | The packages installed, used and removed in a bare root (5 min; needs root)
	@tools/deb/try.sh

install-driver: host
	@$(MAKE) -C kmod install

install-dkms: host
	@$(MAKE) -C kmod dkms_install

install-provider: provider
	@tools/install_provider.sh "$(DESTDIR)" $(PREFIX)

# What exrnic-launch boots: QEMU is to be had by QEMU=, or in PATH with its vfio-user-pci.
GUEST_FOLDER = $(DESTDIR)$(PREFIX)/share/exrnic/guest
install-guest: guest
	@install -d "$(GUEST_FOLDER)"
	@$(ENV) install -m 644 -T "$$KERNEL" "$(GUEST_FOLDER)/kernel"
	@install -m 644 build/guest/initramfs.cpio build/kmod/kmod/*.ko "$(GUEST_FOLDER)"

install-unknown:
	@echo "PARTS: there is no '$(UNKNOWN_PARTS)'; there are: $(INSTALLABLE)" >&2; exit 1

# An hour and more when all is fetched and built.
kmod-matrix: host ## Test longer | The modules on the kernels of all Debian suites: built, also by DKMS, and tested in guests with their programs (1 h)
	@tools/setup/extra.sh dkms
	@$(ENV) PYTHON=$(PYTHON) GUEST_CONTENTS="$(GUEST_CONTENTS)" NAMES="$(NAMES)" tools/kmod_matrix.sh $(SUITES)

# Builds that kernel first, in minutes; it stays in build/deps. SOAK_MS=n: of each random test. RUNS: see there.
debug-kernel-test: host guest-world provider ## Test longer | Guest tests on a kernel with KASAN, UBSAN, lockdep, kmemleak, DMA debugging, failing allocations
	@tools/setup/extra.sh bc bison flex libelf-dev xz-utils
	@$(ENV) PYTHON=$(PYTHON) GUEST_CONTENTS="$(GUEST_CONTENTS)" tools/debug_kernel_test.sh $(RUNS)

# WORLD=1: a Debian (make guest-world). SHARE=FOLDER: a copy of it is /share in each guest, and in
# build/run/shell/guestN/share at the end. LAUNCH: more for sim/launch (--help), such as "--guests 3 --disk IMAGE --kernel IMAGE".
SHELL_OPTIONS = $(if $(filter-out 0,$(WORLD)),--world --memory 1G) $(if $(SHARE),--put "$(SHARE):/share" --take /share) \
  --sim-argument=--core --sim-argument=$(CORE) $(RECORDS) $(LAUNCH)
shell debug-guest: CORE = ref
shell: guest ## Use | Two guests with interactive consoles, and a network between them: make shell WORLD=1 SHARE=FOLDER LAUNCH="--guests 3"
	@$(ENV) exec $(PYTHON) sim/launch $(SHELL_OPTIONS) shell

# CORE=rtl: GDB at the firmware, too (firmware/README.md).
FIRMWARE_GDB = $(if $(filter rtl,$(CORE)),--sim-argument=--gdb --sim-argument=0:firmware.sock)
debug-guest: guest ## Use | The same, with GDB on the guests' kernels and the symbols of our modules: make debug-guest CORE=rtl
	@$(ENV) exec $(PYTHON) sim/launch --gdb $(FIRMWARE_GDB) $(SHELL_OPTIONS) shell

run: guest ## Use | Two guests write into each other's memory: the whole path, as a table (15 s). CAPTURE=1 TRACE=1 PAGE=1 WAVES=1 ASSERT=1; TIME=sync: with one clock
	@$(WAVES_PROGRAM)
	@$(ENV) exec $(PYTHON) sim/launch push $(RECORDS)

# FAULTS: of every line, as exrnic-sim has them; empty: none.
FAULTS ?= drop=0.01
PEB_OPTIONS = --profile $(or $(PROFILE),dc-25g) --faults "$(FAULTS)" $(if $(filter-out 0,$(CAPTURE)),--capture) \
  --sim-argument=--core --sim-argument=$(CORE)
run-peb: guest ## Use | A disk in its own box appears in a guest, and moves to another, over a network that loses frames (35 s). CAPTURE=1 CORE=ref
	@$(ENV) cmake --build build/host -j $(JOBS) --target exrnic-nvme
	@$(ENV) exec $(PYTHON) sim/launch/peb.py $(PEB_OPTIONS)

bench: build ## Measure | The core in simulated time, and guests: build/bench/results.json, and a table (30 min)
	@mkdir -p build/bench
	@build/host/tools/bench/exrnic-bench-core --output build/bench/results.json
	@$(ENV) $(PYTHON) tools/bench/guests.py build/bench/results.json
	@$(PYTHON) tools/bench/table.py build/bench/results.json
	@$(ENV) $(PYTHON) tools/bench/sync_guests.py build/bench/results.json

# Programs of others, in guests with a Debian, and Linux's Soft-RoCE beside the RNIC: added to the figures of make bench.
bench-world: build guest-world provider ## Measure | pyverbs, perftest, MPI in guests, in wall and simulated time: build/bench/results.json
	@mkdir -p build/bench
	@$(ENV) $(PYTHON) tools/bench/world_guests.py build/bench/results.json

# Added to the figures of make bench.
bench-java: build ## Measure | Threads send files in Java, in C++ and over TCP, in guests, in simulated time: build/bench/results.json (20 min)
	@mkdir -p build/bench
	@[[ -e build/bench/results.json ]] || echo '[]' >build/bench/results.json
	@$(ENV) $(PYTHON) tools/bench/java_guests.py build/bench/results.json

# Likewise, and after it: the limits are in what make bench has measured. The guests' kernel has a DMA engine, which the cloud's lacks.
bench-ntb: build ## Measure | Linux's NTB clients in guests, RTL, simulated time: build/bench/results.json (2 min)
	@$(ENV) tools/ntb_clients.sh --generic build/ntb-dma
	@$(PYTHON) sim/guest/make_initramfs.py --output build/ntb-dma/initramfs.cpio --modules build/ntb-dma/kmod $(GUEST_CONTENTS)
	@$(ENV) $(PYTHON) tools/bench/ntb_guests.py build/bench/results.json

# Likewise. ONLY="sisci pm cluster dsm".
bench-libraries: build ## Measure | SISCI, PM, the cluster library and shared memory in guests, RTL, simulated time: build/bench/results.json (30 min). ONLY="pm dsm"
	@$(ENV) $(PYTHON) tools/bench/library_guests.py build/bench/results.json $(if $(ONLY),--only $(ONLY))

# Added to the figures of make bench. MOST_NODES=256 leaves larger networks out.
scale: build ## Measure | Thousands of nodes without hosts: time, memory, threads: build/bench/results.json (10 min)
	@mkdir -p build/bench
	@$(PYTHON) tools/bench/scale.py build/bench/results.json $(if $(MOST_NODES),--most-nodes $(MOST_NODES))

# Of one work request without guests, and of the figures that make figures has left.
images: ## Measure | The pictures of the documentation: docs/run.svg, docs/timeline.png, docs/figures.png, docs/waiting.png
	@tools/setup/extra.sh python3-matplotlib python3-tqdm
	@$(MAKE) guest
	@$(PYTHON) tools/figures/terminal.py docs/run.svg "make run" "$(PYTHON) sim/launch push"
	@$(MAKE) demo TRACE=1
	@$(PYTHON) tools/trace/draw.py build/run/demo/trace.json docs/timeline.png
	@cmake --build build/host -j $(JOBS) --target exrnic-sim-mpi
	@OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --map-by :OVERSUBSCRIBE --bind-to none -n 2 build/host/sim/exrnic-sim-mpi \
	  --core ref --threads 1 --topology leaf-spine:256 --workload sim/ranks/two_phases.json --waiting build/waiting.json
	@$(PYTHON) sim/ranks/draw_waiting.py build/waiting.json docs/waiting.png
	@$(PYTHON) tools/figures/figures.py --results build/figures/results.json --overview docs/figures.png

# RESULTS=FILE: draw from these figures of an earlier run, measure nothing.
figures: $(if $(RESULTS),,build) ## Measure | The papers' figures beside ours: build/figures/report.html, and PNGs
	@tools/setup/extra.sh python3-matplotlib python3-tqdm
	@$(ENV) $(PYTHON) tools/figures/figures.py $(if $(RESULTS),--results $(RESULTS))

rtl-report: setup ## Measure | Each memory of the RTL with words, bits and ports; fails on one that no flow supports
	@$(ENV) $(PYTHON) tools/rtl_report/rtl_report.py

format: setup ## Develop | Format C and C++ with .clang-format
	@tools/lint/lint.sh --fix format

clean: ## Develop | Remove what was built, keep downloads
	@find build -mindepth 1 -maxdepth 1 ! -name deps -exec rm -rf {} + 2>/dev/null || true

distclean: ## Develop | Remove build/, with all downloads
	@rm -rf build
