# SPDX-License-Identifier: Apache-2.0
# The two commands of a new user are `make demo` and `make test`; CMake does the building.

# For `make demo`: what is packed, on how many ranks it is read, and where the files stay (a temporary folder if empty).
DATA ?= /usr/include
WORLD ?= 4
BATCH ?= 32
TAIL ?= drop
SHARDS ?= 8
KEEP ?=

# For `make bench`: a folder that keeps what was measured, as JSON; what delivery_bench is told, such as
# "--workloads w1 --rounds 9". DATA on the command line is where its data stay, 12 GB.
OUT ?=
DELIVERY ?=

# For `make coverage`: "required" for only what it requires something of.
OF ?=

# For `make fuzz`: how long each target runs, or how many CPU minutes of it there shall be in all, with what
# build/fuzz/tally.json has of earlier runs; and which targets, all of them if empty.
SECONDS ?= 60
CPU_MINUTES ?=
TARGETS ?=

# For `make test`: ON makes warnings errors.
WERROR ?= OFF

# For `make soak`: how long it reads.
MINUTES ?= 60

# Of whose cases `make test` runs some, and `make soak` all.
LONG_TESTS = delivery_test random_plans_test recover_matrix_test

# What draws the options of the readers of `make soak`; for `make fuzz`, if it is given, what draws its mutations.
SEED ?= 1

# For `make wheel`: the Python that the wheel is for.
PYTHON ?= /usr/bin/python3

# For `make check-systems`: which of them, all if empty.
SYSTEMS ?=

.PHONY: help build demo python quick test sanitize test-browser docs check coverage bench fuzz soak check-systems \
  package wheel package-test format clean

help:
	@echo "make demo     pack DATA=$(DATA) into SHARDS=$(SHARDS) shards and read it on WORLD=$(WORLD) ranks; knobs: BATCH,"
	@echo "              TAIL=drop|pad|wrap, KEEP=folder"
	@echo "make quick    while working: builds what has changed, and runs the short unit tests; below a minute"
	@echo "make test     the optimised build and its tests: unit, integration, install, examples, Python, MPI"
	@echo "make sanitize the builds with AddressSanitizer and UBSan and with ThreadSanitizer, and their tests"
	@echo "make test-browser  the page of \`inspect --html\`, tables of notebooks and the site in Chromium, which is installed"
	@echo "make docs     guides, reference and the C++ API as a site that needs no network, in build/docs"
	@echo "make check    static checks: clang's warnings on every source, clang-tidy and cppcheck on libraries and tools"
	@echo "make coverage how much of the libraries the unit tests run, by folder; fails below 95 % of the lines of format/ or"
	@echo "              reader/plan/; OF=required looks only at these two"
	@echo "make build    the optimised build, in build/release"
	@echo "make python   the Python module and the command, in the environment build/python"
	@echo "make package  Debian packages of the command, the libraries and the Python module, in build/package"
	@echo "make wheel    the Python module and the command, with their libraries, in build/wheel, for PYTHON=$(PYTHON)"
	@echo "make package-test  installs the packages and the wheel in clean roots, uses and removes them; needs root and"
	@echo "              debootstrap"
	@echo "make bench    what delivery reaches, beside its peers and limits, and what planning costs; knobs: OUT=folder for"
	@echo "              the JSON, DATA=folder for 12 GB of data, DELIVERY=options of delivery_bench"
	@echo "make fuzz     every fuzz target for SECONDS=$(SECONDS), or in turns up to CPU_MINUTES=30 of each; TARGETS=\"NAME...\""
	@echo "              runs only some, SEED=N draws the same mutations again"
	@echo "make soak     all cases of the longest tests, then MINUTES=$(MINUTES) of epochs by readers that come and go: every row is"
	@echo "              checked, and that nothing grows; SEED=$(SEED)"
	@echo "make check-systems  builds and tests on other systems, in clean roots; needs root and debootstrap; SYSTEMS=\"NAME...\""
	@echo "make format   clang-format over all sources"
	@echo "make clean    remove build/"

# What is missing of the packages of each target is installed, on Debian and what descends from it.
install = @scripts/bootstrap.sh

build:
	$(install) build
	cmake --preset release
	cmake --build --preset release

demo:
	$(install) build
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target dovetail_command
	@python3 scripts/demo.py --command build/release/tools/dovetail --data $(DATA) --shards $(SHARDS) \
	  --world $(WORLD) --batch $(BATCH) --tail $(TAIL) --keep "$(KEEP)"

