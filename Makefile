# SPDX-License-Identifier: Apache-2.0
# `make demo` and `make test` need nothing but make, a shell and Python 3.11 or newer.

VENV := .venv
READY := $(VENV)/.ready
BIN := $(VENV)/bin
# A file's tests share what they have set up, so one worker runs them all; long ones come first.
WORKERS := --numprocesses 2 --dist loadfile --no-loadscope-reorder
# What is kept on disk is made beforehand, not once for each worker: compiled loops, which take one core
# 20 seconds, and the classes that Spark loads, so that each of its many starts is shorter.
COMPILE := $(BIN)/python -c 'from scrub.app.prepare import compile_loops; compile_loops()'
GATHER := $(BIN)/python -c 'from scrub.app.prepare import gather_classes; gather_classes()'
# Where this variable is set, Python compiles every module anew in each of the hundreds of processes
# that tests start.
export PYTHONDONTWRITEBYTECODE :=
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help setup java chromium demo lint compiled gathered check test fuzz torture bench lock clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) java ## virtual environment, locked dependencies, Java

# Only when the lock file or the project file changed since the last time.
$(READY): requirements/dev.txt pyproject.toml
	@$(BIN)/python -c '' 2>/dev/null || { python="$$(.ci/ensure-python)" && "$$python" -m venv --clear $(VENV); }
	@echo "installing the locked dependencies into $(VENV)"
	@$(PIP) install --requirement requirements/dev.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@rm -rf $(VENV)/share/scrub
	@touch $@

java:
	@.ci/ensure-java

chromium:
	@.ci/ensure-chromium

demo: setup ## make a lake of 1 M orders, break it, and find what is broken
	@$(BIN)/scrub demo $(DEMO_ARGS)

lint: $(READY) ## style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

compiled: $(READY)
	@$(COMPILE)

gathered: $(READY) java
	@ls $(VENV)/share/scrub/*.jsa >/dev/null 2>&1 || $(GATHER)

check: ## lint and the fast tests; needs no Java
	@$(MAKE) --no-print-directory --jobs 2 lint compiled
	$(BIN)/pytest -m fast $(WORKERS) $(PYTEST_ARGS)

test: setup chromium ## lint and every test; what CI runs
	@$(MAKE) --no-print-directory --jobs 2 compiled lint gathered
	$(BIN)/pytest $(WORKERS) --durations=30 $(PYTEST_ARGS)

fuzz: setup ## mutate a million pairs and compare every verdict with the reference
	$(BIN)/python -m tests.scrub.codec.kv.fuzz $(FUZZ_ARGS)

# What the suite shows with few trials, with many: SCRUB_EVERY_TRIAL=1 checks three times as many
# random tables by every engine and strategy, SCRUB_INTERLEAVINGS is "of the model,of PostgreSQL".
torture: setup ## every campaign at length: trials, interleavings, kills under load; needs an hour
	SCRUB_EVERY_TRIAL=1 $(BIN)/pytest -q tests/checks/test_detection.py
	SCRUB_VALUES=200000 $(BIN)/pytest -q tests/meaning/test_equal_to_spark.py
	SCRUB_TRIALS=100 $(BIN)/pytest -q tests/checks/constraints/test_trials.py
	SCRUB_INTERLEAVINGS=10000,500 $(BIN)/pytest -q tests/scrub/stores/postgres/building/test_state_machine.py
	SCRUB_TRIGGER_TRIALS=300 $(BIN)/pytest -q tests/scrub/stores/postgres/building/test_trigger_trials.py
	SCRUB_STREAM_TRIALS=100000 $(BIN)/pytest -q tests/repair/streaming/test_model.py
	SCRUB_STREAM_RUNS=200 $(BIN)/pytest -q tests/scrub/stores/postgres/streaming/test_held_commits.py
	SCRUB_STREAM_KILLS=30 $(BIN)/pytest -q tests/scrub/app/streaming/test_under_load.py
	SCRUB_TRIALS=200 $(BIN)/pytest -q tests/scrub/stores/delta/test_repair_trials.py \
	    tests/scrub/stores/postgres/repairs/test_repair_trials.py tests/repair/test_pair_campaign.py
	SCRUB_TRIALS=500 $(BIN)/pytest -q tests/scrub/stores/delta/test_beside_trials.py \
	    tests/scrub/stores/postgres/repairs/test_beside_trials.py
	SCRUB_KILLS=20 $(BIN)/pytest -q tests/scrub/stores/delta/test_repair_kills.py \
	    tests/scrub/stores/postgres/repairs/test_repair_under_load.py
	$(BIN)/python -m tests.scrub.stores.postgres.building.campaign $(TORTURE_ARGS)

bench: setup ## measure against other ways to check; BENCH_ARGS="--rows 5000000"
	$(BIN)/python -m benchmarks.run $(BENCH_ARGS)

lock: ## renew requirements/dev.txt (needs uv); LOCK_ARGS=--upgrade for newer versions
	uv pip compile --no-emit-index-url --no-annotate --no-header --extra dev --python-version 3.11 \
	    $(LOCK_ARGS) --quiet --output-file requirements/dev.txt pyproject.toml

clean: ## remove everything that make made
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis \
	    .import_linter_cache spark-warehouse metastore_db derby.log
	find scrub checks repair reports tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} +
