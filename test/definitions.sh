#!/usr/bin/env bash
# Writes render/delivery/definitions/definitions.json.gz from the releases below: raise a version here, and run this.
# All of these projects have the Apache License 2.0. MIRROR may name a folder with a git repository OWNER+NAME/repo for
# each; without it, the files are downloaded.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
while read -r repository version path; do
  to=$folder/${repository#*/}@$version
  mkdir -p "$to"
  if [[ -n ${MIRROR:-} ]]; then
    git -C "$MIRROR/${repository/\//+}/repo" show "$version:$path" > "$to/${path##*/}"
  else
    curl -fsSL -o "$to/${path##*/}" "https://raw.githubusercontent.com/$repository/$version/$path"
  fi
done <<'RELEASES'
fluxcd/kustomize-controller v1.9.4 config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml
fluxcd/source-controller v1.9.1 config/crd/bases/source.toolkit.fluxcd.io_buckets.yaml
fluxcd/source-controller v1.9.1 config/crd/bases/source.toolkit.fluxcd.io_externalartifacts.yaml
fluxcd/source-controller v1.9.1 config/crd/bases/source.toolkit.fluxcd.io_gitrepositories.yaml
fluxcd/source-controller v1.9.1 config/crd/bases/source.toolkit.fluxcd.io_helmcharts.yaml
fluxcd/source-controller v1.9.1 config/crd/bases/source.toolkit.fluxcd.io_helmrepositories.yaml
fluxcd/source-controller v1.9.1 config/crd/bases/source.toolkit.fluxcd.io_ocirepositories.yaml
fluxcd/helm-controller v1.6.3 config/crd/bases/helm.toolkit.fluxcd.io_helmreleases.yaml
fluxcd/notification-controller v1.9.3 config/crd/bases/notification.toolkit.fluxcd.io_alerts.yaml
fluxcd/notification-controller v1.9.3 config/crd/bases/notification.toolkit.fluxcd.io_providers.yaml
fluxcd/notification-controller v1.9.3 config/crd/bases/notification.toolkit.fluxcd.io_receivers.yaml
fluxcd/image-automation-controller v1.2.1 config/crd/bases/image.toolkit.fluxcd.io_imageupdateautomations.yaml
fluxcd/image-reflector-controller v1.2.0 config/crd/bases/image.toolkit.fluxcd.io_imagepolicies.yaml
fluxcd/image-reflector-controller v1.2.0 config/crd/bases/image.toolkit.fluxcd.io_imagerepositories.yaml
controlplaneio-fluxcd/flux-operator v0.58.1 config/crd/bases/fluxcd.controlplane.io_fluxinstances.yaml
controlplaneio-fluxcd/flux-operator v0.58.1 config/crd/bases/fluxcd.controlplane.io_fluxreports.yaml
controlplaneio-fluxcd/flux-operator v0.58.1 config/crd/bases/fluxcd.controlplane.io_resourcesetinputproviders.yaml
controlplaneio-fluxcd/flux-operator v0.58.1 config/crd/bases/fluxcd.controlplane.io_resourcesets.yaml
argoproj/argo-cd v3.5.1 manifests/crds/application-crd.yaml
argoproj/argo-cd v3.5.1 manifests/crds/applicationset-crd.yaml
argoproj/argo-cd v3.5.1 manifests/crds/appproject-crd.yaml
RELEASES
go test ./render/delivery/definitions -count 1 -run TestUpdate -update "$folder"
