#!/usr/bin/env bash
# image.sh FOLDER NAME OUT: write OUT, a container image in the archive format of
# `docker save`: one layer, the files of FOLDER, and its one program as entrypoint.
# The same files make the same image, byte for byte.
set -euo pipefail
folder=$1 name=$2 out=$3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pack() { tar --format=ustar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=a=rX -C "$1" -cf "$2" .; }

mkdir "$work/image"
pack "$folder" "$work/image/layer.tar"
layer=$(sha256sum "$work/image/layer.tar" | cut -d' ' -f1)
cat >"$work/image/config.json" <<JSON
{"architecture":"$(go env GOARCH)","os":"linux","config":{"User":"65532:65532","Entrypoint":["/$(ls "$folder")"]},"rootfs":{"type":"layers","diff_ids":["sha256:$layer"]}}
JSON
cat >"$work/image/manifest.json" <<JSON
[{"Config":"config.json","RepoTags":["$name"],"Layers":["layer.tar"]}]
JSON
# Without a leading ./, which not every reader strips.
(cd "$work/image" && tar --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=a=r -cf ../archive.tar config.json layer.tar manifest.json)
mv "$work/archive.tar" "$out"
