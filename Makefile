# make play, make test: each sets up what it needs. make help lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
MUTMUT := mutmut==3.8.1
MUTANTS_INSTALL := .mutants-venv/bin/python -m pip install --quiet --disable-pip-version-check
# Much of the tests' time is spent forcing files to the disk: they use one in memory if it has 4 GB and may run programs.
IN_MEMORY := $(shell findmnt --noheadings --output OPTIONS /dev/shm 2>/dev/null | grep -qv noexec \
	&& [ $$(df --output=avail /dev/shm | tail -1) -gt 4000000 ] && echo TMPDIR=/dev/shm)
PYTEST := $(IN_MEMORY) $(BIN)/python -m pytest
WORKERS = $(or $(JOBS),$(shell expr $$(nproc) + 1))

COMPILE := .lock-venv/bin/uv pip compile --quiet --universal --python-version 3.10 --generate-hashes \
	--excludes excludes.txt --no-emit-index-url --no-header --no-annotate $(LOCK_FLAGS)

.DEFAULT_GOAL := help
.PHONY: help setup model play smoke test test-slow check mutants format lock docs story page image pictures clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST)

setup: $(VENV)/.complete  ## build .venv with the tools of developers and every extra

$(VENV)/.playable: requirements.lock pyproject.toml
	@echo "Installing ZorkGPT and the packages of requirements.lock into $(VENV): this takes a minute or two."
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) --no-deps --require-hashes -r requirements.lock
	-find $(VENV) -path '*xllamacpp*.so' -exec strip {} +  # 77 MB of symbols that nothing reads
	$(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.complete: requirements-dev.lock $(VENV)/.playable
	@echo "Installing the tools of developers, those of requirements-dev.lock, into $(VENV): this takes another minute."
	$(PIP_INSTALL) --no-deps --require-hashes -r requirements-dev.lock
	@touch $@

model: $(VENV)/.playable  ## fetch the embedded model, once
	$(BIN)/zorkgpt model pull

play: model  ## play five episodes, watched live: what does the first one teach the others?
	$(BIN)/zorkgpt run --episodes 5 --max-turns 60

smoke: setup model  ## a short run, its resume, replay and report on each Python from 3.10 to 3.13 that this machine has
	tests/smoke.sh

test: setup model  ## the tests of every day, on every core and one more because some wait (JOBS=1: one after the other)
	$(PYTEST) -m "not slow" -n $(WORKERS) --dist loadscope

test-slow: setup model  ## the tests that take minutes, in the same way
	$(PYTEST) -m slow -n $(WORKERS) --dist loadscope --no-loadscope-reorder

check: setup  ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.mutants-venv/.complete: requirements-dev.lock requirements.lock
	$(PYTHON) -m venv .mutants-venv
	$(MUTANTS_INSTALL) --no-deps --require-hashes -r requirements.lock
	$(MUTANTS_INSTALL) --no-deps --require-hashes -r requirements-dev.lock
	$(MUTANTS_INSTALL) $(MUTMUT)
	$(MUTANTS_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

mutants: .mutants-venv/.complete  ## what share of mutants the tests find (SAMPLE=900 SEED=1: of so many; JOBS=1: slowly)
	PATH="$(CURDIR)/.mutants-venv/bin:$$PATH" .mutants-venv/bin/python -m tools.mutants \
		$(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) $(if $(JOBS),--jobs $(JOBS))

format: setup  ## apply automatic fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock:  ## both lock files anew from pyproject.toml, for every Python from 3.10 on
	$(PYTHON) -m venv .lock-venv
	.lock-venv/bin/python -m pip install --quiet uv
	$(COMPILE) --extra checkout --output-file requirements.lock pyproject.toml
	$(COMPILE) --extra dev --constraint requirements.lock --output-file requirements-dev.lock pyproject.toml

docs: setup  ## regenerate the generated parts of docs: commands, options, measured figures
	$(BIN)/python -m tools.generated_docs

story:  ## compile the stories of our own (needs inform6-compiler and inform6-library)
	inform game_interface/stories/tidehouse.inf game_interface/stories/tidehouse.z5
	inform tests/stories/cell.inf tests/stories/cell.z5
	inform tests/stories/exits.inf tests/stories/exits.z5
	inform tests/stories/locked.inf tests/stories/locked.z5
	inform tests/stories/menus.inf tests/stories/menus.z5
	inform tests/stories/press.inf tests/stories/press.z5
	inform tests/stories/radio.inf tests/stories/radio.z3
	inform tests/stories/riddles.inf tests/stories/riddles.z5
	inform tests/stories/sleeper.inf tests/stories/sleeper.z5

page: setup  ## build the page of reports from web, and its types from the program (needs nodejs and npm)
	$(BIN)/python -m tools.page_schema
	cd web && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && npm run --silent build

image:  ## the container image (IMAGE=NAME:TAG PUSH=1: under that name, and published)
	docker build --tag $(or $(IMAGE),zorkgpt) .
	$(if $(PUSH),docker push $(IMAGE))

pictures: setup model  ## play a short run, and take the pictures of README.md from it (AGAIN=1: of the last one; needs chromium)
	$(BIN)/python -m tools.pictures $(if $(AGAIN),--again)

clean:  ## remove what the targets above have made
	rm -rf $(VENV) .lock-venv .mutants-venv mutants build web/node_modules *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
