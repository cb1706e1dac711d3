# Everything a developer does with Sluice. `make help` lists it.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

LISTEN   ?= 127.0.0.1:8080
POLICIES ?= examples/policies.yaml
ARGS     ?=
PREFIX   ?= /usr/local
JOBS     ?= $(shell nproc)

# What the black-box and documentation tests start: the sanitized build, so that ASan and UBSan watch the server.
SLUICE_BINARY ?= $(CURDIR)/build/dev/sluice

# The programs and tests that run under TSan: everything where threads meet.
CONCURRENT_TESTS  ?= base_test client_test ledger_test store_test telemetry_test engine_test library_test net_test control_test admin_test usage_test
CONCURRENT_FILTER ?= *Concurrent*:*LedgerSharing*:Server.*:ControlPlane*

# Debian's own Python: the one that sees Debian's packages, whatever else is first in PATH.
PYTHON := /usr/bin/python3

# Tests that mostly wait for servers, clients and clocks run side by side, more of them than there are cores.
SIDE_BY_SIDE ?= $(shell echo $$((2 * $$(nproc))))
PYTEST := $(PYTHON) -m pytest -q -p no:cacheprovider -n $(SIDE_BY_SIDE)

# Sanitizers trip over strong address randomization on newer kernels.
FIXED_ADDRESSES := $(shell setarch -R true 2>/dev/null && echo setarch -R)

export ASAN_OPTIONS  ?= detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS ?= print_stacktrace=1
export TSAN_OPTIONS  ?= halt_on_error=1:second_deadlock_stack=1
export PYTHONDONTWRITEBYTECODE := 1

# $(call configure,PRESET) and $(call compile,PRESET,options)
configure = cmake --preset $(1) $$(command -v ccache >/dev/null && echo -DCMAKE_CXX_COMPILER_LAUNCHER=ccache) >/dev/null
compile   = cmake --build --preset $(1) -j $(JOBS) $(2)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run build install install-library library test test-unit test-threads test-blackbox test-redis test-faults test-library test-web test-docs web web-pictures check check-format check-rules check-tidy bench interop clean deps dev

help:  ## this list
	@echo "Sluice, a rate limiter as a service. Targets:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build  ## build and start it on LISTEN (127.0.0.1:8080) with POLICIES; ARGS=… adds flags of `sluice serve`
	@exec build/release/sluice serve --listen $(LISTEN) --policies $(POLICIES) $(ARGS)

build:  ## the release binary: build/release/sluice
	@tools/install build
	@$(call configure,release)
	@$(call compile,release)

# The library for other programs, static and shared; see cmake/SluicePackage.cmake.
library:
	@tools/install build
	@$(call configure,library)
	@$(call compile,library)

install: build install-library  ## the program, the library, its headers, CMake package and pkg-config file, into PREFIX (/usr/local)
	@install -D -m 755 build/release/sluice '$(DESTDIR)$(PREFIX)/bin/sluice'

install-library: library
	@DESTDIR='$(DESTDIR)' cmake --install build/library --prefix '$(PREFIX)' --component library >/dev/null

test:  ## every test; the eight parts below can be run alone
	@tools/phases test-unit test-threads test-blackbox test-redis test-faults test-library test-web test-docs

dev:
	@tools/install build test
	@$(call configure,dev)
	@$(call compile,dev)

test-unit: dev  ## unit tests under ASan and UBSan
	@$(FIXED_ADDRESSES) ctest --test-dir build/dev --no-tests=error --output-on-failure -j $(SIDE_BY_SIDE)

test-threads:  ## the concurrent unit tests under TSan
	@tools/install build test
	@$(call configure,tsan)
	@$(call compile,tsan,--target $(CONCURRENT_TESTS))
	@$(FIXED_ADDRESSES) tools/run_filtered build/tsan '$(CONCURRENT_FILTER)' $(CONCURRENT_TESTS)

test-blackbox: dev  ## real clients against the server (SLUICE_BINARY, default the sanitized build)
	@SLUICE_BINARY='$(SLUICE_BINARY)' $(FIXED_ADDRESSES) $(PYTEST) tests/blackbox $(ARGS)

test-redis:  ## the Redis script: against the vectors, a reference and planted mistakes, on a real server
	@tools/install test
	@$(PYTEST) tests/redis

test-faults: dev  ## Redis killed, frozen, failed over, resharded, cut off: real servers under load; ARGS=… goes to pytest
	@SLUICE_BINARY='$(SLUICE_BINARY)' $(FIXED_ADDRESSES) $(PYTEST) tests/faults $(ARGS)

test-library: dev library  ## the installed library: its symbols, and the examples of examples/library built against it
	@SLUICE_BINARY='$(SLUICE_BINARY)' $(FIXED_ADDRESSES) $(PYTEST) -n 0 tests/library $(ARGS)

test-web: dev  ## the dashboard in Chromium, and that web/dist is what web/src gives; ARGS=… goes to pytest
	@tools/install web
	@tools/npm
	@SLUICE_BINARY='$(SLUICE_BINARY)' $(FIXED_ADDRESSES) $(PYTEST) -n $(JOBS) tests/web $(ARGS)

test-docs: dev  ## every command and policy shown in the documentation
	@$(PYTHON) tools/run_docs_test.py
	@SLUICE_BINARY='$(SLUICE_BINARY)' $(FIXED_ADDRESSES) $(PYTHON) tools/run_docs.py

check:  ## format, the rules of the house, clang-tidy
	@tools/phases check-format check-rules check-tidy

check-format:  ## clang-format, without changing anything
	@tools/install check
	@git ls-files -z -co --exclude-standard '*.cc' '*.h' | xargs -0 clang-format-19 --dry-run -Werror

check-rules:  ## layers, clocks, sizes, links: tools/check.py, and that each rule still bites
	@tools/install check
	@$(PYTHON) tools/check_test.py
	@$(PYTHON) tools/wrap_markdown_test.py
	@$(PYTHON) tools/check.py

check-tidy:  ## clang-tidy over src and bench, without the tests
	@tools/install build test check
	@$(PYTHON) tools/tidy_test.py
	@$(call configure,dev)
	@JOBS=$(JOBS) $(PYTHON) tools/tidy build/dev

web:  ## bundle the dashboard: web/src into web/dist, which is committed; needed only after a change of web/
	@tools/install web
	@tools/npm
	@cd web && node build.mjs

web-pictures: test-web  ## the pictures of the documentation, from the last run of test-web
	@cp build/web/dashboard-{light,dark,phone,policy}.png docs/img/

bench:  ## the measurements of the README, as ratios of one run; ARGS=… goes to bench/run
	@tools/install build bench
	@$(call configure,bench)
	@$(call compile,bench)
	@bench/run $(ARGS)

interop: build  ## six other gRPC clients, h2spec and Envoy against the server; writes docs/interop.md; ARGS=… names parts
	@tools/install test interop
	@$(PYTHON) tests/interop/run.py $(ARGS)

deps:  ## install the Debian packages that are missing (root or sudo); starts no service
	@tools/install build test check bench

clean:  ## remove build/
	rm -rf build
