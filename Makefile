# Two commands do everything on a fresh machine with CPython >= 3.10 and pip:
#   make demo   explain real predictions, print them, write a report
#   make test   run everything that has to hold
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test benchmarks clean

demo: .venv/ready
	$(BIN)/python -m veridical

test: .venv/ready-dev
	PATH="$(CURDIR)/$(BIN):$$PATH" scripts/check

benchmarks:
	benchmarks/run

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[image]'
	touch $@

.venv/ready-dev: pyproject.toml .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

clean:
	rm -rf .venv .venv-bench report.html
