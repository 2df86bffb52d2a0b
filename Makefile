# Everything a developer does here. `make` alone lists it.
SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV  := .venv
PY    := $(VENV)/bin/python
STAMP := $(VENV)/.setup-done
# Tests run in so many processes, each with its own servers (about 4 GiB); a module stays in one.
JOBS  ?= 2
PYTEST := $(PY) -m pytest -n $(JOBS) --dist loadfile
PACKAGES := connect connectors transforms rest spark_sink
CODE  := $(PACKAGES) tests .ci $(wildcard bench)
say    = @printf '\033[1m==> %s\033[0m\n' $(1)

.PHONY: help setup check test test-full test-slow demo demo-spark bench bench-pool bench-jdbc bench-elasticsearch bench-mirror bench-s3 bench-spark chaos docs clean

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-19s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make .venv with everything that tests and the demo need (quick the second time)
	@:

$(STAMP): pyproject.toml
	@.ci/setup "$(VENV)"
	@touch $@

check: setup ## Style, types, import directions, dead links
	$(call say,'ruff check')
	@$(PY) -m ruff check $(CODE)
	$(call say,'ruff format')
	@$(PY) -m ruff format --check $(CODE)
	$(call say,'mypy --strict')
	@$(PY) -m mypy
	$(call say,'import directions')
	@$(VENV)/bin/lint-imports --no-cache
	$(call say,'links in the documentation')
	@$(PY) .ci/links.py

test: check ## Check, then the quick tests (about 20 minutes; JOBS=4 where there are cores and memory for it)
	$(call say,'quick tests (the first run fetches the jars of the broker)')
	@$(PYTEST) -m 'not slow'

test-full: test test-slow ## Check, then all tests

test-slow: setup ## Only the tests that `make test` leaves out; many want the machine for themselves
	@$(PY) -m pytest -m slow

demo: setup ## Lines flow from a file through a real Kafka broker into another file, and a Delta table (SPARK=0: without)
	@$(PY) -m connect.cli demo $(if $(filter 0,$(SPARK)),--no-spark)

demo-spark: setup ## A topic becomes a Delta table by Spark, on this machine or, with CLUSTER=2, on a cluster of two workers
	@$(PY) -m connect.cli demo --only-spark $(if $(CLUSTER),--cluster $(CLUSTER))

bench: setup ## Measure against Apache Kafka Connect on this machine
	@$(PY) -m bench

bench-pool: setup ## The same for a pool: 1,000 connectors, idle tasks, changed configurations, REST under load
	@$(PY) -m bench.pool
	@$(PY) -m bench.rest_latency

bench-jdbc: setup ## The JDBC connectors beside Debezium's sink, and beside COPY
	@$(PY) -m bench.jdbc

bench-elasticsearch: setup ## The Elasticsearch sink beside the client's own parallel_bulk
	@$(PY) -m bench.elasticsearch

bench-mirror: setup ## The mirror's source beside MirrorMaker 2's
	@$(PY) -m bench.mirror

bench-s3: setup ## The S3 sink beside a program written by hand for the same objects
	@$(PY) -m bench.s3

bench-spark: setup ## The Spark engine beside the same work written by hand, and without Spark
	@$(PY) -m bench.spark

chaos: setup ## Kill processes at random moments for a long time; nothing may be lost
	@$(PY) -m pytest tests/chaos

docs: setup ## Check that every link in the documentation leads somewhere
	@$(PY) .ci/links.py --verbose

clean: ## Remove what was made here (not the broker's data, not the cache of jars)
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
