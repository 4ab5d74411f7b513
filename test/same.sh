#!/bin/sh
# Compares two builds of render on clones of repositories, for a change that must change nothing: the verdict, the
# coverage, and the JSON of the diffs of the last COMMITS commits (ten). It prints the differences and fails if there
# are any. The clones are checked out at other commits and back.
#
# usage: test/same.sh OLD NEW REPOSITORY...
set -eu
old=$1
new=$2
shift 2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
both() { # NAME ARGUMENT...
	name=$1
	shift
	for program in old new; do
		eval "run=\$$program"
		"$run" "$@" >"$out/$program" 2>&1 </dev/null || echo "exit $?" >>"$out/$program"
	done
	compared=$((compared + 1))
	if ! diff -u "$out/old" "$out/new" >"$out/diff"; then
		differing=$((differing + 1))
		echo "$name: render $*"
		cat "$out/diff"
	fi
}
compared=0
differing=0
for repository in "$@"; do
	cd "$repository"
	was=$(git symbolic-ref -q --short HEAD || git rev-parse HEAD)
	both "$repository" --all --check
	both "$repository" coverage -o json
	for commit in $(git rev-list --first-parent --max-count "${COMMITS:-10}" HEAD); do
		git checkout -q --detach "$commit"
		both "$repository $commit" diff --base "$commit~1" -o json
	done
	git checkout -q "$was"
done
echo "$compared runs, $differing differ"
[ "$differing" = 0 ]
