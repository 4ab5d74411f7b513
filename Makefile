# The targets for people; `make help` lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

ENV ?= prod

# Random tests draw the same values in each run; RAPID_SEED=0 draws others.
export RAPID_SEED ?= 1

# Builds the controller with the flags of its image, to run or measure it.
controller = CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o $(1) ./cmd/controller

# The tools are pinned in test/tools; go builds them once and caches them.
TOOL := go tool -modfile=test/tools/go.mod

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: render
render: bin/render ## Render environments/ENV (default: prod) to rendered/ENV
	bin/render --env $(ENV)

.PHONY: render-all
render-all: bin/render ## Render every environment
	bin/render --all

.PHONY: check
check: bin/render ## Fail with a diff if rendered/ or generated files are out of date
	@# Some generated files are rendered, so they are checked first.
	@status=0; \
	MAKE=$(MAKE) test/generated.sh || status=1; \
	test/api.sh || status=1; \
	bin/render --all --check || status=1; \
	$(MAKE) -s -C examples/customcluster check || status=1; \
	exit $$status

.PHONY: api
api: ## Accept the current Go API for kinds, with which make check compares
	test/api.sh -w

# Phony, because go decides what to rebuild.
.PHONY: bin/render
bin/render:
	@cmd/render/build.sh $@

# A package whose tests need an API server imports test/apiserver.
imports = go list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./...

.PHONY: test
test: ## Run the tests that need no API server
	go test $$($(imports) | sed '/test\/apiserver/d; s/ .*//')
	go test -C release ./...
	go test -C examples/customcluster ./...

.PHONY: test-servers
test-servers: ## Run the tests that need an API server, with the newest and the oldest
	go test $$($(imports) | sed -n '/test\/apiserver/s/ .*//p')
	@# go does not see that these tests depend on the API server: a cached result would be wrong.
	TEST_ASSET_KUBE_APISERVER=$(CURDIR)/bin/oldest/kube-apiserver go test -count 1 ./test/...

.PHONY: explore
explore: ## Run the random tests without a server with other values, for EXPLORETIME seconds (default: 600); prints each seed
	end=$$(($$(date +%s) + $${EXPLORETIME:-600})); while [ $$(date +%s) -lt $$end ]; do \
		seed=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' '); echo "seed $$seed"; \
		go test -timeout 0 ./render -run TestRandomFoldersAreBuiltAsByFlux -folder-seed $$seed && \
		go test -timeout 0 ./test/oracle -mutation-seed $$seed -mutations 60 && \
		go test -timeout 0 $$($(imports) | sed '/pgregory.net\/rapid/!d; /test\/apiserver/d; s/ .*//') -rapid.seed $$seed || exit; \
	done

.PHONY: kubernetes
kubernetes: ## Move to the Kubernetes RELEASE, such as v1.38.0: modules, data, texts; CONTRIBUTING.md has the other steps
	test/kubernetes.sh $(RELEASE)

.PHONY: compare-apiservers
compare-apiservers: controlplane ## Print the objects of test/verdict that the kube-apiservers OLD and NEW judge or store otherwise
	OLD=$(abspath $(OLD)) NEW=$(abspath $(NEW)) go test -count 1 -v -run TestCompareAPIServers ./test/verdict

# By default a fuzzer spends most of its time on minimizing inputs.
FUZZ := GOGC=400 go test -run '^$$' -fuzzminimizetime 1x -fuzztime $${FUZZTIME:-30s}

.PHONY: fuzz
fuzz: ## Fuzz each target for FUZZTIME (default: 30s)
	$(FUZZ) ./render -fuzz FuzzRender
	$(FUZZ) ./render -fuzz FuzzFeatures
	$(FUZZ) ./render -fuzz FuzzOverrides
	$(FUZZ) ./render/verdict -fuzz FuzzSchedule
	$(FUZZ) ./render/tree -fuzz FuzzIndex
	$(FUZZ) ./cmd/render/command -fuzz FuzzWatchdog
	GOGC=400 go test ./render -run FuzzFeatures -repositories 5000

