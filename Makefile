# The two commands of the README are `make demo` and `make test`. Both install what they lack (see .ci/deps).

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/autocode
TOOLS := $(CACHE)/bin

# Tools have go.mod files of their own: as tools of this module they would change its versions.
GOLANGCI_LINT_VERSION := v2.15.0
HELM_VERSION := v3.21.4
GOTESTSUM_VERSION := v1.13.0
GOTESTSUM := $(TOOLS)/gotestsum-$(GOTESTSUM_VERSION)

# How long each fuzz target runs, and how long a package's tests may take at most on two cores.
FUZZTIME ?= 30s
TEST_TIMEOUT ?= 25m

# How often a test that failed is run again, alone; one that passes then is listed as flaky. CI sets it.
RERUNS ?= 0

# The sample repositories that ARGS names, whose toolchains the demo needs; the demo's default is go.
DEMO_REPO = $(or $(filter python node all,$(subst =, ,$(ARGS))),go)

.PHONY: build demo test kills lint bench bench-locate bench-loop fuzz helm-lint deps

build: ## the binary, in bin/autocode
	@.ci/deps build
	go build -o bin/autocode ./cmd/autocode

demo: ## the main job on a stand-in GitHub: make demo, make demo ARGS="--exit --repo python"
	@DEMO_REPO="$(DEMO_REPO)" .ci/deps demo
	@[ -x bin/autocode ] || echo "building autocode; the first time some minutes, for its parsers of other languages are C ..." >&2
	@go build -o bin/autocode ./cmd/autocode
	@bin/autocode demo $(ARGS)

test: ## every test
	@.ci/deps test
	@$(MAKE) --no-print-directory $(GOTESTSUM)
	go vet ./...
	@rm -f $(CACHE)/flaky
	@# Two packages at a time: many start databases, sandboxes and compilers of their own. Vet has just run.
	$(GOTESTSUM) --format pkgname --rerun-fails=$(RERUNS) --rerun-fails-max-failures 5 \
	  --rerun-fails-report $(CACHE)/flaky --packages ./... -- -vet=off -p 2 -timeout $(TEST_TIMEOUT)
	@[ ! -s $(CACHE)/flaky ] || { echo "Flaky: failed at first, passed when run again alone:"; cat $(CACHE)/flaky; }

# How often the server is killed by make kills; SEED repeats a series.
KILLS ?= 100

kills: ## kill -9 of the server at random points of a run: make kills KILLS=100, with SEED=… to repeat
	@.ci/deps demo
	AUTOCODE_TEST_KILLS=$(KILLS) AUTOCODE_TEST_KILL_SEED=$(SEED) go test -run '^TestKills$$' -v -timeout 24h ./cmd/autocode

lint: $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION) ## golangci-lint with .golangci.yml
	$< run ./...

bench: ## the benchmarks of every package
	go test -run '^$$' -bench . -benchmem -p 1 ./...

bench-locate: ## how well files are found: make bench-locate REPOS="DIR…" (clones, with history)
	go test -run '^TestBenchLocate$$' -v -timeout 60m ./loop/codemap -args -repos "$(REPOS)"

bench-loop: ## small broken projects with models that misbehave, and how each run ends
	go test -run '^TestBenchLoop$$' -v -timeout 60m ./cmd/autocode -args -bench-loop

fuzz: ## every fuzz target for FUZZTIME
	@grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r dir; do \
	  for target in $$(grep -hoE '^func Fuzz\w+' "$$dir"/*_test.go | cut -d' ' -f2); do \
	    echo "== $$dir $$target"; \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$dir"; \
	  done; \
	done

helm-lint: $(TOOLS)/helm-$(HELM_VERSION) ## the chart: lint, and render it
	$< lint --strict charts/autocode
	@# A helm that was built by go install takes the cluster for an old one.
	$< template autocode charts/autocode --kube-version 1.33 --set ingress.enabled=true --set github.appID=1 >/dev/null

deps: ## what the tests need, without running them
	@.ci/deps test docker

$(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	@mv $(TOOLS)/golangci-lint $@

$(TOOLS)/helm-$(HELM_VERSION):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) go install helm.sh/helm/v3/cmd/helm@$(HELM_VERSION)
	@mv $(TOOLS)/helm $@

$(GOTESTSUM):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) go install gotest.tools/gotestsum@$(GOTESTSUM_VERSION)
	@mv $(TOOLS)/gotestsum $@
