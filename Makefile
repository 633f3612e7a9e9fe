# Everything a contributor runs. `make` alone lists the targets.
#
# `setup` is part of every target that needs it. It runs once: a stamp in .venv remembers for which
# lock and which pyproject.toml it was prepared, so the second run is instant and needs no network.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# Where it is set, as in many images, every Python process compiles all that it imports once more,
# and the tests start hundreds: measured, 5.6 instead of 1.8 s of processor time to start pytest.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SPARK_READY := $(VENV)/.spark-ready
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST := $(BIN)/python -m pytest

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(READY) ## Prepare .venv, the broker's and Spark's jars; instant the second time
	@$(BIN)/lastword broker fetch > /dev/null & fetching=$$!; \
	$(MAKE) -s --no-print-directory $(SPARK_READY); wait $$fetching

$(SPARK_READY): $(READY)
	@$(BIN)/lastword pipeline prepare
	@touch $@

# The table is served before Spark is prepared. Without its class archive Spark starts more slowly.
.PHONY: up
up: $(READY) ## Run a broker, the user-profiles table, its dashboard and a pipeline on this machine until Ctrl-C
	@if [[ ! -e $(SPARK_READY) ]]; then \
		echo "Spark is prepared in the background, once; $(VENV)/spark.log says how far it is"; \
		nice $$(command -v flock > /dev/null && echo flock --nonblock $(VENV)/.spark-lock) \
			$(MAKE) --no-print-directory $(SPARK_READY) > $(VENV)/spark.log 2>&1 & fi; \
	exec $(BIN)/lastword up

.PHONY: test
test: setup browser ## Everything: format, lint, types and all tests against a real broker and browser
	@failed=0; $(MAKE) --no-print-directory static || failed=1; \
	$(PYTEST) -n 3 --no-loadscope-reorder || failed=1; exit $$failed

.PHONY: browser
browser: ## Find a Chromium for the dashboard's tests; install Debian's where that is allowed
	@scripts/ensure-chromium.sh >/dev/null

.PHONY: check
check: $(READY) static ## The fast gate: format, lint, types, and every test that needs no broker
	@LASTWORD_TEST_STREAMS_CASES=100 $(PYTEST) -m "not broker"

.PHONY: static
static: $(READY) ## Format, lint and types only
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy

.PHONY: format
format: $(READY) ## Rewrite the code as the formatter and the linter want it
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

.PHONY: test-unit
test-unit: $(READY) ## The tests of single parts and the store contract
	@$(PYTEST) tests/unit tests/contracts -m "not broker"

.PHONY: test-broker
test-broker: setup ## The tests against a real broker
	@$(PYTEST) -m broker

.PHONY: test-robustness
test-robustness: setup ## Killed processes, restarted brokers, lost files
	@$(PYTEST) tests/robustness

