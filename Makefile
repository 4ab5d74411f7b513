# What people do here; `make help` lists it.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

ENV ?= prod

# How the controller is built for its image, and wherever it is run or measured.
controller = CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o $(1) ./cmd/controller

# The tools are pinned in test/tools; go builds them once and caches them.
TOOL := go tool -modfile=test/tools/go.mod

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: render
render: bin/render ## Write rendered/ENV (default: prod)
	bin/render --env $(ENV)

.PHONY: render-all
render-all: bin/render ## Write all of rendered/
	bin/render --all

.PHONY: check
check: bin/render ## Fail with a diff unless rendered/ and generated files are up to date
	@# Some of what is generated is rendered: what to generate is said first.
	@status=0; \
	MAKE=$(MAKE) test/generated.sh || status=1; \
	bin/render --all --check || status=1; \
	$(MAKE) -s -C examples/customcluster check || status=1; \
	exit $$status

# Go knows whether there is anything to build.
.PHONY: bin/render
bin/render:
	@cmd/render/build.sh $@

.PHONY: test
test: ## Run the tests
	go test ./...
	go test -C release ./...
	go test -C examples/customcluster ./...

# A fuzzer left to itself spends most of its time on making inputs smaller.
FUZZ := GOGC=400 go test -run '^$$' -fuzzminimizetime 1x -fuzztime $${FUZZTIME:-30s}

.PHONY: fuzz
fuzz: ## Fuzz each target for FUZZTIME (default: 30s)
	$(FUZZ) ./render -fuzz FuzzRender
	$(FUZZ) ./render -fuzz FuzzFeatures
	$(FUZZ) ./render -fuzz FuzzOverrides
	$(FUZZ) ./render/check -fuzz FuzzSchedule
	$(FUZZ) ./render/tree -fuzz FuzzIndex
	GOGC=400 go test ./render -run FuzzFeatures -repositories 5000

# Kubernetes' own tool reads everything from source: compiling it takes minutes.
.PHONY: portable
portable: ## Type-check all code and tests for Windows and macOS
	go tool -modfile=test/controlplane/go.mod typecheck -platform windows/amd64,darwin/arm64 ./...

.PHONY: lint
lint: ## Lint
	$(TOOL) golangci-lint run ./...
	cd release && go tool -modfile=../test/tools/go.mod golangci-lint run ./...
	cd examples/customcluster && go tool -modfile=../../test/tools/go.mod golangci-lint run ./...

.PHONY: bench
bench: bench-render bench-controller ## Print what rendering and the controller cost beside their peers

.PHONY: bench-render
bench-render: bin/render ## Print what rendering costs beside kustomize build
	go build -modfile=test/tools/go.mod -o bin/kustomize sigs.k8s.io/kustomize/kustomize/v5
	go run ./test/bench/render

.PHONY: bench-controller
bench-controller: ## Print what the controller costs beside its peers, on the cluster that KUBECONFIG names; BENCH has flags
	$(call controller,bin/controller)
	go run ./test/bench/controller $(BENCH)

TIME := ^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$$

.PHONY: generate
generate: ## Generate code, CRDs and the reference from apis/, RBAC from the kinds
	$(TOOL) controller-gen object applyconfiguration paths=./apis/...
	$(TOOL) controller-gen object paths=./kind
	$(TOOL) controller-gen crd paths=./apis/... output:crd:dir=apis/crds
	$(TOOL) controller-gen object crd paths=./render/testkind output:crd:dir=render/testkind
	@# One object that no client can read would be left out by every watch, or hide all
	@# others from it. Of a quantity controller-gen takes a fractional exponent, like 1E1.5.
	sed -i 's/(\[eE\](\\+|-)?((\[0-9\]+(\\.\[0-9\]\*)?)|(\\.\[0-9\]+)))/([eE](\\+|-)?[0-9]{1,2})/' apis/crds/*.yaml
	@# The API server takes some times that are none, like 2026-01-01T00:00:00x5Z.
	sed -i '/format: date-time$$/{N;s/^\( *\)format: date-time\n *type: string$$/\1format: date-time\n\1pattern: $(TIME)\n\1type: string/}' apis/crds/*.yaml
	@# The manifest of the roles is embedded in what writes it: not read before it is whole.
	roles=$$(go run ./cmd/controller rbac) && echo "$$roles" >environments/base/gatehouse/role.yaml
	go run ./docs/reference > docs/reference.md
	@# The example has the manifests of Gatehouse as a repository of their own has them.
	cp apis/crds/*_*.yaml apis/crds/*.kustomizeconfig.yaml examples/customcluster/environments/base/crds/
	cp environments/base/gatehouse/*.yaml examples/customcluster/environments/base/gatehouse/
	$(MAKE) -C examples/customcluster generate

.PHONY: run
run: ## Run the controller against the current kubeconfig, as its ServiceAccount
	go run ./cmd/controller --as=system:serviceaccount:gatehouse-system:gatehouse-controller --metrics-bind-address=0 --zap-encoder=console

# What a release is called, and the image of its controller.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unversioned)

.PHONY: release
release: IMAGE ?= gatehouse-controller:$(VERSION)
release: ## Write dist/: render for all platforms, the image IMAGE of the controller, SBOMs, checksums
	go run -C release . -version '$(VERSION)' -image '$(IMAGE)'

.PHONY: image
image: IMAGE ?= gatehouse-controller:dev
image: ## Write bin/controller.tar, a static image for `docker load` or `ctr images import`
	go run -C release . -version '$(VERSION)' -image '$(IMAGE)' -archive bin/controller.tar

.PHONY: demo
demo: bin/render ## Show all of it on the cluster that KUBECONFIG names: kind, k3d, minikube or containerd; no registry
	$(MAKE) image IMAGE=gatehouse-controller:demo
	test/demo.sh

# The programs that tests run against are built once, unless KUBEBUILDER_ASSETS
# names a folder that has them.
.PHONY: controlplane
controlplane: ## Build the control plane for tests: etcd, kube-apiserver and kubectl
test: controlplane
ifndef KUBEBUILDER_ASSETS
controlplane: bin/etcd bin/kube-apiserver bin/kubectl
endif

CONTROLPLANE := go build -C test/controlplane -trimpath -o $(CURDIR)/bin
KUBERNETES := $(shell sed -n 's/^\tk8s.io\/kubernetes \(v[^ ]*\).*/\1/p' test/controlplane/go.mod)

bin/etcd: test/controlplane/go.mod
	$(CONTROLPLANE)/etcd -ldflags '-s -w' go.etcd.io/etcd/server/v3

bin/kube-apiserver bin/kubectl: test/controlplane/go.mod
	$(CONTROLPLANE)/$(@F) -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=$(KUBERNETES)' k8s.io/kubernetes/cmd/$(@F)

.PHONY: e2e
e2e: bin/render image ## Run everything on the cluster that KUBECONFIG names
	$(call controller,bin/controller)
	go test -tags e2e -count 1 -timeout 20m -v ./test/e2e

.PHONY: soak
soak: bin/render ## Make trouble for SOAK (default: 10m) on the cluster that KUBECONFIG names, and count what runs; SOAKFLAGS has flags
	$(call controller,bin/controller)
	go run ./test/soak -for $${SOAK:-10m} $(SOAKFLAGS)
