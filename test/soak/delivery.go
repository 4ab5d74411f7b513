package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/test/cluster"
)

// environment is the name of the environment that the soak edits.
const environment = "soak"

// delivery takes the environment from a git repository to the cluster.
type delivery struct {
	*cluster.Cluster
	render   string // the program
	folder   string // of the repository
	checkout string // of the branch that Flux syncs
	flux     string // the command that shows Flux a checkout; empty without Flux
}

// newDelivery makes the repository in a folder.
func newDelivery(ctx context.Context, c *cluster.Cluster, render, dir, flux string) (*delivery, error) {
	d := &delivery{Cluster: c, render: render, folder: filepath.Join(dir, "repository"),
		checkout: filepath.Join(dir, "checkout"), flux: flux}
	if err := os.MkdirAll(d.path(""), 0o750); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"config", "user.name", "Soak"},
		{"config", "user.email", "soak@example.com"},
		{"config", "commit.gpgSign", "false"},
		{"config", "core.hooksPath", "/dev/null"},
	} {
		if _, err := run(ctx, d.folder, "git", args...); err != nil {
			return nil, err
		}
	}
	return d, os.WriteFile(d.path("kustomization.yaml"), []byte("resources: [soak.yaml]\n"), 0o600)
}

// path returns a file of the environment.
func (d *delivery) path(name string) string {
	return filepath.Join(d.folder, "environments", environment, name)
}

// write writes an environment that has some Ats and no others.
func (d *delivery) write(ats []*cnatv1alpha1.At) error {
	content := bytes.NewBufferString(`apiVersion: v1
kind: Namespace
metadata:
  name: ` + namespace + `
  labels: {pod-security.kubernetes.io/enforce: restricted}
`)
	for _, at := range ats {
		manifest, err := yaml.Marshal(at)
		if err != nil {
			return err
		}
		fmt.Fprintf(content, "---\n%s", manifest)
	}
	return os.WriteFile(d.path("soak.yaml"), content.Bytes(), 0o600)
}

// deliver renders, commits, publishes and syncs the environment. It returns when the cluster has
// it.
func (d *delivery) deliver(ctx context.Context) error {
	for _, command := range [][]string{
		{d.render, "--env", environment},
		{"git", "add", "--all"},
		{"git", "commit", "--quiet", "--allow-empty", "--message=Edit"},
		{d.render, "publish", "--env", environment},
	} {
		if _, err := run(ctx, d.folder, command[0], command[1:]...); err != nil {
			return err
		}
	}
	sync := d.apply
	if d.flux != "" {
		sync = d.syncFlux
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, time.Second, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		attempt, cancel := context.WithTimeout(ctx, 40*time.Second) // the API server may be away
		defer cancel()
		last = sync(attempt)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("sync: %w: %w", err, last)
	}
	return nil
}

// apply reverts edits by hand, as Flux does.
func (d *delivery) apply(ctx context.Context) error {
	_, err := run(ctx, d.folder, d.render, "apply", "--env", environment, "--force-conflicts", "--wait=false")
	return err
}

// newKustomization returns the object that tells Flux to sync the published environment. Flux does
// not wait for health: here a command may fail.
func newKustomization() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1",
		"kind":       "Kustomization",
		"metadata":   map[string]any{"namespace": "flux-system", "name": namespace},
		"spec": map[string]any{
			"interval":      "30s",
			"retryInterval": "5s",
			"timeout":       "30s",
			"path":          "./rendered/" + environment,
			"prune":         true,
			"sourceRef":     map[string]any{"kind": "GitRepository", "name": "repo"},
		},
	}}
}

// syncFlux shows Flux the published revision, and waits until it is applied.
func (d *delivery) syncFlux(ctx context.Context) error {
	if err := os.RemoveAll(d.checkout); err != nil {
		return err
	}
	if _, err := run(ctx, d.folder, "git", "clone", "--quiet", "--branch=env/"+environment, d.folder,
		d.checkout); err != nil {
		return err
	}
	if _, err := run(ctx, d.folder, "sh", "-c", d.flux+` "$0"`, d.checkout); err != nil {
		return err
	}
	revision, err := run(ctx, d.checkout, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	object := newKustomization()
	if err := d.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, 300*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := d.Get(ctx, client.ObjectKeyFromObject(object), object)
		applied, _, _ := unstructured.NestedString(object.Object, "status", "lastAppliedRevision")
		return strings.HasSuffix(applied, revision), err
	})
}

// remove deletes from the cluster everything that was delivered, and waits until it is gone.
func (d *delivery) remove(ctx context.Context) error {
	if d.flux == "" {
		_, err := run(ctx, d.folder, d.render, "delete", "--env", environment)
		return err
	}
	if err := d.RemoveObjects(ctx, newKustomization()); err != nil {
		return err
	}
	return d.RemoveObjects(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace},
	}})
}

// run runs a program and returns its output.
func run(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...) // #nosec G204 -- the user names the programs
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// pause waits for a time, and reports whether ctx is not done.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
