#!/usr/bin/env bash
# build.sh OUT: build render. The first time that compiles much of Kubernetes, for minutes,
# so it shows how far it is; where everything is cached it prints nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."

# progress shows the last of the lines that name packages, with their count, and prints all others.
progress() {
  local line packages=0
  while IFS= read -r line; do
    if [[ $line == *[[:space:]]* ]]; then
      clear
      printf '%s\n' "$line"
      continue
    fi
    packages=$((packages + 1))
    if [ -t 2 ]; then
      printf '\r\033[KCompiling render, for minutes the first time: package %d, %.60s' "$packages" "$line"
    elif [ $((packages % 100)) = 1 ]; then
      printf 'Compiling render, for minutes the first time: package %d, %s\n' "$packages" "$line"
    fi
  done
  clear
}

clear() { if [ -t 2 ]; then printf '\r\033[K'; fi; }

go build -v -o "$1" ./cmd/render 2>&1 | progress >&2
