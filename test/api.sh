#!/usr/bin/env bash
# Compares the Go API for authors of kinds with test/api, and fails on any difference, so that no change
# of the API goes unnoticed. With -w, it updates test/api.
set -euo pipefail
cd "$(dirname "$0")/.."

packages="kind kindtest kind/registry cmd/render/command cmd/controller/command"
apidiff() { go tool -modfile=test/tools/go.mod apidiff "$@"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

status=0
for package in $packages; do
  file=test/api/${package//\//-}.gz
  if [ "${1-}" = -w ]; then
    apidiff -w "$work/api" "./$package"
    gzip -9nc "$work/api" >"$file"
    continue
  fi
  gunzip -c "$file" >"$work/api"
  differences=$(apidiff "$work/api" "./$package")
  if [ -n "$differences" ]; then
    echo "$package:"$'\n'"$differences"
    status=1
  fi
done
if [ $status != 0 ]; then
  echo "error: the API for kinds has changed: consider who depends on it, note the change in CHANGELOG.md, and run make api" >&2
fi
exit $status