# Beside the packages of the system, which are those that it was built for.
python:
	$(install) build python
	/usr/bin/python3 -m venv --system-site-packages build/python
	build/python/bin/pip install --no-build-isolation --no-index --no-deps --force-reinstall ./python

quick:
	$(install) build python test
	@cmake --preset test >/dev/null
	@cmake --build --preset test
	@ctest --preset test -L unit -LE long -j$$(nproc)

test:
	$(install) build python test
	@WERROR=$(WERROR) scripts/test.sh

sanitize:
	$(install) build sanitize
	@scripts/sanitize.sh

test-browser:
	$(install) build browser docs
	@cmake --preset release >/dev/null
	cmake --build --preset release --target dovetail_command
	DOVETAIL_COMMAND=build/release/tools/dovetail python3 -B tests/browser/inspection_page_test.py
	PYTHONPATH=build/release/python/package /usr/bin/python3 -B tests/browser/notebook_tables_test.py || test $$? = 77
	/usr/bin/python3 -B tests/browser/site_test.py

docs:
	$(install) docs
	@/usr/bin/python3 -B scripts/docs.py build/docs

check:
	$(install) build python test check
	@scripts/check.sh

coverage:
	$(install) build coverage
	@scripts/coverage.sh $(if $(filter required,$(OF)),--required)

# A program, repetitions, seconds of each; `out` is the folder for its JSON.
define run_google_benchmark
@build/release/bench/$(1) --benchmark_repetitions=$(2) --benchmark_min_time=$(3) \
  --benchmark_enable_random_interleaving=true --benchmark_out="$(out)/$(1).json" >/dev/null
@python3 bench/report.py "$(out)/$(1).json"
@echo
endef

bench: out = $(or $(OUT),build/release/bench)
bench: data = $(if $(filter command,$(origin DATA)),$(DATA),build/release/bench/data)
bench:
	$(install) build bench
	cmake --preset release -DDOVETAIL_BUILD_BENCH=ON >/dev/null
	cmake --build --preset release --target delivery_bench stage_bench snappy_bench example_bench plan_bench \
	  plan_scale
	@mkdir -p "$(out)"
	@echo "delivery_bench: end to end"
	@build/release/bench/delivery_bench --data "$(data)" --out "$(out)/delivery_bench.json" $(DELIVERY)
	@python3 bench/delivery_report.py "$(out)/delivery_bench.json"
	@echo
	@echo "stage_bench: the median and the fastest of 5 repetitions"
	$(call run_google_benchmark,stage_bench,5,0.1)
	@echo "snappy_bench: our decoder beside the packaged one"
	$(call run_google_benchmark,snappy_bench,5,0.1)
	@echo "example_bench: records of tf.train.Example into columns, beside protobuf's classes"
	$(call run_google_benchmark,example_bench,5,0.1)
	@echo "plan_bench: the median and the fastest of 9 repetitions"
	$(call run_google_benchmark,plan_bench,9,0.2)
	@echo "plan_scale: how it grows"
	@build/release/bench/plan_scale --out "$(out)/plan_scale.json"

fuzz:
	$(install) build sanitize
	@scripts/fuzz.py $(if $(CPU_MINUTES),--cpu-minutes $(CPU_MINUTES),--seconds $(SECONDS)) \
	  $(if $(filter command,$(origin SEED)),--seed $(SEED)) $(TARGETS)

soak:
	$(install) build python test
	@cmake --preset test >/dev/null
	@cmake --build --preset test --target soak $(LONG_TESTS)
	@DOVETAIL_TEST_ALL=1 ctest --preset test -R '^($(subst $() ,|,$(LONG_TESTS)))$$'
	@build/release/tests/soak/soak --minutes $(MINUTES) --seed $(SEED)

check-systems:
	$(install) systems
	@scripts/check_systems.py $(SYSTEMS)

package:
	$(install) build python package
	cmake --preset package
	cmake --build --preset package
	rm -rf build/package
	cpack --config build/release/CPackConfig.cmake

wheel:
	$(install) build python wheel
	$(PYTHON) -B scripts/wheel.py

package-test: package wheel
	$(install) systems
	@scripts/package_test.py

format:
	$(install) format
	git ls-files -z '*.h' '*.cc' | xargs -0 clang-format-14 -i

clean:
	rm -rf build
