# Two commands: `make dashboard` and `make test`. Each sets up what it needs in .venv and works at once when run again.
PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8866
VENV ?= .venv
# Errors are shown; that somebody else's pip would warn of its cache, of its age or of root helps nobody here.
PIP = $(VENV)/bin/python -m pip --disable-pip-version-check --no-input
PYTEST = HF_HUB_OFFLINE=1 $(VENV)/bin/python -m pytest -q $(PYTEST_ARGS)
CHROMIUM = $(firstword $(foreach name,chromium chromium-browser google-chrome,$(shell command -v $(name) 2>/dev/null)))

.PHONY: dashboard test test-full chromium
.DELETE_ON_ERROR:

dashboard: $(VENV)/.dashboard-ready  ## serve the dashboard on http://HOST:PORT
	@$(VENV)/bin/hsd-viz dashboard --host '$(HOST)' --port '$(PORT)' $(if $(TOKEN),--token '$(TOKEN)')

test: $(VENV)/.test-ready chromium  ## the everyday tests, the browser's among them
	$(PYTEST) -m 'not slow$(if $(CHROMIUM),, and not browser)'

test-full: $(VENV)/.test-ready chromium  ## all tests
	$(PYTEST) $(if $(CHROMIUM),,-m 'not browser')

chromium:
	@test -n '$(CHROMIUM)' || echo 'Chromium is missing, so the browser tests are left out; to install it: apt-get install chromium (macOS: brew install chromium)' >&2

$(VENV)/bin/python:
	@command -v '$(PYTHON)' >/dev/null || { echo '$(PYTHON) is missing: install Python 3.11 or newer, or name it: make PYTHON=/path/to/python3' >&2; exit 1; }
	@'$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo '$(PYTHON) is too old: install Python 3.11 or newer, or name it: make PYTHON=/path/to/python3' >&2; exit 1; }
	@'$(PYTHON)' -c 'import ensurepip, venv' 2>/dev/null || { echo 'the venv module of $(PYTHON) is missing; to install it: apt-get install python3-venv' >&2; exit 1; }
	'$(PYTHON)' -m venv $(VENV)

$(VENV)/.dashboard-ready: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -qq --root-user-action=ignore -c constraints.txt -e '.[models,app]'
	@touch $@

$(VENV)/.test-ready: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -qq --root-user-action=ignore -c constraints.txt -e '.[test]'
	@touch $@ $(VENV)/.dashboard-ready
