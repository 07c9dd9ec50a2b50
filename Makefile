# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

# Flags for the demonstration, which tests to run, and how many files of them at
# a time:
#   make demo FLAGS='--total_rounds=3'
#   make test TESTS=tests/augment JOBS=1
FLAGS ?=
TESTS ?= tests
JOBS ?= 2

# TensorFlow's remarks about the machine hide what a run says.
export TF_CPP_MIN_LOG_LEVEL ?= 3

.PHONY: help
help: ## Say what can be made.
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' $(MAKEFILE_LIST)

.PHONY: demo
demo: venv ## Train on a small task, from start to exported model.
	.venv/bin/python -m launch.demo --preset=semifl/digits_50_iid $(FLAGS)

.PHONY: test
test: venv ## Run the tests.
	.venv/bin/python -m pytest --numprocesses=$(JOBS) --dist=loadfile $(TESTS)

.PHONY: lint
lint: venv ## Check format and style.
	.venv/bin/python -m ruff format --check .
	.venv/bin/python -m ruff check .

.PHONY: format
format: venv ## Format the code, and mend what can be mended.
	.venv/bin/python -m ruff check --fix-only .
	.venv/bin/python -m ruff format .

.PHONY: venv
venv: ## Make .venv as requirements.txt says, GPU=1 with CUDA; others do it, too.
	@./install.sh

# Uses uv, from an environment of its own where there is none on PATH.
.PHONY: lock
lock: ## Make requirements.txt and requirements-gpu.txt anew.
	@set -e; scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT; \
	uv=$$(command -v uv) || { \
	  uv="$$scratch/uv/bin/uv"; \
	  "$${PYTHON:-python3}" -m venv "$$scratch/uv"; \
	  "$$scratch/uv/bin/python" -m pip install --quiet \
	    --disable-pip-version-check uv; \
	}; \
	for lock in requirements requirements-gpu; do \
	  "$$uv" pip compile --quiet --no-header --config-file resolver.toml \
	    $$lock.in -o "$$scratch/$$lock.txt"; \
	  { \
	    echo '# Made by `make lock`; do not edit. Install it with --no-deps.'; \
	    echo "# Inputs: $$(cat $$lock.in resolver.toml | sha256sum)"; \
	    cat "$$scratch/$$lock.txt"; \
	  } >$$lock.txt; \
	done

.PHONY: audit
audit: ## Look for known vulnerabilities in what is locked.
	@./audit.sh

.PHONY: clean
clean: ## Remove .venv and what tools leave behind.
	rm -rf .venv .venv.lock .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
