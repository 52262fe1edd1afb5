# `make serve` runs the server on the embedded default; `make test` passes all tests. Each sets up what it needs.

PYTHON ?= $(shell python3 requirements/interpreter.py)
BIN := .venv/bin
CLIENTS := .venv-compat/bin
PIP := -m pip install --quiet --disable-pip-version-check
PIP_INSTALL := $(BIN)/python $(PIP)

BOTH := -n 2 --dist worksteal  # on two cores
# The rooms below the front door, and a look at the door itself: under a minute.
QUICK := $(addprefix tests/,agent context core embed evals memory models storage turns wire test_architecture.py test_red.py \
	contract/test_store.py http/test_stream.py http/test_headers.py)

.DEFAULT_GOAL := help
.PHONY: help serve chat test clients compat check format bench bench-peers crash soak red wheel lock clean bytecode

help:  ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

serve: .venv/.run bytecode  ## run the server (fetches the embedded model's weights on the first start)
	@$(BIN)/everthread serve $(ARGS)

chat: .venv/.run bytecode  ## talk to it in the terminal
	@$(BIN)/everthread chat $(ARGS)

test: .venv/.dev bytecode  ## run every test that needs no Node
	$(BIN)/python -m pytest $(or $(ARGS),$(BOTH))
	$(if $(ARGS),,@$(MAKE) --no-print-directory clients)

clients: .venv/.dev .venv-compat/.ready  ## run the tests of clients in Python
	$(CLIENTS)/python -m pytest -c tests/compat/clients/pytest.ini $(or $(ARGS),tests/compat/clients)

compat: .venv/.dev  ## run the tests of clients for Node, where there is one
	@PYTHONPATH=tests $(BIN)/python tests/compat/node/run.py $(ARGS)

check: .venv/.dev  ## the quick loop: format, lint, types, import contracts, fast tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -m "not slow" $(or $(ARGS),$(BOTH) $(QUICK))

format: .venv/.dev  ## format the code and mend what the linter can
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .

bench: .venv/.dev bytecode  ## measure against a direct upstream and print ratios
	$(BIN)/python -m bench $(ARGS)

bench-peers: .venv/.dev bytecode  ## the same load through Hermes Agent and LiteLLM, side by side (ARGS=--write-docs)
	$(BIN)/python -m bench.peers $(ARGS)

crash: .venv/.dev bytecode  ## kill a loaded server again and again and print what it kept (ARGS="--kills 1000")
	PYTHONPATH=tests $(BIN)/python -m crash $(ARGS)

soak: .venv/.dev bytecode  ## load a server for half an hour and say whether anything grows (ARGS="--minutes 5")
	PYTHONPATH=tests $(BIN)/python -m soak $(ARGS)

red: .venv/.dev  ## break each promise in a copy of the tree and see its test fail
	$(BIN)/python -m red $(ARGS)

wheel: .venv/.dev  ## build the wheel into dist/
	$(BIN)/python -m hatchling build -t wheel

lock: .venv/.dev  ## pin versions and hashes again (needs uv on the PATH)
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-header -q requirements/build.in -o requirements/build.lock
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-header -q pyproject.toml -o requirements/run.lock
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-header -q pyproject.toml --group dev -c requirements/run.lock -o requirements/dev.lock
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-header -q --group pyproject.toml:compat -o requirements/compat.lock

clean:  ## remove the virtual environment and caches
	rm -rf .venv .venv-compat .venv-peers src/everthread/__pycache__ src/everthread/*/__pycache__ tests/compat/node/node_modules dist build .mypy_cache .ruff_cache .hypothesis

.venv/bin/python .venv-compat/bin/python:
	@python=$(or $(PYTHON),false); \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Everthread needs Python 3.11 or newer; say which with: make PYTHON=python3.12 ..."; exit 1; }; \
	$$python -m venv $(@:/bin/python=)

.venv/.run: requirements/run.lock requirements/build.lock pyproject.toml | .venv/bin/python
	@echo "installing pinned packages into .venv ..."
	@$(PIP_INSTALL) --require-hashes -r requirements/run.lock -r requirements/build.lock
	@$(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

.venv/.dev: .venv/.run requirements/dev.lock
	@echo "installing pinned development tools into .venv ..."
	@$(PIP_INSTALL) --require-hashes -r requirements/dev.lock
	@touch $@

bytecode: .venv/.run
	@$(BIN)/python -m compileall -qq src || true  # or every start compiles all of it, where PYTHONDONTWRITEBYTECODE is set

.venv-compat/.ready: requirements/compat.lock | .venv-compat/bin/python
	@echo "installing pinned clients into .venv-compat ..."
	@$(CLIENTS)/python $(PIP) --require-hashes -r requirements/compat.lock
	@touch $@
