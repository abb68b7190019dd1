# Tasks of Tensaur. `make` lists them. Needs CPython >= 3.11 with venv, and make; everything else is
# installed into .venv, once, and again when pyproject.toml changes.

PYTHON ?= $(shell python3.11 -c "" 2>/dev/null && echo python3.11 || echo python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input
DEMO_STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-test
BENCH_STAMP := $(VENV)/.installed-bench
WORKERS := -n auto --dist worksteal

export PIP_ROOT_USER_ACTION := ignore

.DEFAULT_GOAL := help
.PHONY: help demo test test-all check format golden bench clean

help: ## list the tasks
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

demo: $(DEMO_STAMP) ## install, then optimise a real-shaped network and show what was gained
	$(BIN)/tensaur demo

test: check ## install what tests need, then lint, types, import contracts and the tests
	$(BIN)/python -m pytest $(WORKERS)

test-all: check ## the same with the slow tests
	$(BIN)/python -m pytest $(WORKERS) -m ""

check: $(TEST_STAMP) ## lint, types and import contracts alone
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(TEST_STAMP) ## format the code and fix what ruff can fix
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

golden: $(TEST_STAMP) ## rewrite the golden files; read the diff before committing it
	$(BIN)/python -m pytest --update-golden -m "" -k golden

bench: $(BENCH_STAMP) ## a quick run of every published table
	$(BIN)/python -m benchmarks

clean: ## remove the environment, caches and build results
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf src/*.egg-info

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tensaur needs Python 3.11 or later; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(DEMO_STAMP): pyproject.toml | $(BIN)/python
	@echo 'Installing tensaur into $(VENV) (once) ...'
	$(PIP) install -e .
	@touch $@

$(TEST_STAMP): pyproject.toml | $(BIN)/python
	@echo 'Installing tensaur and its test tools into $(VENV) (once) ...'
	$(PIP) install -e '.[test]'
	@touch $@ $(DEMO_STAMP)

$(BENCH_STAMP): pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[bench]'
	@touch $@ $(DEMO_STAMP)
