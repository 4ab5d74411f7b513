# What people do here. `make help` lists it.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The tools are pinned in test/tools; go builds them once and caches them.
TOOL := go tool -modfile=test/tools/go.mod

.PHONY: generate
generate: ## Generate deepcopy, apply configurations and CRDs from apis/
	$(TOOL) controller-gen object applyconfiguration paths=./apis/...
	$(TOOL) controller-gen crd paths=./apis/... output:crd:dir=apis/crds
