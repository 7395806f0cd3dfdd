# oneread. `make help` lists the targets; `make demo` and `make test` need no other step before.
#
# Each step leaves a stamp in .venv/stamps and is done again when what it depends on is newer.

PYTHON ?=
TORCH ?= 1
ARGS ?=
ifeq ($(origin CXX),default)
CXX :=
endif

TORCH_VERSION := 2.13.0
ifeq ($(TORCH),0)
TORCH_STEP := no-torch
TORCH_NOTE := echo 'TORCH=0: what needs PyTorch is skipped; the lines "SKIPPED" at the end say what'
else
TORCH_STEP := torch
TORCH_NOTE := :
endif

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# A process for each core; each begins with a part of its own, so that what a file needs is made once.
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

# Node, where there is none and it is needed; the page, so that what follows finds it built.
define node
@needs="$$($(BIN)/python tools/build/page.py needs $(1))" || exit 1; \
    [ -z "$$needs" ] || $(PIP) install "$$needs"
endef
define page
$(node)
@$(BIN)/python tools/build/page.py
endef

# Folders count too: they are newer when a file was added or removed.
SOURCES := CMakeLists.txt pyproject.toml README.md LICENSE $(wildcard tools/build/*.py) \
    $(shell find src \( -name __pycache__ -o -name node_modules -o -name static \) \
        -prune -o -print 2>/dev/null)
CXX_FILES := $(shell find src tests/cpp -name '*.[ch]pp' 2>/dev/null)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test player lint format docs build wheel sdist clean FORCE

help:  ## list the targets
	@echo 'Targets:'
	@awk -F ':.*  ## ' '/^[a-z]+:.*  ## / { printf "  %-8s %s\n", $$1, $$2 }' Makefile
	@echo 'Options: PYTHON=python3.12  CXX=clang++  TORCH=0 (test without PyTorch)  ARGS="..."'

demo: $(STAMPS)/package  ## install into .venv and run the main job on real logits
	@$(BIN)/oneread demo $(ARGS)
	@echo 'To watch such kernels at work: $(BIN)/oneread web' >&2

test: $(STAMPS)/test-tools $(STAMPS)/$(TORCH_STEP)  ## install what the tests need and run them
	@$(TORCH_NOTE)
	$(PYTEST) $(ARGS)

player: $(STAMPS)/package  ## check and test the page: types, logic
	$(call node,npm)
	$(BIN)/python tools/build/page.py npm run check
	PYTHON="$(CURDIR)/$(BIN)/python" $(BIN)/python tools/build/page.py npm test

lint: $(STAMPS)/lint-tools  ## check style, types, floors, docstrings, spelling and sizes
	@failed=""; \
	check() { echo "$$*" | cut -c 1-80; "$$@" || failed="$$failed $$1"; }; \
	check $(BIN)/ruff check --quiet .; \
	check $(BIN)/ruff format --quiet --check .; \
	check $(BIN)/clang-format --dry-run -Werror $(CXX_FILES); \
	check $(BIN)/mypy src; \
	check $(BIN)/lint-imports --no-cache --no-logo; \
	check $(BIN)/python tools/check_docstrings.py; \
	check $(BIN)/python tools/check_sizes.py; \
	check $(BIN)/typos; \
	[ -z "$$failed" ] || { echo "lint: failed:$$failed"; exit 1; }

format: $(STAMPS)/lint-tools  ## format Python and C++
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CXX_FILES)

docs: $(STAMPS)/test-tools  ## run every example of the docs and docstrings, check every link
	$(PYTEST) tests/docs $(ARGS)

build: $(STAMPS)/package  ## build and install into .venv

wheel: $(STAMPS)/package  ## build a wheel for this Python and machine in dist/
	CXX="$$(cat $(STAMPS)/compiler)" \
	    $(PIP) wheel --no-build-isolation --no-deps -C build-dir=build/venv -w dist .

sdist: $(STAMPS)/build-tools  ## build the source distribution in dist/
	$(page)
	$(BIN)/python -m build --no-isolation --sdist

clean:  ## remove what the other targets made
	rm -rf $(VENV) build dist wheelhouse
	rm -rf src/oneread/web/static src/oneread/web/player/node_modules
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# --- steps -----------------------------------------------------------------------------------

$(STAMPS)/python: FORCE
	@sh tools/make_venv.sh $(VENV) "$(PYTHON)"

# Rewritten only when the answer is another one, so that nothing is rebuilt otherwise.
$(STAMPS)/compiler: $(STAMPS)/python FORCE
	@found=$$($(BIN)/python tools/find_compiler.py "$(CXX)") || exit 1; \
	if [ "$$found" != "$$(cat $@ 2>/dev/null)" ]; then \
	    rm -rf build/venv; echo "$$found" >$@; \
	fi

$(STAMPS)/build-tools: pyproject.toml $(STAMPS)/python
	@echo 'Installing the build tools'
	@$(PIP) install --group build
	@touch $@

# The stamp has the time at which the build began: what is edited meanwhile is built next time.
$(STAMPS)/package: $(SOURCES) $(STAMPS)/compiler $(STAMPS)/build-tools
	@echo "Building oneread with $$(sed "s|[^ ]*/||g" $(STAMPS)/compiler) (about a minute)"
	$(page)
	@touch $@.begun
	@CXX="$$(cat $(STAMPS)/compiler)" \
	    $(PIP) install --no-build-isolation -C build-dir=build/venv '.[web,bench]'
	@mv $@.begun $@

$(STAMPS)/test-tools: pyproject.toml $(STAMPS)/package
	@echo 'Installing what the tests need'
	@$(PIP) install --group test
	@touch $@

$(STAMPS)/lint-tools: pyproject.toml $(STAMPS)/package
	@echo 'Installing what the checks need'
	@$(PIP) install --group lint
	@touch $@

# Each of these two undoes the other.
$(STAMPS)/torch: $(STAMPS)/python
	@echo 'Installing PyTorch $(TORCH_VERSION) (TORCH=0 does without it)'
	@$(PIP) install torch==$(TORCH_VERSION)
	@rm -f $(STAMPS)/no-torch
	@touch $@

$(STAMPS)/no-torch: $(STAMPS)/python
	@$(PIP) uninstall --yes torch 2>/dev/null
	@rm -f $(STAMPS)/torch
	@touch $@
