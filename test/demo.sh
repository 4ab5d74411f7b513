#!/usr/bin/env bash
# demo.sh runs a command on time in an empty cluster, and cleans up again. It uses the cluster of
# KUBECONFIG, and prints each command before running it. `make demo` builds bin/render and
# bin/controller.tar for it.
set -euo pipefail
cd "$(dirname "$0")/.."

: "${KUBECONFIG:?set KUBECONFIG to a test cluster}"
PATH=$PWD/bin:$PATH
image=gatehouse-controller:demo archive=$PWD/bin/controller.tar

say() { printf '\n\033[1m# %s\033[0m\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }
after() { date -u -d "+$1 seconds" +%FT%TZ 2>/dev/null || date -u -v "+$1S" +%FT%TZ; } # GNU's date, or BSD's

# load copies the image to the nodes, without a registry, in the way of each kind of cluster.
load() {
  case $(kubectl config current-context) in
  kind-*) run kind load image-archive "$archive" --name "$(kubectl config current-context | cut -c 6-)" ;;
  k3d-*) run k3d image import "$archive" --cluster "$(kubectl config current-context | cut -c 5-)" ;;
  minikube) run minikube image load "$archive" ;;
  # Set CONTAINERD_ADDRESS unless containerd has its default socket.
  *) run ctr --namespace k8s.io images import "$archive" ;;
  esac
}

say "Load the controller's image into the nodes of $(kubectl config current-context)"
load

say 'Create a git repository with an environment'
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
run git init --quiet
run render init --env demo --image "$image" --ci none
run render new memcached sessions --env demo --size 2
run render new at greet --env demo --schedule "$(after 60)" --command 'echo hello'
run render --env demo
git add .
git -c user.name=demo -c user.email=demo@example.com commit --quiet --message 'Gatehouse'

say 'Apply it: all objects exist before the At is due'
run render apply --env demo
run kubectl get memcached,at,pods

say 'The Pod of the At waits behind its gate until the At is due'
run kubectl wait at/greet --for condition=Complete --timeout 3m
run kubectl logs --selector cnat.programming-kubernetes.info/at=greet
run kubectl get memcached,at

say 'A started Pod is neither a difference nor touched again'
run render diff --env demo --live
run render apply --env demo

say 'Delete everything'
run render delete --env demo
