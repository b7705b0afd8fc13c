# Each target sets itself up: Python 3.10 or newer and make are enough. `make PYTHON=python3.12 test` takes
# another Python; `make clean` forgets the environment.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet
FOLDERS ?= npuport rules tests fixtures/agents

.DEFAULT_GOAL := help
.PHONY: help demo test check docs afternoon bench compiled clean

help:
	@echo "make demo    check and fix a copy of the example agents"
	@echo "make test    run the tests (installs torch for the agents that tests run)"
	@echo "make check   ruff, mypy, import-linter"
	@echo "make docs    rule table of the README, pages in build/docs"
	@echo "make afternoon   run every command of docs/port_an_agent_in_an_afternoon.md again, and keep its output"
	@echo "make bench   speed against ruff; FOLDERS='a b' names what is read"
	@echo "make clean   remove the environment and what was built"

# One environment, filled as far as a target needs it: the demo does without tools and without torch.
$(VENV)/core: pyproject.toml requirements/core.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 10) else "npuport needs Python 3.10 or newer; name one: make PYTHON=python3.12 ...")'
	@echo "Setting up $(VENV) ..."
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
	@$(PIP) install --requirement requirements/core.txt
	@$(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@

$(VENV)/dev: $(VENV)/core requirements/dev.txt
	@echo "Installing the tools ..."
	@$(PIP) install --requirement requirements/dev.txt
	@touch $@

$(VENV)/test: $(VENV)/dev requirements/test.txt
	@echo "Installing torch and gymnasium for the tests ..."
	@$(PIP) install --requirement requirements/test.txt
	@touch $@

# Start-up must not depend on whether Python may write bytecode (PYTHONDONTWRITEBYTECODE).
compiled: $(VENV)/core
	@$(BIN)/python -m compileall -q npuport rules

demo: compiled
	@BIN="$(CURDIR)/$(BIN)" sh docs/demo.sh

test: $(VENV)/test compiled
	TORCH_DEVICE_BACKEND_AUTOLOAD=0 $(BIN)/python -m pytest -n auto

check: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: compiled
	$(BIN)/python docs/build.py

afternoon: $(VENV)/test compiled
	$(BIN)/python docs/rerun_commands.py docs/port_an_agent_in_an_afternoon.md

bench: $(VENV)/dev compiled
	$(BIN)/python benchmarks/check_speed.py $(FOLDERS)

clean:
	rm -rf $(VENV) build dist .npuport_cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
