# Every target does its own set-up: `make up` and `make test` work on an empty clone.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
FIRST_SEED ?= 1

.PHONY: setup up compose-up compose-down test test-e2e lint format lock chaos chaos-hosts faust-losses spark-cluster bench-models bench-operators lives evidence clean help

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

setup: $(STAMP) ## Install everything into .venv, nothing else

# One install path for people, CI and images: requirements/*.lock with hashes, then this tree itself.
$(STAMP): requirements/dev.lock pyproject.toml requirements/install
	@PYTHON="$(PYTHON)" requirements/install $(VENV) requirements/dev.lock
	@touch $@

up: setup ## Start the product: Kafka, Redis and all services; Ctrl-C stops it
	@$(BIN)/stigmergy up

compose-up: ## Start it in containers instead; prepares the machine, builds and waits: compose/up has options
	@compose/up

compose-down: ## Stop and remove those containers; their data stays in volumes
	@docker compose --file compose/compose.yaml --profile '*' down

test: setup ## Run the unit, property, simulation, integration and fault tests
	@tests/run

test-e2e: setup ## The tests in containers: starts an engine and makes images where there are none; leaves nothing running
	@tests/e2e/run

lint: setup ## Ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: setup ## Let ruff rewrite what it can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

chaos-hosts: SEEDS ?= 200
chaos-hosts: setup ## Seeded faults on real hosts: SEEDS=200 FIRST_SEED=1; Ctrl-C shows the sum so far
	@$(BIN)/python -m tests.chaos --seeds $(SEEDS) --first-seed $(FIRST_SEED)

chaos: SEED ?= 1
chaos: setup ## Kill, freeze and cut off every party in every phase of a move: SEED=1; Ctrl-C shows the sum so far
	@$(BIN)/python -m tests.chaos.moves --seed $(SEED)

faust-losses: setup ## What plain faust-streaming loses, and that we do not: the same stories on both
	@$(BIN)/pytest tests/integration/host_process/faust_losses

spark-cluster: setup ## The modelling service on a Spark standalone cluster on loopback
	@$(BIN)/pytest tests/integration/modelling -m spark_cluster

bench-models: setup ## Metric to model, and 20 minutes of memory
	@$(BIN)/stigmergy bench models --rows 2000 --seconds 1260

bench-operators: setup ## Operators against a hand-written loop, in process
	@$(BIN)/stigmergy bench operators

lives: SEEDS ?= 500
lives: JSON ?= docs/evidence/simulate-life.json
lives: setup ## Random lives of the brain with faults, its invariants checked all along: SEEDS=500 FIRST_SEED=1 JSON=FILE
	@$(BIN)/stigmergy simulate life --seeds $(SEEDS) --first-seed $(FIRST_SEED) --jobs $$(nproc) --json $(JSON)
	@$(BIN)/python -m services.lab.evidence

evidence: NAMES ?= $$($(BIN)/python -m services.lab.evidence --names)
evidence: setup ## Repeat experiments from fresh seeds and write docs/evidence.md: SEEDS=10 (else each one's own number) NAMES="ants/fig-2a ..." (all; takes hours)
	@for name in $(NAMES); do \
	  file=docs/evidence/$${name/\//-}; \
	  $(BIN)/stigmergy evaluate $$name $(if $(SEEDS),--seeds $(SEEDS)) --first-seed 101 --jobs $$(nproc) --json $$file.json --plot $$file.png || exit; \
	done
	@$(BIN)/python -m services.lab.evidence

lock: ## Resolve pyproject.toml anew and write the lock files
	@requirements/lock

clean: ## Remove the environment and what tools leave behind
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
