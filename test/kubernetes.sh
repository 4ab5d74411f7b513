#!/usr/bin/env bash
# Moves the code, the modules, the generated data and the texts from the Kubernetes of
# render/verdict/apiserver/kubernetes.go to another release: test/kubernetes.sh v1.38.0
set -euo pipefail
cd "$(dirname "$0")/.."

data=render/verdict/apiserver/kubernetes.go
old=$(sed -n 's/^const Release = "\(.*\)"/\1/p' "$data")
new=${1:?which release? write RELEASE=v1.38.0}
minor() { cut -d. -f2 <<<"$1"; }
module() { echo "v0.${1#v1.}"; } # of k8s.io/api and the others
pattern() { echo "${1//./\\.}\b"; }

for folder in . test/controlplane examples/customcluster; do
  sed -i "/k8s\.io\//{s/ $(pattern "$old")/ $new/; s/ $(pattern "$(module "$old")")/ $(module "$new")/}" "$folder/go.mod"
  (cd "$folder" && go mod tidy)
done
sed -i "s/^const Release = .*/const Release = \"$new\"/; s/\(Newest Version = \).*/\1$(minor "$new")/" "$data"
# The range of versions, the release, and the newest version, in texts; the changelog is history.
sed -i "s/\(1\.[0-9]* to \)1\.$(minor "$old")\b/\11.$(minor "$new")/; s/$(pattern "$old")/$new/; s/\(newest version, \|code of Kubernetes \)1\.$(minor "$old")\b/\11.$(minor "$new")/" README.md docs/*.md
go test ./render/verdict/apiserver -run TestSinceIsComplete -update
go test ./render -run TestProblemsNameFileAndRemedy -update # their messages name the newest version
git --no-pager diff --stat
