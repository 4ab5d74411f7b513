#!/usr/bin/env bash
# Writes render/delivery/definitions/definitions.zip and releases.txt from the Go modules below: raise a version here, and
# run this. A line has a name, its version or - for that of the module, a module with its version, and files in it.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
while read -r name version module files; do
  [[ $version != - ]] || version=${module#*@}
  source=$(cd "$folder" && go mod download -json "$module" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  to=$folder/$name@$version
  mkdir -p "$to"
  for file in $files; do
    for found in "$source"/$file; do
      cp "$found" "$to/$(cd "$source" && realpath --relative-to=. "$found" | tr / _)"
    done
  done
  echo "$module" > "$to/module"
done <<'RELEASES'
helm-controller v1.6.3 github.com/controlplaneio-fluxcd/flux-operator@v0.58.1 config/data/flux/v2.9.4/helm-controller.yaml
image-automation-controller v1.2.4 github.com/controlplaneio-fluxcd/flux-operator@v0.58.1 config/data/flux/v2.9.4/image-automation-controller.yaml
image-reflector-controller v1.2.4 github.com/controlplaneio-fluxcd/flux-operator@v0.58.1 config/data/flux/v2.9.4/image-reflector-controller.yaml
kustomize-controller v1.9.4 github.com/controlplaneio-fluxcd/flux-operator@v0.58.1 config/data/flux/v2.9.4/kustomize-controller.yaml
notification-controller v1.9.3 github.com/controlplaneio-fluxcd/flux-operator@v0.58.1 config/data/flux/v2.9.4/notification-controller.yaml
source-controller v1.9.4 github.com/controlplaneio-fluxcd/flux-operator@v0.58.1 config/data/flux/v2.9.4/source-controller.yaml
source-watcher v2.2.3 github.com/controlplaneio-fluxcd/flux-operator@v0.58.1 config/data/flux/v2.9.4/source-watcher.yaml
flux-operator - github.com/controlplaneio-fluxcd/flux-operator@v0.58.1 config/crd/bases/*.yaml
argo-cd - github.com/argoproj/argo-cd/v3@v3.5.1 manifests/crds/*-crd.yaml
argo-rollouts - github.com/argoproj/argo-rollouts@v1.8.3 manifests/crds/*-crd.yaml
argo-workflows - github.com/argoproj/argo-workflows/v3@v3.7.1 manifests/base/crds/full/argoproj.io_*.yaml
cert-manager - github.com/cert-manager/cert-manager@v1.21.2 deploy/crds/*.yaml
cilium - github.com/cilium/cilium@v1.20.2 pkg/k8s/apis/cilium.io/client/crds/v2/*.yaml pkg/k8s/apis/cilium.io/client/crds/v2alpha1/*.yaml
cloudnative-pg - github.com/cloudnative-pg/cloudnative-pg@v1.28.0 config/crd/bases/*.yaml
cluster-api - sigs.k8s.io/cluster-api@v1.14.2 core/config/crd/bases/*.yaml
crossplane - github.com/crossplane/crossplane@v1.20.0 cluster/crds/*.yaml
envoy-gateway v1.9.1 github.com/envoyproxy/gateway@v1.9.1 charts/gateway-helm/charts/crds/crds/generated/*.yaml
external-dns - sigs.k8s.io/external-dns@v0.20.0 config/crd/standard/*.yaml
external-secrets - github.com/external-secrets/external-secrets@v1.3.2 config/crds/bases/*.yaml
external-snapshotter - github.com/kubernetes-csi/external-snapshotter/client/v8@v8.7.0 config/crd/*.yaml
gateway-api - sigs.k8s.io/gateway-api@v1.5.0 config/crd/experimental/*.yaml
istio - istio.io/api@v1.32.0 kubernetes/customresourcedefinitions.gen.yaml
keda - github.com/kedacore/keda/v2@v2.21.0 config/crd/bases/*.yaml
knative-serving - knative.dev/serving@v0.51.0 config/core/300-resources/*.yaml
kro - github.com/kubernetes-sigs/kro@v0.9.4 helm/crds/kro.run_*.yaml
kyverno - github.com/kyverno/kyverno@v1.19.1 config/crds/kyverno/*.yaml config/crds/policies.kyverno.io/*.yaml
metallb - go.universe.tf/metallb@v0.16.2 config/crd/bases/*.yaml
network-attachment-definition-client - github.com/k8snetworkplumbingwg/network-attachment-definition-client@v1.7.7 artifacts/networks-crd.yaml
plugin-barman-cloud - github.com/cloudnative-pg/plugin-barman-cloud@v0.15.0 config/crd/bases/*.yaml
prometheus-operator - github.com/prometheus-operator/prometheus-operator@v0.85.0 example/prometheus-operator-crd/*.yaml
sealed-secrets - github.com/bitnami-labs/sealed-secrets@v0.40.0 helm/sealed-secrets/crds/*.yaml
tailscale - tailscale.com@v1.90.0 cmd/k8s-operator/deploy/crds/*.yaml
tekton-pipeline - github.com/tektoncd/pipeline@v1.3.0 config/300-crds/*.yaml
traefik - github.com/traefik/traefik/v3@v3.7.13 docs/content/reference/dynamic-configuration/traefik.io_*.yaml
velero - github.com/vmware-tanzu/velero@v1.18.3 config/crd/v1/bases/*.yaml config/crd/v2alpha1/bases/*.yaml
vertical-pod-autoscaler - k8s.io/autoscaler/vertical-pod-autoscaler@v1.8.1 deploy/vpa-v1-crd-gen.yaml
RELEASES
go test ./render/delivery/definitions -count 1 -run TestUpdate -update "$folder"
