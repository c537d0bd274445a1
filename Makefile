# linerate: what a person or a machine does with this repository.
# The work itself is in cargo and in ci/; this file says what is missing before it starts.

CARGO ?= cargo
.DEFAULT_GOAL := all
.PHONY: all build demo site pictures check test test-all dist packages firmware p4 p4-write bench calibrate laboratory verdicts verdicts-fit verdicts-guard interop fuzz audit fmt docs clean help

all: build ## build, the same as `make build`

# The programs alone: tests and their rooms are built by `make check` and `make test`.
build: ## build target/release/linerate, linerate-hub, linerate-p4 and linerate-web
	@ci/need cargo
	$(CARGO) build --release --locked -p linerate-cli -p linerate-hub -p linerate-p4-cli -p linerate-web

demo: ## measure between two hosts made of this one, without privileges; writes report.html
	@ci/need cargo namespaces
	$(CARGO) build --profile first --locked -p linerate-cli
	target/first/linerate demo -o report.html

check: ## formatting, lints, and the tests that need nothing but cargo: minutes
	@ci/need cargo
	@. ci/path && $(CARGO) xtask test check

test: ## everything a user relies on: also namespaces, one strength of each fault, other tools, a browser
	@ci/need cargo namespaces packages-test
	@ci/firmware lib-host
	@. ci/path && $(CARGO) xtask test test

test-all: ## also what takes long: the release, every fault proved, endurance, calibration, fuzzing
	@ci/need axe cargo c++ namespaces packages-test packages-boards packages-firmware packages-all
	@$(MAKE) --no-print-directory site
	@ci/dist
	@ci/firmware
	@. ci/path && $(CARGO) xtask test all
	@$(MAKE) --no-print-directory demo calibrate fuzz audit

# Some of them only: make dist ARCH='riscv64 armv7'
dist: ## build linerate for boards, without shared libraries: target/dist/linerate-ARCH
	@ci/need cargo
	@ci/dist $(ARCH)

# Programs go in as they are in target/dist. The same commit makes the same bytes, in any folder.
packages: ## build .deb, .rpm, .apk, tarballs and container images of all architectures, and their sums, in target/packages
	@ci/need cargo packages-boards
	@ci/dist $(ARCH)
	$(CARGO) run --quiet --locked -p linerate-packages -- packages target/dist target/packages

firmware: ## build the responder for microcontrollers: target/firmware
	@ci/need cargo
	@ci/firmware

# P4C is p4c-bm2-ss, by name or path; P4INCLUDE the folder of v1model.p4 where it does not find its own.
P4C ?= p4c-bm2-ss
p4: ## compile the programs in p4 with your P4C, compare with what is committed
	@ci/p4 $(P4C)

p4-write: ## the same, and keep what it makes
	@ci/p4 $(P4C) --write

# Arguments in BENCH: make bench BENCH='--rounds 20 --iperf3 PATH'
bench: ## compare with iperf3 and sockperf on this machine; a whole run writes docs/results/bench.md
	@ci/need cargo namespaces packages-bench
	$(CARGO) bench --locked -p linerate-lab --bench peers -- $(BENCH)

calibrate: ## measure links of known delay and search those of known rate; prints how far off it is
	@ci/need cargo namespaces
	$(CARGO) run --release --locked -p linerate-lab --example calibrate_delay
	$(CARGO) run --release --locked -p linerate-lab --example calibrate_search

laboratory: ## build known bottlenecks, prove every verdict; writes docs/results/laboratory.md
	@ci/need cargo namespaces packages-test
	$(CARGO) test --locked --release -p linerate-lab --test faults -- --ignored --proof all --write

# Other programs by variable: LINERATE_IPERF3=iperf3:/path/to/iperf3 make interop
# Scenes are drawn by seed and number; those that the folder holds are not played again. Verdicts are drawn from those of
# seed 11 (what seeds 1, 2, 5, 6, 7, 13, 15 and 16 showed is kept beside it) and judged on those of seed 18, which nothing
# is fitted on; nor is it on seeds 8, 12 and 14.
SCENES = 100
PLAY = $(CARGO) test --locked --release -p linerate-lab --test faults -- --ignored --scenes
GUARD = $(CARGO) test --locked --release -p linerate-lab --test faults -- --ignored --guard
verdicts: ## compose scenes at random, measure what limits them, judge the verdicts; writes docs/results/verdicts.md
	@ci/need cargo namespaces packages-test
	$(PLAY) 18 $(SCENES) --keep $(CURDIR)/target/verdicts/judged --write

verdicts-fit: ## the same of other scenes, and make the table that verdicts are drawn from of what they show
	@ci/need cargo namespaces packages-test
	$(PLAY) 11 $(SCENES) --keep $(CURDIR)/target/verdicts/fitted --fit

verdicts-guard: ## keep the scenes that both have played, reduced, for `make check` to judge
	$(foreach set,judged fitted,$(GUARD) $(set) --keep $(CURDIR)/target/verdicts/$(set) &&) true
	LINERATE_SCENES=write $(CARGO) test --locked -p linerate-analysis --test scenes

interop: ## measure with the real tools, in every combination; writes docs/results/interop.md
	@ci/need cargo packages-test
	LINERATE_INTEROP=write $(CARGO) test --locked -p linerate-lab --test interop every_cell -- --nocapture

# Seconds for each target: make fuzz FUZZ=600
FUZZ = 60
fuzz: ## feed every protocol and log format with what nobody should send, a minute each
	@ci/need cargo c++
	@ci/fuzz $(FUZZ)

audit: ## advisories, licences and duplicates of the dependencies; Miri over what is shared with the kernel
	@ci/need cargo audit
	@ci/audit

fmt: ## format the sources
	@ci/need cargo
	$(CARGO) fmt --all

docs: ## the guide as a book, in target/book, and the API of every room, in target/doc
	@ci/need cargo mdbook
	$(CARGO) run --locked -p linerate-analysis --example write-rules
	$(CARGO) run --locked -p linerate-engine --example write-workloads
	. ci/path && mdbook build docs
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

pictures: demo ## the pictures of a report in docs: desktop, phone, dark, print; of a demo
	@ci/need cargo packages-test
	. ci/path && LINERATE_REPORT=$(CURDIR)/report.html LINERATE_PICTURES=$(CURDIR)/docs $(CARGO) test --locked -p linerate-report --test report -- --ignored can_be_pictured

# The program in the page is the same code for another machine: it runs in the browser and connects to nobody.
EXPLAIN = target/wasm32-wasip1/site/explain.wasm
site: ## the guide, and the page that explains logs in a browser, in target/site; works offline and from files
	@ci/need cargo mdbook wasm
	$(CARGO) build --locked -p linerate-site --bin explain --target wasm32-wasip1 --profile site
	. ci/path && mdbook build --dest-dir $(CURDIR)/target/site docs
	$(CARGO) run --locked -p linerate-site --example write-page -- $(EXPLAIN) target/site/explain.html

clean: ## remove what was built
	$(CARGO) clean
	rm -f report.html

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16
