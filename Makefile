# Everything starts with `make`; nothing needs an activated environment.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test lint lock clean

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
IS_RECENT := import sys; sys.exit(sys.version_info < (3, 11))
FIND_PYTHON := for python in $(or $(PYTHON),python3 python3.13 python3.12 python3.11); do \
	$$python -c '$(IS_RECENT)' 2>/dev/null && { command -v $$python; break; }; done || true
AS_ROOT := test "$$(id -u)" = 0 && command -v apt-get >/dev/null

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

setup: .venv/.installed ## make .venv with exactly the packages of requirements.lock

demo: setup ## build the sandboxes, then judge the example answers
	$(BIN)/procexec sandbox build git openssl sqlite3
	@code=0; $(BIN)/procexec run examples/answers.jsonl || code=$$?; \
	test $$code = 1 || exit $$code; \
	echo "Some example answers are wrong on purpose: exit code 1 of procexec run is expected here."; \
	echo "To type procexec as in README.md: source $(BIN)/activate"

test: setup lint ## lint, build the sandboxes, run every test, with containers
	$(BIN)/procexec sandbox build
	$(BIN)/python -m pytest --docker

lint: setup ## style, types, layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

lock: setup ## write requirements.lock anew, with the newest versions
	$(PIP) install --quiet pip-tools
	$(BIN)/dependency-groups dev > .venv/dev.in
	$(BIN)/pip-compile --quiet --upgrade --generate-hashes --strip-extras --allow-unsafe \
		--no-header --no-annotate --no-emit-options --no-emit-index-url --no-emit-find-links \
		--no-emit-trusted-host --output-file requirements.lock pyproject.toml .venv/dev.in

clean: ## remove what setup and the tools made; results in runs/ stay
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .nox dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.installed: requirements.lock pyproject.toml
	@python="$$($(FIND_PYTHON))"; \
	if ! "$${python:-false}" -c 'import ensurepip, venv' 2>/dev/null && $(AS_ROOT); then \
		echo "installing python3 and python3-venv from the distribution's packages"; \
		apt-get update -qq; \
		DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends \
			python3 python3-venv >/dev/null; \
		python="$$($(FIND_PYTHON))"; \
	fi; \
	if [ -z "$$python" ]; then \
		echo "error: procexec needs Python 3.11 or newer" >&2; \
		echo "  hint: sudo apt-get install python3 python3-venv, or: make setup PYTHON=<path of one>" >&2; \
		exit 2; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
		echo "error: $$python cannot make virtual environments: its module ensurepip is missing" >&2; \
		echo "  hint: sudo apt-get install python3-venv" >&2; \
		exit 2; \
	fi; \
	"$$python" -m venv .venv
	$(PIP) install --quiet --require-hashes --only-binary :all: -r requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
