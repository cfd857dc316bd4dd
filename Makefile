# Everything a developer runs. Each target makes what it needs first: on a fresh machine `make test` alone is enough.

PYTHON ?= python3
ARGS   ?=

# The PyTorch to compare with. One version, said here: of the newest, some indexes have only the build for GPUs, of gigabytes.
TORCH ?= torch==2.13.0

PY      := .venv/bin/python
PEERS   := .venv-peers/bin/python
SOURCES := setup.py $(shell find dflow -name '*.pyx' -o -name '*.pxd' -o -name '*.c' -o -name '*.h')

# Runs a command on another build than the one in place. The safe path keeps the working directory, and so the build in
# place, off sys.path, in the processes that a test starts too.
using = PYTHONSAFEPATH=1 PYTHONPATH=$(CURDIR)/build/$(1)/lib

# The Python files of such a build are copied afresh each time, or one that is deleted in dflow/ would live on there.
forget_python = @if [ -d build/$(1)/lib ]; then find build/$(1)/lib \( -name '*.py' -o -name '*.pyi' \) -delete; fi

.PHONY: help build test cluster numpy-suite bench bench-peers examples docs debug schedule lint asan tsan wheel clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s  %s\n", $$1, $$2}' Makefile

# Tests in two processes side by side; one of them in this one: ARGS="-n 0".
SIDES = -n 2 --dist worksteal

# One line a step, with its seconds; pip and compilers say nothing but errors.
define step
@printf '%s ... ' '$(1)'; start=$$(date +%s); $(2) && echo "$$(($$(date +%s) - start)) s"
endef

REQUIRES = 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])'
# Modules are compiled when they are first imported: all of them, by pip, take half a minute.
PIP      = -m pip install -qq --no-compile --disable-pip-version-check
EDITABLE = --no-build-isolation -e

# One environment for everything. Build requirements first: the build sees this environment, not a copy of its own.
.venv/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer, please: make PYTHON=...")'
	$(call step,An environment of its own: .venv,$(PYTHON) -m venv .venv)
	$(call step,NumPy and Cython,$(PY) $(PIP) $$($(PY) -c $(REQUIRES)))
	$(call step,What dflow and its tests need,DFLOW_LINK=1 $(PY) $(PIP) $(EDITABLE) '.[dev]')
	@touch $@

# Another one for the libraries to compare with: they are large, and nobody needs them to work on dflow.
.venv-peers/installed: pyproject.toml
	$(call step,An environment of their own: .venv-peers,$(PYTHON) -m venv .venv-peers)
	$(call step,NumPy and Cython,$(PEERS) $(PIP) $$($(PEERS) -c $(REQUIRES)))
	$(call step,NumExpr and JAX and PyTorch: a gigabyte and some minutes,DFLOW_LINK=1 $(PEERS) $(PIP) $(EDITABLE) '.[bench,peers]' '$(TORCH)')
	@touch $@

# A stamp, so that nothing to do costs nothing; setup.py decides which extensions are out of date.
build/release/built: .venv/installed $(SOURCES)
	@mkdir -p $(@D) && touch $@.begun
	$(call step,Building dflow: three minutes at first,$(PY) setup.py -q build_ext --inplace)
	@mv $@.begun $@

build: build/release/built ## build the extensions in place

test: build ## run the tests (make test ARGS="-k fork -x")
	@$(PY) -m pytest $(SIDES) $(ARGS)

cluster: build ## run the long tests on clusters of processes
	@$(PY) -m pytest -m cluster -n 0 tests/test_distributed.py $(ARGS)

numpy-suite: build ## run NumPy's own tests over dflow (make numpy-suite ARGS="test_numeric test_umath"): slow
	@$(PY) tools/numpy_suite.py $(ARGS)

bench: build ## run the benchmarks beside NumPy (make bench ARGS="--help")
	@$(PY) -m bench $(ARGS)

bench-peers: .venv-peers/installed ## run the tables of speed and of training beside NumExpr, JAX and PyTorch too
	$(call step,Building dflow: three minutes at first,$(PEERS) setup.py -q build_ext --inplace)
	@$(PEERS) -m bench fast training $(ARGS)

