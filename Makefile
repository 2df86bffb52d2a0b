# Everything a developer does here. `make` alone lists it.
SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV  := .venv
PY    := $(VENV)/bin/python
STAMP := $(VENV)/.setup-done
# Tests run in so many processes, each with its own servers (about 4 GiB); a module stays in one.
SUITE := $(if $(JOBS),JOBS=$(JOBS)) $(PY) .ci/suite.py
PACKAGES := connect connectors transforms rest spark_sink
CODE  := $(PACKAGES) tests .ci $(wildcard bench)
UNTYPED := tests/(conformance/clients|.*/plugins|integration/group/member)
# Workers are started a thousand times here, and a start without bytecode costs half as much again.
unexport PYTHONDONTWRITEBYTECODE
say    = @printf '\033[1m==> %s\033[0m\n' $(1)

.PHONY: help setup check test pythons test-full durations demo demo-spark bench chaos kills simulation fuzz sbom docs release clean

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-19s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make .venv with everything that tests and the demo need (PYTHON=python3.13: with that one)
	@:

$(STAMP): pyproject.toml $(if $(filter command,$(origin PYTHON)),always)
	@.ci/setup "$(VENV)" $(PYTHON)
	@touch $@

.PHONY: always
always:

check: setup ## Style, types, import directions, what Python 3.11.0 has not, dead links, settings and figures on the pages
	$(call say,'ruff check')
	@$(PY) -m ruff check $(CODE)
	$(call say,'ruff format')
	@$(PY) -m ruff format --check $(CODE)
	$(call say,'mypy --strict')
	@$(PY) -m mypy
	$(call say,'names that tests import and call')
	@$(PY) -m mypy --explicit-package-bases --implicit-reexport --exclude '$(UNTYPED)' tests
	$(call say,'import directions')
	@$(VENV)/bin/lint-imports --no-cache
	$(call say,'what Python 3.11.0 has not')
	@$(PY) .ci/oldest.py
	$(call say,'links in the documentation')
	@$(PY) .ci/links.py
	$(call say,'settings in the documentation')
	@$(PY) .ci/pages.py --check
	$(call say,'figures in the documentation')
	@$(PY) -m bench.page --check

test: check ## Check, all unit tests, and one path through each real server (about 8 minutes on 2 cores)
	$(call say,'quick tests (the first run fetches servers and the jars of the broker)')
	@$(SUITE) $(or $(TESTS),quick)

pythons: ## The unit tests on every Python from 3.11 that is here, each in .venvs/, and a table (ONLY="3.14 3.11.2": on these)
	@$(or $(PYTHON),python3) .ci/pythons.py $(ONLY)

test-full: check ## Check, then all tests in one go (over an hour on 2 cores; JOBS=4 where there are cores and memory)
	@$(SUITE) full

durations: setup ## All tests, keeping how long each module took: continuous integration plans with it
	@$(SUITE) full --write-durations

demo: setup ## Lines flow from a file through a real Kafka broker into another file, and a Delta table (SPARK=0: without)
	@$(PY) -m connect.cli demo $(if $(filter 0,$(SPARK)),--no-spark)

demo-spark: setup ## A topic becomes a Delta table by Spark, on this machine or, with CLUSTER=2, on a cluster of two workers
	@$(PY) -m connect.cli demo --only-spark $(if $(CLUSTER),--cluster $(CLUSTER))

bench: setup ## Measure beside Kafka Connect and others, and judge (PARTS="jdbc s3"; QUICK=1: tiny sizes, to see it work)
	@$(PY) -m bench $(PARTS) $(if $(filter-out 0,$(QUICK)),--quick)

chaos: setup ## A pool of all connectors under faults by seed, judged, with a picture (SECONDS=600 SEED=7 ONLY=flow,.. FAULTS=kind,.. OLDER=commit)
	@$(PY) -m tests.chaos --seconds $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED)) $(if $(WORKERS),--workers $(WORKERS)) \
	  $(if $(ONLY),--only "$(ONLY)") $(if $(FAULTS),--faults "$(FAULTS)") \
	  $(if $(OLDER),--older "$(OLDER)")

kills: setup ## Kill processes of one connector at random moments; nothing may be lost (CHAOS_ROUNDS=200: so often in each test)
	@$(PY) -m pytest tests/chaos

simulation: setup ## Pools of simulated workers, each from a seed, against what must always hold (SEEDS=100000 FIRST=1 STEPS=1000)
	@$(PY) -m tests.simulation --seeds $(or $(SEEDS),1000) --first $(or $(FIRST),1) --steps $(or $(STEPS),1000)

fuzz: setup ## Feed each reader of others' bytes what chance makes, and see what breaks (SECONDS=600 each; ONLY=json)
	@FUZZ_SECONDS=$(or $(SECONDS),60) $(PY) -m pytest $(or $(ONLY:%=tests/fuzz/test_%.py),tests/fuzz)

sbom: setup ## Bills of materials in dist/sbom/ (CycloneDX 1.6): what comes with the package, and with each extra
	@$(PY) .ci/sbom.py

release: setup ## Build sdist and wheel in dist/ twice from the commit, check them, and say how to publish them
	@$(PY) .ci/release.py

docs: setup ## Write the tables of settings in the documentation, check every link, and build the site in build/site
	@$(PY) .ci/pages.py
	@$(PY) .ci/links.py --verbose
	@$(PY) .ci/documentation/build.py

clean: ## Remove what was made here (not the broker's data, not the cache of jars)
	rm -rf $(VENV) .venvs build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
