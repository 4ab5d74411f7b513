#!/usr/bin/env bash
# demo.sh: from an empty cluster to a command that ran in time, and back, on the cluster that
# KUBECONFIG names. Each command is printed before it runs. Needs bin/render and
# bin/controller.tar, as `make demo` makes them.
set -euo pipefail
cd "$(dirname "$0")/.."

: "${KUBECONFIG:?set KUBECONFIG to the cluster to show it on: one for trying things}"
PATH=$PWD/bin:$PATH
image=gatehouse-controller:demo archive=$PWD/bin/controller.tar

say() { printf '\n\033[1m# %s\033[0m\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }
after() { date -u -d "+$1 seconds" +%FT%TZ 2>/dev/null || date -u -v "+$1S" +%FT%TZ; } # GNU's date, or BSD's

# load gives the nodes the image. There is no registry: it goes to where each kind of cluster
# keeps its images.
load() {
  case $(kubectl config current-context) in
  kind-*) run kind load image-archive "$archive" --name "$(kubectl config current-context | cut -c 6-)" ;;
  k3d-*) run k3d image import "$archive" --cluster "$(kubectl config current-context | cut -c 5-)" ;;
  minikube) run minikube image load "$archive" ;;
  # CONTAINERD_ADDRESS is where ctr finds the socket, unless that is at its usual place.
  *) run ctr --namespace k8s.io images import "$archive" ;;
  esac
}

say "The controller's image goes to the nodes of $(kubectl config current-context)"
load

say 'A git repository, with an environment of its own'
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

say 'It is applied: everything is there before it is due'
run render apply --env demo
run kubectl get memcached,at,pods

say 'The Pod of the At waits behind its gate, until its time'
run kubectl wait at/greet --for condition=Complete --timeout 3m
run kubectl logs --selector cnat.programming-kubernetes.info/at=greet
run kubectl get memcached,at

say 'A Pod that started is no difference, and is not touched again'
run render diff --env demo --live
run render apply --env demo

say 'And back: nothing of it is left'
run render delete --env demo
