# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

# Flags for the demonstration, which tests to run, and how many files of them at
# a time:
#   make demo FLAGS='--total_rounds=3'
#   make test TESTS=tests/augment JOBS=1
# With SLOW=1 those that are marked as slow are run, too.
FLAGS ?=
TESTS ?= tests
# One more than a small machine has cores: some tests wait for other programs.
JOBS ?= 3

# The documentation's packages are those of this day.
DOCS_DAY := 2026-11-15T00:00:00Z

# TensorFlow's remarks about the machine hide what a run says.
export TF_CPP_MIN_LOG_LEVEL ?= 3

.PHONY: help
help: ## Say what can be made.
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST)

.PHONY: demo
demo: venv ## Train on a small task, from start to exported model.
	.venv/bin/python -m launch.demo --preset=semifl/digits_50_iid $(FLAGS)

# Of your own photos: FLAGS='--task=image_folder --image_dir=photos'.
.PHONY: demo-features
DEMO_FEATURES = demo_features_$(if $(FLAGS),own,digits)
demo-features: venv ## Train a layer on features of a pretrained network, and draw it.
	.venv/bin/python -m launch.train client_priors \
	  --model=frozen:efficientnet_lite0 --experiment_name=$(DEMO_FEATURES) \
	  $(or $(FLAGS),--backbone_size=64 --num_labeled=20 --num_clients=20 \
	  --partition=classes --classes_per_client=2)
	.venv/bin/python -m launch.plot --experiments=results/$(DEMO_FEATURES) \
	  --output_file=results/$(DEMO_FEATURES).png

.PHONY: test
# Thousands of graphs are scattered over memory, which is reached faster in large
# pages. Only the C library of GNU heeds it.
test: export GLIBC_TUNABLES ?= glibc.malloc.hugetlb=1
test: venv ## Run the tests.
	.venv/bin/python -m pytest --numprocesses=$(JOBS) --dist=loadfile \
	  $(if $(SLOW),,-m 'not slow') $(TESTS)

.PHONY: notebooks
notebooks: venv ## Run the notebooks of examples, and keep what they show.
	cd examples && for each in *.ipynb; do \
	  ../.venv/bin/python -c "import nbclient, nbformat; \
	    notebook = nbformat.read('$$each', 4); \
	    nbclient.NotebookClient(notebook, record_timing=False).execute(); \
	    nbformat.write(notebook, '$$each')" || exit; done

.PHONY: docs
docs: .venv-docs/requirements-docs.txt ## Make the documentation, build/site.
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/python -m mkdocs build --quiet --strict

.PHONY: lint
lint: venv ## Check format, style and types.
	.venv/bin/python -m ruff format --check .
	.venv/bin/python -m ruff check .
	.venv/bin/python -m pyrefly check

.PHONY: format
format: venv ## Format the code, and mend what can be mended.
	.venv/bin/python -m ruff check --fix-only .
	.venv/bin/python -m ruff format .

.PHONY: venv
venv: ## Make .venv as requirements.txt says, GPU=1 with CUDA; others do it, too.
venv: .venv/requirements.txt $(if $(GPU),.venv/requirements-gpu.txt)

# uv, where it is on PATH; else Python's own venv and pip. A different Python is
# chosen with PYTHON=/path/to/python3.11.
VENV := .venv
ifneq ($(shell command -v uv),)
CREATE = uv venv --quiet --python $(or $(PYTHON),3.11) $(VENV)
INSTALL = uv pip install --quiet --python $(VENV)/bin/python
else
CREATE = $(or $(PYTHON),python3.11) -m venv $(VENV)
INSTALL = $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check
endif
# Exactly what is locked: pip could not resolve it, and nothing else is built by.
INSTALL += --no-deps --no-build-isolation --require-hashes

# The copy of a lock is written last, so that an interrupted install is made
# anew. First comes what builds packages that come as sources only: an entry of
# the lock, which goes on while its lines end in a backslash.
.venv/requirements.txt: requirements.txt
	@echo 'making .venv: 2.5 GB, a minute or two' >&2
	@rm -rf .venv
	@$(CREATE) && .venv/bin/python -c \
	  'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { \
	  echo 'Needs uv (https://docs.astral.sh/uv), or Python 3.11 on Linux with' \
	    'its module venv: PYTHON=/path/to/python3.11 make ...' >&2; exit 1; }
	@sed -n '/^setuptools==/,/[^\]$$/p' $< >.venv/build_requirements.txt
	@$(INSTALL) -r .venv/build_requirements.txt
	@$(INSTALL) -r $<
	@cp $< $@

# uv applies the day of pyproject.toml to what it installs here, too.
.venv-docs/requirements-docs.txt: VENV := .venv-docs
.venv-docs/requirements-docs.txt: export UV_EXCLUDE_NEWER := $(DOCS_DAY)
.venv-docs/requirements-docs.txt: requirements-docs.txt
	@rm -rf $(VENV)
	@$(CREATE)
	@$(INSTALL) -r $<
	@cp $< $@

.venv/requirements-gpu.txt: requirements-gpu.txt .venv/requirements.txt
	@$(INSTALL) -r $<
	@cp $< $@

# Uses uv, from an environment of its own where there is none on PATH. A lock
# names what it was made from: pyproject.toml, without the settings of tools, or
# requirements-docs.in.
.PHONY: lock
lock: ## Make the locks, requirements*.txt, of pyproject.toml and requirements-docs.in.
	@set -e; scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT; \
	uv=$$(command -v uv) || { \
	  uv="$$scratch/uv/bin/uv"; \
	  "$${PYTHON:-python3.11}" -m venv "$$scratch/uv"; \
	  "$$scratch/uv/bin/python" -m pip install --quiet \
	    --disable-pip-version-check uv; \
	}; \
	inputs=$$(sed '/^\[tool.ruff\]/,$$d' pyproject.toml | sha256sum); \
	write() { \
	  echo '# Made by `make lock`; do not edit. Install it with --no-deps.'; \
	  echo "# Inputs: $$inputs"; \
	  "$$uv" pip compile --quiet --no-header "$$@"; \
	}; \
	write pyproject.toml --extra mlflow --extra ray --group dev >"$$scratch/all"; \
	sed -n "/^gpu = /,/^]/s/^ *'\(.*\)',/\1/p" pyproject.toml | \
	  write - >"$$scratch/gpu"; \
	inputs=$$(sha256sum <requirements-docs.in); \
	write requirements-docs.in --exclude-newer='$(DOCS_DAY)' >"$$scratch/docs"; \
	cp "$$scratch/all" requirements.txt; \
	cp "$$scratch/gpu" requirements-gpu.txt; \
	cp "$$scratch/docs" requirements-docs.txt

.PHONY: audit
audit: ## Look for known vulnerabilities in what is locked.
	@./audit.sh

.PHONY: release
release: lint docs audit ## Check all that a release has to hold, and build it into dist.
	@$(MAKE) --no-print-directory test SLOW=1
	@./release.sh

.PHONY: clean
clean: ## Remove environments and what tools leave behind.
	rm -rf .venv .venv-docs .pytest_cache .ruff_cache .hypothesis build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
