# SPDX-License-Identifier: Apache-2.0
# The two commands of a new user are `make demo` and `make test`; CMake does the building.

# For `make demo`: what is packed, on how many ranks it is read, and where the files stay (a temporary folder if empty).
DATA ?= /usr/include
WORLD ?= 4
BATCH ?= 32
TAIL ?= drop
SHARDS ?= 8
KEEP ?=

.PHONY: help bootstrap build demo test format clean

help:
	@echo "make demo     pack DATA=$(DATA) into SHARDS=$(SHARDS) shards and read it on WORLD=$(WORLD) ranks; knobs: BATCH,"
	@echo "              TAIL=drop|pad|wrap, KEEP=folder"
	@echo "make test     everything: unit, integration, install and example tests, sanitizer builds included"
	@echo "make build    the optimised build, in build/release"
	@echo "make format   clang-format over all sources"
	@echo "make clean    remove build/"

bootstrap:
	@scripts/bootstrap.sh

build/release/build.ninja: CMakePresets.json
	cmake --preset release

build: bootstrap build/release/build.ninja
	cmake --build --preset release

demo: bootstrap build/release/build.ninja
	@cmake --build --preset release --target dovetail_command
	@python3 scripts/demo.py --command build/release/tools/dovetail --data $(DATA) --shards $(SHARDS) \
	  --world $(WORLD) --batch $(BATCH) --tail $(TAIL) --keep "$(KEEP)"

test: bootstrap
	@scripts/test.sh

format:
	git ls-files -z '*.h' '*.cc' | xargs -0 clang-format-14 -i

clean:
	rm -rf build