examples: build ## run the programs of examples/ with NumPy and dflow (make examples ARGS="mandelbrot")
	@$(PY) -m examples $(ARGS)

# What the site is made with: nobody needs it to work on dflow.
.venv/docs: .venv/installed
	$(call step,Sphinx and what it shows the pages with,DFLOW_LINK=1 $(PY) $(PIP) $(EDITABLE) '.[docs]')
	@touch $@

docs: build .venv/docs ## write docs/sync.md, how each name of NumPy's runs, and the site in build/docs: some minutes
	@$(PY) -m tools.sync_table
	@$(PY) -m tools.pages && echo build/docs/index.html

debug: .venv/installed ## run the tests on a build that asserts its invariants
	$(call forget_python,debug)
	$(call step,The debug build of what has changed,DFLOW_DEBUG=1 $(PY) setup.py -q build)
	@$(call using,debug) $(PY) -m pytest -m "not once" $(SIDES) $(ARGS)

schedule: .venv/installed ## run small concurrent programs under seeded schedules (make schedule ARGS="--seeds 0:10000")
	$(call forget_python,debug)
	$(call step,The debug build of what has changed,DFLOW_DEBUG=1 $(PY) setup.py -q build)
	@$(PY) -m tests.schedule $(ARGS)

# The sanitizers' runtime comes before Python's, and C++'s before NumPy loads it. A request for too much memory is to
# fail, as it does elsewhere, not to abort. pytest captures sys.stderr, not file 2: the report of a dying process shows.
MEMORY = address,undefined

asan: .venv/installed ## run the core tests under AddressSanitizer and UBSan (Linux, GCC)
	$(call forget_python,asan)
	$(call step,A build under AddressSanitizer,CC=$(CC) DFLOW_SANITIZE=$(MEMORY) $(PY) setup.py -q build)
	@LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) libstdc++.so.6" PYTHONMALLOC=malloc \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
	$(call using,asan) $(PY) -m pytest --capture=sys -m core $(ARGS)

# Where threads meet. Of the oracle's programs those with random delays: some thousands. ThreadSanitizer knows nothing of libraries
# that are not compiled for it: what CPython and NumPy write is not checked (their locks are), and of NumPy's loops it is told.
CONCURRENT = threads oracle groups joining lanes waking budget adopted sharing devices record cancel unseen spill

tsan: .venv/installed ## run the tests of what threads share under ThreadSanitizer (Linux, GCC)
	$(call forget_python,tsan)
	$(call step,A build under ThreadSanitizer,CC=$(CC) DFLOW_SANITIZE=thread $(PY) setup.py -q build)
	@LD_PRELOAD="$$($(CC) -print-file-name=libtsan.so) libstdc++.so.6" \
	TSAN_OPTIONS=ignore_noninstrumented_modules=1:die_after_fork=0:allocator_may_return_null=1:history_size=6 DFLOW_TEST_HANG=240 \
	$(call using,tsan) $(PY) -m pytest --capture=sys $(CONCURRENT:%=tests/test_%.py) \
	-k "not random_programs or delays" $(ARGS)

# The Pythons to build for: names on PATH or of pyenv's, or paths; those that are not here are told.
PYTHONS ?= python3.11 python3.12 python3.13

wheel: ## build dist/: the source distribution, and a wheel for each of PYTHONS, which its core tests try (Linux)
	@$(PYTHON) tools/wheels.py $(ARGS) $(PYTHONS)

lint: .venv/installed ## check style, Cython's hints, the length of files and lines, and who imports whom
	@$(PY) -m ruff check .
	@$(PY) tools/lint.py
	@$(PY) -m pytest -q --noconftest tests/test_layering.py

clean: ## remove what the targets above made, except .venv and .venv-peers
	rm -rf build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	rm -f docs/sync.md
	find dflow tests bench examples tools \( -name '*.so' -o -name '__pycache__' \) -prune -exec rm -rf {} + 2>/dev/null || true
