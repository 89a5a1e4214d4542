# `make demo` and `make test` set up everything they need; see README.md.

PYTHON ?= python3
BIN := .venv/bin
DEMO_TASK ?= shop/read_sku
DEMO_STEPS ?= 12

# Threads of torch that wait must sleep: spinning, they slow each other tenfold on a busy machine.
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: help demo test test-ray example lint wheel-check setup clean

help:
	@echo "make demo         set up and run one episode with the pilot, headless"
	@echo "make test         set up and run all tests"
	@echo "make test-ray     set up with Ray too and run the tests of batches on a Ray cluster"
	@echo "make example      make docs/example and its pictures anew; ARGS='--agent pilot --model pilot'"
	@echo "make lint         ruff and mypy"
	@echo "make wheel-check  build the wheel and run a task from it, outside the checkout"
	@echo "make setup        set up only, with everything for development"
	@echo "make clean        remove .venv and what was built (fetched weights stay in the cache folder)"

demo:
	@$(PYTHON) scripts/setup.py --extra guidance
	$(BIN)/confkv-agent run --task $(DEMO_TASK) --max-steps $(DEMO_STEPS)

test:
	@$(PYTHON) scripts/setup.py --extra test
	$(BIN)/python scripts/run_tests.py

test-ray:
	@$(PYTHON) scripts/setup.py --extra test --extra ray
	$(BIN)/python -m pytest tests/evaluation/batch/test_ray_backend.py

example:
	@$(PYTHON) scripts/setup.py
	$(BIN)/python scripts/example_report.py $(ARGS)

lint:
	@$(PYTHON) scripts/setup.py --extra dev --no-browser --no-weights
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

wheel-check:
	@$(PYTHON) scripts/setup.py --no-weights
	$(BIN)/python scripts/wheel_check.py

setup:
	@$(PYTHON) scripts/setup.py --extra dev

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
