# make quickstart   train on the documentation installed here, measure it, summarize a file
# make test         all checks: style, types, import contracts, tests
# make fuzz         properties with new examples for FUZZ_MINUTES=30, then every moment of a fault
# make bench        measure how fast it is here; BENCH="--only rouge" measures that alone
# make pretrained   train the model that comes with pgsum, anew, and put it into pgsum/pretrained
# make wheel        dist/*.whl
# make clean        remove what the others made, but for runs/

VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --no-input --disable-pip-version-check --quiet \
	--constraint constraints.txt

.PHONY: quickstart test fuzz bench pretrained wheel clean
FUZZ_MINUTES := 30
PROSE := build/prose

# Training prints the folder of its run, and nothing else, on stdout.
quickstart: $(VENV)/installed
	@set -e; run=$$($(BIN)/pgsum train experiment=quickstart); \
	echo; echo "== ROUGE on held-out documentation =="; \
	$(BIN)/pgsum evaluate --model "$$run"; \
	echo; echo "== a summary of docs/example.txt =="; \
	$(BIN)/pgsum summarize --model "$$run" docs/example.txt

test: $(VENV)/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -q --numprocesses auto --maxprocesses 4 --dist loadfile

fuzz: $(VENV)/installed-dev
	$(BIN)/python tests/fuzz --minutes $(FUZZ_MINUTES)

bench: $(VENV)/installed-dev
	$(BIN)/python -m benchmarks --out build/benchmarks.json $(BENCH)

# What is there already is not made again, and a training that was interrupted goes on: build/prose/parts
# may be filled by hand, offline. VECTORS=glove.6B.50d.txt names word vectors to begin with.
pretrained: $(VENV)/installed
	@set -e; mkdir -p $(PROSE)/parts; \
	test -d $(PROSE)/parts/debian || $(BIN)/python data_scripts/debian.py $(PROSE)/parts/debian; \
	test -d $(PROSE)/parts/scitldr || $(BIN)/python data_scripts/scitldr.py $(PROSE)/parts/scitldr; \
	test -d $(PROSE)/all || $(BIN)/python data_scripts/technical_prose.py $(PROSE)/all --from $(PROSE)/parts; \
	if test ! -d $(PROSE)/run; then \
		$(BIN)/pgsum train experiment=pretrained data.root=$(PROSE)/all $(VECTORS:%=model.embeddings=%) \
			--out $(PROSE)/run; \
	elif test ! -f $(PROSE)/trained; then \
		$(BIN)/pgsum train --resume $(PROSE)/run; \
	fi; \
	touch $(PROSE)/trained; rm -rf $(PROSE)/scores; \
	for corpus in debian scitldr; do \
		$(BIN)/pgsum evaluate $(PROSE)/parts/$$corpus --model $(PROSE)/run --out $(PROSE)/scores/$$corpus; \
	done; \
	$(BIN)/pgsum evaluate docstrings --model $(PROSE)/run --out $(PROSE)/scores/docstrings; \
	$(BIN)/python docs/make_pretrained.py $(PROSE)/run $(PROSE)/scores/*

wheel: $(VENV)/installed-dev
	$(BIN)/python -m build --wheel

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(BIN)/python:
	@python=$$(for name in python3.11 python3.12 python3.13 python3.14 python3; do \
		"$$name" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
			&& echo "$$name" && break; \
	done); \
	test -n "$$python" || { echo "pgsum needs Python 3.11 or newer, with venv" >&2; exit 1; }; \
	"$$python" -m venv $(VENV)

# The stamps: nothing is installed again until what is asked for has changed.
$(VENV)/installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo 'installing into $(VENV)'; start=$$(date +%s); $(INSTALL) --editable . \
		&& echo "installed in $$(($$(date +%s) - start)) s" && touch $@

$(VENV)/installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo 'installing into $(VENV)'; start=$$(date +%s); $(INSTALL) --editable '.[dev]' \
		&& echo "installed in $$(($$(date +%s) - start)) s" && touch $@ $(VENV)/installed
