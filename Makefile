# Each target makes the environment it needs in .venv, once.
PYTHON ?= python3
VENV := .venv
# Tests wait for processes more than they work, so there may be more than one for each core.
WORKERS ?= 4
# Tests of the tools, which are not the product, have a target of their own.
TOOLS := tests/soak tests/test_benchmarks.py tests/test_harness.py tests/test_mutate.py
BIN := $(VENV)/bin
# Hundreds of attacks on reviews, each with processes of its own; tests marked as slow go with them.
ATTACKS := tests/trust/attacks
# What "make coverage" runs: all of the suite, or COVERED=tests/bus.
COVERED ?= tests $(TOOLS:%=--ignore=%)
# What uses the packages that hookline depends on.
CORE := tests/_support tests/agent tests/bus tests/conformance tests/contract tests/dialects tests/e2e \
  tests/pipeline tests/settings tests/trace tests/translate tests/wire tests/test_hooks.py
# Frameworks and model SDKs: heavy, and only their own tests need them.
ADAPTERS := .venv-adapters
# The site and what is published.
DOCS := .venv-docs
# A second type checker, with a Node of its own.
TYPES := .venv-types
# The lowest releases that pyproject.toml allows.
LOWEST := .venv-lowest
# -qq: errors only. The pins hold for what builds the package too, as nothing is built in isolation.
PIP_FLAGS := -m pip --disable-pip-version-check install -qq -c
# The suite starts the command thousands of times, and each worker reads all tests: compiled once.
unexport PYTHONDONTWRITEBYTECODE
COMPILE := python -m compileall -q -j 0 src
ROOMS := $(filter-out $(TOOLS) tests/__pycache__ tests/adapters tests/browser,$(patsubst %/,%,$(sort $(wildcard tests/*/ tests/test_*.py))))
COLLECT := $(BIN)/python -m pytest -qq --co > /dev/null
PIP := $(BIN)/python $(PIP_FLAGS) constraints.txt
PIP_ADAPTERS := $(ADAPTERS)/bin/python $(PIP_FLAGS) constraints-adapters.txt
PIP_DOCS := $(DOCS)/bin/python $(PIP_FLAGS) constraints-docs.txt
# The theme prints on each run that it will be followed by another; docs/dependencies.md says so too.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/python -m mkdocs

.DEFAULT_GOAL := test
.PHONY: demo test test-attacks test-tools test-adapters suite-adapters test-types test-lowest test-browser browser check \
  check-adapters coverage wheel docs docs-serve dist bench bench-peer soak soak-bus clean

demo: $(VENV)/.run  ## an agent session with real hooks in a scratch project
	@$(BIN)/hookline demo

test: $(VENV)/.dev  ## the suite; "make check" looks at the code
	$(BIN)/$(COMPILE)
	@test -d tests/wire/__pycache__ || { \
	  $(COLLECT) $(wordlist 1,15,$(ROOMS)) & $(COLLECT) $(wordlist 16,99,$(ROOMS)); wait; }
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not slow' tests $(TOOLS:%=--ignore=%) --ignore=$(ATTACKS)

test-attacks: $(VENV)/.dev  ## reviews, guards and readers, attacked; property tests with many examples
	$(BIN)/$(COMPILE)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ATTACKS)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'slow or hypothesis' --hypothesis-profile=long \
	  tests $(TOOLS:%=--ignore=%) --ignore=$(ATTACKS)

test-tools: $(VENV)/.dev  ## the benchmarks, the soaks, the bug maker and the harness of the suite, tested
	$(BIN)/python -m pytest -n $(WORKERS) $(TOOLS)

test-adapters: $(ADAPTERS)/.dev $(VENV)/.dev  ## the adapters and model SDKs, with the real frameworks
	@$(MAKE) --no-print-directory -k -j 2 check-adapters suite-adapters

suite-adapters: $(ADAPTERS)/.dev $(VENV)/.dev
	$(ADAPTERS)/bin/$(COMPILE)
	$(ADAPTERS)/bin/python -m pytest -n 3 --dist worksteal tests/adapters
	$(BIN)/python -m pytest -n 3 --dist worksteal tests/adapters/genai  # with its newest release

test-types: $(TYPES)/.dev  ## whether a user's type checker knows the whole type of every public name
	@$(TYPES)/bin/python tools/public_types.py

test-lowest: $(LOWEST)/.dev  ## the core of the suite with the lowest releases that pyproject.toml allows
	$(LOWEST)/bin/python -m pytest -n $(WORKERS) --dist worksteal $(CORE)

coverage: $(VENV)/.dev  ## what no test enters, processes included, into build/coverage/html; takes long
	rm -rf build/coverage && mkdir -p build/coverage
	-$(BIN)/python -m coverage run -m pytest -q -n $(WORKERS) --dist worksteal $(COVERED)
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage html -q
	$(BIN)/python -m coverage report

test-browser: $(VENV)/.dev docs browser  ## the site and the page of "hookline trace --html" in Chromium
	$(BIN)/python -m pytest -n 2 --dist loadfile tests/browser

browser:  ## Chromium, where none is installed
	@for name in chromium chromium-browser google-chrome; do \
	  command -v $$name > /dev/null && exit 0; done; \
	  echo 'there is no Chromium here: installing the one of Debian, which needs apt-get and root;' \
	    'elsewhere install Chromium yourself and run this again' >&2; \
	  export DEBIAN_FRONTEND=noninteractive; \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium > /dev/null

docs: $(DOCS)/.dev  ## the site, into build/site; a broken link or a page outside the navigation fails
	@$(MKDOCS) build  # without -q, which hides warnings from the strict mode that counts them
	@echo 'the site is build/site/index.html'

docs-serve: $(DOCS)/.dev  ## the site on http://127.0.0.1:8000, built anew when a page changes
	@$(MKDOCS) serve

dist: $(DOCS)/.dev  ## the sdist and the wheel, into dist; checked as the package index checks them
	rm -rf dist
	$(DOCS)/bin/python -m hatchling build -d dist
	$(DOCS)/bin/python -m twine check --strict dist/*
	$(DOCS)/bin/python tools/wheel_check.py dist/*.whl

check: $(VENV)/.dev  ## lint, format, types, layers, traceability
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/traceability.py

check-adapters: $(ADAPTERS)/.dev  ## the types of what needs a framework
	$(ADAPTERS)/bin/mypy --config-file mypy-adapters.ini

wheel: $(VENV)/.dev  ## the package as it is installed, in an empty environment
	$(BIN)/python tools/wheel_check.py

bench: $(VENV)/.dev $(ADAPTERS)/.dev  ## measure, beside a baseline; writes benchmarks/results.json
	$(BIN)/python benchmarks/run.py --frameworks $(ADAPTERS)/bin/python

bench-peer: $(VENV)/.dev $(ADAPTERS)/.dev  ## the same workloads on the npm peer; needs Node
	$(BIN)/python benchmarks/run.py --peer --frameworks $(ADAPTERS)/bin/python

soak: $(VENV)/.dev  ## 30,000 events with hooks that misbehave, and 33,000 guards that quote a model: some minutes
	$(BIN)/python tools/soak/run.py

soak-bus: $(VENV)/.dev  ## 10,000 requests over NATS while servers, workers and networks break
	$(BIN)/python tools/soak_bus/run.py

clean:
	rm -rf $(VENV) $(ADAPTERS) $(DOCS) $(TYPES) $(LOWEST) build dist .hypothesis
	find . -type d \( -name __pycache__ -o -name '.*_cache' \) -prune -exec rm -rf {} +

# The demo needs neither the model SDK nor the tools, so a first look does not wait for them.
$(VENV)/.run: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo 'hookline needs Python 3.11 or newer, and "$(PYTHON)" is not:' \
	    'make $(or $(MAKECMDGOALS),$(.DEFAULT_GOAL)) PYTHON=/path/to/python3.12' >&2; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)
	@echo 'installing hookline into $(VENV)'
	@$(PIP) hatchling
	@$(PIP) --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo 'installing the tools into $(VENV)'
	@$(PIP) setuptools  # nkeys is built with it, and from Python 3.12 on no venv brings it
	@$(PIP) --no-build-isolation -e '.[genai,nats,watch,dev]'
	@touch $@

$(ADAPTERS)/.dev: pyproject.toml constraints-adapters.txt $(VENV)/.run
	@test -x $(ADAPTERS)/bin/pip || $(PYTHON) -m venv --clear $(ADAPTERS)
	@echo 'installing the frameworks into $(ADAPTERS)'
	@$(PIP_ADAPTERS) hatchling setuptools
	@$(PIP_ADAPTERS) --no-build-isolation mcp \
	  -e '.[genai,openai,anthropic,langchain,pydantic-ai,openai-agents,adk,claude,strands,http,nats,watch,dev]'
	@touch $@

$(DOCS)/.dev: pyproject.toml constraints-docs.txt $(VENV)/.run
	@test -x $(DOCS)/bin/pip || $(PYTHON) -m venv --clear $(DOCS)
	@echo 'installing the tools of the site into $(DOCS)'
	@$(PIP_DOCS) hatchling
	@$(PIP_DOCS) --no-build-isolation -e '.[docs]'
	@touch $@

$(TYPES)/.dev: pyproject.toml constraints.txt
	@test -x $(TYPES)/bin/pip || $(PYTHON) -m venv --clear $(TYPES)
	@echo 'installing basedpyright into $(TYPES)'
	@$(TYPES)/bin/python $(PIP_FLAGS) constraints.txt hatchling
	@$(TYPES)/bin/python $(PIP_FLAGS) constraints.txt --no-build-isolation -e . basedpyright pytest typing_extensions types-regex
	@touch $@

# The packages that users have are the lowest; the tools are what pip finds.
$(LOWEST)/.dev: pyproject.toml tools/lowest.py
	@test -x $(LOWEST)/bin/pip || $(PYTHON) -m venv --clear $(LOWEST)
	@echo 'installing the lowest releases into $(LOWEST)'
	@$(PYTHON) tools/lowest.py pyproject.toml > $(LOWEST)/constraints.txt
	@$(LOWEST)/bin/python $(PIP_FLAGS) $(LOWEST)/constraints.txt hatchling 'setuptools>=77'
	@$(LOWEST)/bin/python $(PIP_FLAGS) $(LOWEST)/constraints.txt --no-build-isolation -e '.[genai,nats,watch,dev]'
	@touch $@
