package kustomize

import (
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestBuildsReachNoNetworkAndNoProgram builds kustomizations with remote entries, which no check refuses ahead.
func TestBuildsReachNoNetworkAndNoProgram(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("kustomize fetches %s", r.URL)
	}))
	defer server.Close()
	bin := t.TempDir()
	started := filepath.Join(bin, "started")
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\n: > "+started+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	s := readSources(t, t.TempDir(), configMaps(1, "b"))
	for kustomization, want := range map[string]string{
		"resources: [" + server.URL + "/a.yaml]":                                                                                                         "remote: rendering reads only this repository",
		"resources: [all.yaml]\npatches: [{path: " + server.URL + "/p.yaml, target: {kind: ConfigMap}}]":                                                 "remote: rendering reads only this repository",
		"resources: [all.yaml]\ntransformers: ['{apiVersion: builtin, kind: PatchTransformer, metadata: {name: t}, path: " + server.URL + "/p.yaml}']\n": "remote: rendering reads only this repository",
		"resources: ['git@example.com:a/b.git']":                                                                                                         "no 'git' program on path",
		"components: ['https://example.com/a/b.git?ref=v1']":                                                                                             "no 'git' program on path",
		"resources: [all.yaml]\ntransformers: ['git@example.com:a/b.git']":                                                                               "no 'git' program on path",
		"helmCharts: [{name: a, repo: 'https://example.com'}]":                                                                                           "--enable-helm",
		"resources: [all.yaml]\ntransformers: ['{apiVersion: example.com/v1, kind: Any, metadata: {name: t}}']":                                          "plugin",
	} {
		fs := s.FS.With(map[string][]byte{prod + "/kustomization.yaml": []byte(kustomization)})
		if err := isolated(s, func() error { _, err := run(fs, prod); return err }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", kustomization, err, want)
		}
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("kustomize starts git")
	}
}

// TestIsolationLastsUntilTheLastBuild ends a build while another one runs.
func TestIsolationLastsUntilTheLastBuild(t *testing.T) {
	s := readSources(t, t.TempDir(), configMaps(1, "b"))
	type settings struct {
		path, stderr string
		transport    http.RoundTripper
		flags        int
	}
	now := func() settings {
		return settings{os.Getenv("PATH"), os.Stderr.Name(), http.DefaultTransport, log.Flags()}
	}
	before := now()
	isolate(s, func() {
		within := now()
		var other sync.WaitGroup
		other.Go(func() { isolate(s, func() {}) })
		other.Wait()
		if after := now(); after != within || after.path != "" || after.transport != (offline{}) || after.stderr != os.DevNull {
			t.Errorf("a build that runs has %+v", after)
		}
	})
	if after := now(); after != before {
		t.Errorf("afterwards there is %+v, want %+v", after, before)
	}
}

// TestSchemaChangesNoOtherBuild builds environments with and without a schema at a time. The schema merges ports by name.
func TestSchemaChangesNoOtherBuild(t *testing.T) {
	archive := func(field string) *txtar.Archive {
		return txtar.Parse([]byte("-- environments/prod/kustomization.yaml --\nresources: [all.yaml]\n" + field + `
patches: [{patch: '{apiVersion: example.com/v1, kind: Any, metadata: {name: a}, items: [{name: b, value: 2}]}'}]
-- environments/prod/all.yaml --
{apiVersion: example.com/v1, kind: Any, metadata: {name: a}, items: [{name: a, value: 1}]}
-- environments/prod/schema.json --
{"definitions": {"v1.Any": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Any"}],
"properties": {"items": {"type": "array", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name",
"items": {"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "integer"}}}}}}}}
`))
	}
	replaces := readSources(t, t.TempDir(), archive(""))
	merges := readSources(t, t.TempDir(), archive("openapi: {path: schema.json}"))
	var builds sync.WaitGroup
	for range 50 {
		builds.Go(func() {
			if r := buildWhole(replaces); r.problem != "" || strings.Contains(r.String(), "value: 1") {
				t.Errorf("the list is merged: %s%s", r, r.problem)
			}
		})
		builds.Go(func() {
			if r := buildWhole(merges); r.problem != "" || !strings.Contains(r.String(), "value: 1") {
				t.Errorf("the list is replaced: %s%s", r, r.problem)
			}
		})
	}
	builds.Wait()
}
