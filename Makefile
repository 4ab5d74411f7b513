# What people do here. `make help` lists it.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The tools are pinned in test/tools; go builds them once and caches them.
TOOL := go tool -modfile=test/tools/go.mod

.PHONY: generate
generate: ## Generate deepcopy, apply configurations and CRDs from apis/, RBAC from controller/
	$(TOOL) controller-gen object applyconfiguration paths=./apis/...
	$(TOOL) controller-gen crd paths=./apis/... output:crd:dir=apis/crds
	@# controller-gen lets a quantity have a fractional exponent, like 1E1.5, which no
	@# client can read: one such object would hide all others from every watch.
	sed -i 's/(\[eE\](\\+|-)?((\[0-9\]+(\\.\[0-9\]\*)?)|(\\.\[0-9\]+)))/([eE](\\+|-)?[0-9]{1,2})/' apis/crds/*.yaml
	$(TOOL) controller-gen rbac:roleName=gatehouse-controller paths=./controller/... output:rbac:dir=environments/base/gatehouse
