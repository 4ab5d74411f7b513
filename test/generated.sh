#!/usr/bin/env bash
# Fails with a diff if `make generate` would change any file of the working tree. It generates in a
# copy, and changes no file here.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$PWD copy=$work/copy
repository=$(git rev-parse --absolute-git-dir)
git_in() { GIT_INDEX_FILE=$work/index git --git-dir="$repository" --work-tree="$1" -C "$1" --no-pager "${@:2}"; }

git_in "$here" add --all
before=$(git_in "$here" write-tree)
git_in "$here" checkout-index --all --prefix="$copy/"
"${MAKE:-make}" -s -C "$copy" generate
git_in "$copy" add --all
if ! git_in "$copy" diff --cached --exit-code "$before"; then
  echo "error: generated files are not up to date: make generate" >&2
  exit 1
fi