# Kubernetes' own tool; it reads all dependencies from source, which takes minutes.
.PHONY: portable
portable: ## Type-check all code and tests for Windows and macOS
	go tool -modfile=test/controlplane/go.mod typecheck -platform darwin/arm64 ./...
	@# envtest of controller-runtime 0.25 cannot be built for Windows, nor can the tests with it.
	go tool -modfile=test/controlplane/go.mod typecheck -platform windows/amd64 $$(go list -f '{{.ImportPath}} {{.Imports}} {{.TestImports}} {{.XTestImports}}' ./... | sed '/test\/apiserver/d; s/ .*//')

.PHONY: lint
lint: ## Run golangci-lint, a linter of assignments, and actionlint on the workflows
	@# Without shellcheck and pyflakes, which not every machine has. golangci-lint needs another yaml: hence two modules.
	go tool -modfile=test/tools/actionlint/go.mod actionlint -shellcheck= -pyflakes= .github/workflows/*.yaml render/verbs/setup/ci/github.yaml
	go run ./test/reading $$(git ls-files '*.go' | sed '/_test\.go$$/d; /\/testdata\//d; /zz_generated/d')
	$(TOOL) golangci-lint run ./...
	cd release && go tool -modfile=../test/tools/go.mod golangci-lint run ./...
	cd examples/customcluster && go tool -modfile=../../test/tools/go.mod golangci-lint run ./...

.PHONY: bench
bench: bench-render bench-controller ## Run both benchmarks

.PHONY: bench-render
bench-render: bin/render ## Compare the cost of rendering with kustomize build
	go build -modfile=test/tools/go.mod -o bin/kustomize sigs.k8s.io/kustomize/kustomize/v5
	go build -modfile=test/tools/validate/go.mod -o bin/kubectl-validate sigs.k8s.io/kubectl-validate
	go test -run '^$$' -bench . -timeout 0 ./test/bench/render

.PHONY: bench-controller
bench-controller: ## Compare the cost of the controller with its peers, on the cluster of KUBECONFIG; flags in BENCH
	$(call controller,bin/controller)
	go test -run '^$$' -bench . -benchtime 1x -timeout 0 ./test/bench/controller -args $(BENCH)

TIME := ^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$$

.PHONY: generate
generate: ## Generate code, CRDs, docs/reference.md and docs/output.schema.json from the types, and RBAC from the kinds
	$(TOOL) controller-gen object paths=./apis/...
	$(TOOL) controller-gen object paths=./kind
	$(TOOL) controller-gen crd paths=./apis/... output:crd:dir=apis/crds
	$(TOOL) controller-gen object crd paths=./test/testkind output:crd:dir=test/testkind
	@# controller-gen's pattern of a quantity admits a fractional exponent, like 1E1.5. Clients cannot
	@# decode such a value, and a watch may then hide all other objects.
	sed -i 's/(\[eE\](\\+|-)?((\[0-9\]+(\\.\[0-9\]\*)?)|(\\.\[0-9\]+)))/([eE](\\+|-)?[0-9]{1,2})/' apis/crds/*.yaml
	@# The API server accepts some strings that are not times, like 2026-01-01T00:00:00x5Z.
	sed -i '/format: date-time$$/{N;s/^\( *\)format: date-time\n *type: string$$/\1format: date-time\n\1pattern: $(TIME)\n\1type: string/}' apis/crds/*.yaml
	@# Go does not name its release of the tz database, but its update script does.
	release=$$(sed -n 's/^DATA=//p' "$$(go env GOROOT)/lib/time/update.bash") && rm -f render/verdict/zone/*.zip && cp "$$(go env GOROOT)/lib/time/zoneinfo.zip" "render/verdict/zone/$$release.zip"
	@# The program that prints role.yaml embeds it: write the file only after it has run.
	roles=$$(go run ./cmd/controller rbac) && echo "$$roles" >environments/base/gatehouse/role.yaml
	go run ./docs/reference > docs/reference.md
	go test ./cmd/render/command -run TestSchemaIsUpToDate -update >/dev/null
	@# The example has a copy of Gatehouse's manifests, as every other repository does.
	cp apis/crds/*_*.yaml apis/crds/*.kustomizeconfig.yaml examples/customcluster/environments/base/crds/
	cp environments/base/gatehouse/*.yaml examples/customcluster/environments/base/gatehouse/
	$(MAKE) -C examples/customcluster generate

.PHONY: run
run: ## Run the controller against the current kubeconfig, impersonating its ServiceAccount
	go run ./cmd/controller --as=system:serviceaccount:gatehouse-system:gatehouse-controller --metrics-bind-address=0 --zap-encoder=console

# The name of a release, which is also the tag of its image.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unversioned)

# The repository of a release on GitHub, OWNER/NAME; empty without one.
REPOSITORY ?= $(shell git remote get-url origin 2>/dev/null | sed -n 's|^.*github\.com[:/]\(.*\)|\1|p' | sed 's|\.git$$||')

.PHONY: release
release: IMAGE ?= gatehouse-controller:$(VERSION)
release: RENDER_IMAGE ?= gatehouse-render:$(VERSION)
release: ## Write dist/: render for all platforms, the images IMAGE and RENDER_IMAGE, SBOMs, checksums, manifests for package managers
	go run -C release . -version '$(VERSION)' -image '$(IMAGE)' -render-image '$(RENDER_IMAGE)' -repository '$(REPOSITORY)'

.PHONY: image
image: IMAGE ?= gatehouse-controller:dev
image: ## Write bin/controller.tar, the controller's image for `docker load` or `ctr images import`
	go run -C release . -version '$(VERSION)' -image '$(IMAGE)' -archive bin/controller.tar

.PHONY: demo
demo: bin/render ## Show everything on the cluster of KUBECONFIG: kind, k3d, minikube or containerd; no registry
	$(MAKE) image IMAGE=gatehouse-controller:demo
	test/demo.sh

# The control plane for tests is built once, unless KUBEBUILDER_ASSETS names a folder with its
# programs. Some tests run again with the API server of the oldest Kubernetes.
.PHONY: controlplane
controlplane: ## Build the control plane for tests: etcd, kube-apiserver and kubectl
test-servers: controlplane bin/oldest/kube-apiserver
ifndef KUBEBUILDER_ASSETS
controlplane: bin/etcd bin/kube-apiserver bin/kubectl
endif

CONTROLPLANE := go build -C test/controlplane -trimpath -o $(CURDIR)/bin
# The release of Kubernetes in test/controlplane, or a folder below it.
kubernetes = $(shell sed -n 's/^.*k8s.io\/kubernetes \(v[^ ]*\).*/\1/p' test/controlplane$(1)/go.mod)

bin/etcd: test/controlplane/go.mod
	$(CONTROLPLANE)/etcd -ldflags '-s -w' go.etcd.io/etcd/server/v3

bin/kube-apiserver bin/kubectl: test/controlplane/go.mod
	$(CONTROLPLANE)/$(@F) -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=$(kubernetes)' k8s.io/kubernetes/cmd/$(@F)

bin/oldest/kube-apiserver: test/controlplane/oldest/go.mod
	go build -C test/controlplane/oldest -trimpath -o $(CURDIR)/$@ -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=$(call kubernetes,/oldest)' k8s.io/kubernetes/cmd/kube-apiserver

.PHONY: e2e
e2e: bin/render image ## Run the end-to-end tests on the cluster of KUBECONFIG
	$(call controller,bin/controller)
	go test -tags e2e -count 1 -timeout 20m -v ./test/e2e

.PHONY: soak
soak: bin/render ## Disturb the cluster of KUBECONFIG for SOAK (default: 10m), and count starts; flags in SOAKFLAGS
	$(call controller,bin/controller)
	go run ./test/soak -for $${SOAK:-10m} $(SOAKFLAGS)