.PHONY: soak
soak: setup ## Random pipelines beside Kafka Streams, the native module under AddressSanitizer, 25 frozen owners that wake up, 100,000 operations on owned tables under attack, for each way to append (needs Go), 20 faults of instances that share a table, a million routed reads while owners change, a pipeline, a snapshot job and a broker killed 24 times, the parts of a database's capture 30 times, then the robustness tests over and over, for SOAK_MINUTES (default 30)
	@LASTWORD_TEST_STREAMS_CASES=20000 $(PYTEST) -x -q tests/streams
	@LASTWORD_TEST_MODES_CASES=50 $(PYTEST) -x -q tests/spark/test_both_modes.py
	@LASTWORD_TEST_ODD_RECORDS=100000 scripts/sanitize.sh -x tests/unit/test_native.py tests/unit/codecs/test_document_plan.py tests/unit/codecs/test_arrow_columns.py tests/contracts/test_native_batch.py tests/contracts/test_kafka_log.py tests/broker/log/test_odd_records.py
	@LASTWORD_TEST_KILLS=24 $(PYTEST) -x -q tests/spark/test_pipeline_recovery.py tests/spark/test_real_time.py tests/spark/test_snapshot_kills.py tests/regressions/tables/test_a_silent_broker_costs_no_rows.py -k "killed or hung"
	@LASTWORD_TEST_ZOMBIES=25 $(PYTEST) -x -q tests/robustness/test_zombie_owners.py tests/broker/owned/test_lost_instances.py -k "zombie or woken"
	@LASTWORD_TEST_KILLS=30 LASTWORD_TEST_SEED=$$RANDOM $(PYTEST) -x -q tests/spark/test_cdc_kills.py -k killed
	@LASTWORD_TEST_OWNERSHIP_OPERATIONS=$${LASTWORD_TEST_OWNERSHIP_OPERATIONS:-100000} $(PYTEST) -x -q tests/robustness/ownership/soak_checkers.py tests/robustness/ownership/soak_owned_tables.py
	@LASTWORD_TEST_PARTITION_FAULTS=$${LASTWORD_TEST_PARTITION_FAULTS:-20} $(PYTEST) -x -q tests/robustness/test_partitioned_faults.py
	@$(PYTEST) -x -q tests/robustness/soak_routed_reads.py
	@end=$$((SECONDS + 60 * $${SOAK_MINUTES:-30})); round=0; \
	while ((SECONDS < end)); do round=$$((round + 1)); echo "soak round $$round"; $(PYTEST) -x -q tests/robustness; done

.PHONY: bench
bench: setup ## Measure restore, reads and memory against librdkafka and Kafka Streams
	@for benchmark in benchmarks/*.py; do echo "== $$benchmark"; $(BIN)/python "$$benchmark"; done

.PHONY: docs
docs: $(READY) ## Write the generated part of the documentation again
	@$(BIN)/python docs/generate.py

.PHONY: lock
lock: ## Resolve new dependencies into requirements/*.txt; with UPGRADE=--upgrade all of them anew
	@$(call find-python); "$$python" -m venv build/lock; build/lock/bin/pip install --quiet uv; \
	compile="build/lock/bin/uv pip compile --quiet $(UPGRADE) --generate-hashes --universal --python-version 3.11 \
	  --no-header --no-annotate --no-emit-index-url"; \
	$$compile requirements/build.in --output-file requirements/build.txt; \
	$$compile pyproject.toml --extra local --extra spark --extra snapshots --extra service --extra dev --output-file requirements/lock.txt

.PHONY: clean
clean: ## Remove everything that was made here; LASTWORD_HOME stays as it is
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The first Python that is new enough and can make a virtual environment, as $$python.
define find-python
python=; for candidate in $${PYTHON:-python3.13 python3.12 python3.11 python3}; do \
	if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then python=$$candidate; break; fi; done; \
if [[ -z "$$python" ]]; then \
	echo "Lastword needs Python 3.11 or newer with its venv module, and none was found as" >&2; \
	echo "$${PYTHON:-python3.13, python3.12, python3.11 or python3}. Install one (on Debian and Ubuntu: apt install python3 python3-venv)" >&2; \
	echo "or name yours: make setup PYTHON=/path/to/python3" >&2; exit 1; fi
endef

# The build tools come first and from their own lock: with build isolation, unpinned ones would be
# fetched for PySpark's source package.
$(READY): requirements/build.txt requirements/lock.txt pyproject.toml hatch_build.py $(wildcard native/*)
	@if [[ ! -x $(BIN)/python ]]; then $(call find-python); \
		echo "Preparing $(VENV) with $$("$$python" --version) (once, some minutes: PySpark is 400 MB)"; \
		"$$python" -m venv $(VENV); fi
	@echo "1 of 3: build tools"; $(PIP) install --require-hashes -r requirements/build.txt
	@echo "2 of 3: packages"; $(BIN)/python scripts/install_locked.py requirements/lock.txt
	@echo "3 of 3: Lastword itself, with its C module where there is a compiler"; \
		$(PIP) install --no-deps --no-build-isolation --no-index --editable .
	@[[ -e src/lastword/_native.abi3.so ]] || \
		echo "no C compiler, or no headers of Python (python3-dev): Lastword works without its C module, more slowly"
	@touch $@
