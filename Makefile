# make demo   set up, fetch the default weights, edit a real file
# make test   set up, fetch all weights, run every test
# make fuzz   give the readers of weights and settings random input for a while
# make check  format, lint, types, imports, tests without weights, sizes, generated docs

PYTHON ?= python3
BIN := .venv/bin
RUN := .venv/.installed
DEV := .venv/.installed-dev
PIP_QUIET := --quiet --disable-pip-version-check

.PHONY: demo test test-fast fuzz test-llamacpp test-peers check format docs clean
.DEFAULT_GOAL := help
.PHONY: help
help:
	@sed -n 's/^# //p' Makefile

.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "redraft needs Python 3.11 or later; set it by: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv .venv \
	  || { rm -rf .venv; echo "python3 -m venv does not work here; on Debian and Ubuntu install it:" \
	       "sudo apt-get install python3-venv" >&2; exit 1; }

$(RUN): pyproject.toml | .venv/bin/pip
	@echo "installing redraft into .venv"
	@$(BIN)/pip install $(PIP_QUIET) -e .
	@touch $@

$(DEV): pyproject.toml | .venv/bin/pip
	@echo "installing redraft and its development tools into .venv"
	@$(BIN)/pip install $(PIP_QUIET) -e '.[dev]'
	@touch $@ $(RUN)

DEMO := Rename the class Inventory to Stock everywhere.

demo: $(RUN)
	@$(BIN)/redraft models pull
	@echo "redraft edit examples/inventory.py -i '$(DEMO)'"
	@$(BIN)/redraft edit examples/inventory.py -i '$(DEMO)'
	@echo "step by step: $(BIN)/redraft explain-run"

test: $(DEV)
	@$(BIN)/redraft models pull qwen2.5-coder-1.5b qwen2.5-coder-0.5b
	$(BIN)/pytest -m "not llamacpp and not peers" --hypothesis-profile=thorough

test-fast: $(DEV)
	$(BIN)/pytest

SECONDS := 60

fuzz: $(DEV)
	REDRAFT_FUZZ_SECONDS=$(SECONDS) $(BIN)/pytest -m fuzz -rP

test-llamacpp: $(DEV)
	@echo "building the llamacpp engine; this takes some minutes"
	@$(BIN)/pip install $(PIP_QUIET) -e '.[dev,llamacpp]'
	@$(BIN)/redraft models pull qwen2.5-coder-1.5b qwen2.5-coder-0.5b
	$(BIN)/pytest -m llamacpp

test-peers: $(DEV)
	@$(BIN)/pip install $(PIP_QUIET) -e '.[dev,peers]'
	@$(BIN)/redraft models pull qwen2.5-coder-0.5b
	$(BIN)/pytest -m peers

check: $(DEV)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/sizes.py
	$(BIN)/cog --check README.md
	$(BIN)/pytest

format: $(DEV)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(DEV)
	$(BIN)/cog -r README.md
	WRITE_DOCS=1 $(BIN)/pytest -q tests/e2e/test_bad_inputs.py tests/server/test_server_hostile.py

clean:
	rm -rf .venv dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
