# A thin front for CMake; `make help` lists what there is.
#
#   PREFIX and DESTDIR   where `make install` puts things
#   CC                   the compiler, at the first configuration of a build folder

PREFIX  ?= /usr/local
PROGRAM := build/lcsm

ifeq ($(origin CMAKE_GENERATOR), undefined)
export CMAKE_GENERATOR = $(if $(shell command -v ninja),Ninja,Unix Makefiles)
endif

.DEFAULT_GOAL := build
.PHONY: build test check-full demo bench install uninstall packages static arm64 wheel debug asan tsan clang fuzz mutate abi format tidy setup clean help

build: ## build the program (build/lcsm) and the library (build/liblcsm.so, .a), and say how long it took
	@scripts/build

setup: ## install what is missing (Debian-like machines)
	@scripts/setup

test: setup ## the whole suite: format, layers, tests, sanitizers, Clang, clang-tidy, install
	@scripts/test

check-full: setup ## the release build, with every code, method and operand form proved in full
	@scripts/test --full

demo: ## set up, build, train a small model, run a small experiment, report (minutes)
	@scripts/setup build
	@$(MAKE) --no-print-directory build
	@scripts/demo $(PROGRAM)

bench: build ## time the operator beside this machine's measured peak
	@$(PROGRAM) bench eos

install: build ## install program, libraries, headers, man pages, completions, pkg-config and CMake files
	@cmake --install build --prefix $(PREFIX)

uninstall: ## remove what the last `make install` installed
	@scripts/uninstall

packages: build ## make the archives (build/packages/*.tar.gz) and the Debian packages of this machine
	@scripts/packages

static: ## build build-static/lcsm, one file that runs on every Linux of this architecture
	@cmake --preset static >/dev/null
	@cmake --build --preset static --target lcsm_program

arm64: ## cross-build for arm64 and run the quick tests under an emulator (Debian-like machines)
	@scripts/arm64

wheel: build ## make the wheel of the Python package, with the library inside (dist/)
	@scripts/wheel

debug asan tsan clang: ## build and test one preset: debug, asan, tsan or clang
	@cmake --preset $@ >/dev/null
	@cmake --build --preset $@
	@ctest --preset $@

fuzz: ## fuzz every parser with libFuzzer, FUZZ_SECONDS (60) each
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz
	@scripts/fuzz build-fuzz $(FUZZ_SECONDS)

mutate: ## plant faults one at a time, and see that a test notices each (minutes)
	@cmake --preset release >/dev/null
	@cmake --build --preset release
	@scripts/mutate

abi: ## record the functions and types that the library promises, after a change that is meant; rewrites the Python binding
	@tests/abi/record

format: ## format every C file in place
	@tools/list-files '*.c' '*.h' | xargs clang-format -i

tidy: ## clang-tidy over the sources
	@cmake --preset clang >/dev/null
	@tools/tidy build-clang

clean: ## remove the build folders
	@rm -rf build build-debug build-asan build-tsan build-clang build-fuzz

help: ## this page
	@awk -F ':.*## ' '/^[a-z].*## / { printf "  make %-24s %s\n", $$1, $$2 }' Makefile
