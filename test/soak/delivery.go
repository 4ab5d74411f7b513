package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/test/cluster"
)

const (
	environment = "soak"
	branch      = "env/" + environment
)

// delivery takes an environment from a git repository to the cluster.
type delivery struct {
	*cluster.Cluster
	render   string // the program
	folder   string // of the repository
	checkout string // of the branch that is synced
	flux     string // the command that has Flux see a checkout; empty where there is no Flux
}

// newDelivery makes the repository below a folder.
func newDelivery(ctx context.Context, c *cluster.Cluster, render, dir, flux string) (*delivery, error) {
	d := &delivery{Cluster: c, render: render, folder: filepath.Join(dir, "repository"), checkout: filepath.Join(dir, "checkout"), flux: flux}
	if err := os.MkdirAll(d.path("ats"), 0o750); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"config", "user.name", "Soak"},
		{"config", "user.email", "soak@example.com"},
		{"config", "commit.gpgSign", "false"},
		{"config", "core.hooksPath", "/dev/null"},
	} {
		if _, err := d.run(ctx, d.folder, "git", args...); err != nil {
			return nil, err
		}
	}
	return d, os.WriteFile(d.path("namespace.yaml"), []byte(`apiVersion: v1
kind: Namespace
metadata:
  name: `+namespace+`
  labels: {pod-security.kubernetes.io/enforce: restricted}
`), 0o600)
}

// path is a file of the environment.
func (d *delivery) path(name string) string {
	return filepath.Join(d.folder, "environments", environment, name)
}

// write makes some Ats those of the environment, and all.
func (d *delivery) write(ats map[string]client.Object) error {
	if err := os.RemoveAll(d.path("ats")); err != nil {
		return err
	}
	if err := os.Mkdir(d.path("ats"), 0o750); err != nil {
		return err
	}
	resources := []string{"namespace.yaml"}
	for name, at := range ats {
		content, err := yaml.Marshal(at)
		if err != nil {
			return err
		}
		file := "ats/" + name + ".yaml"
		resources = append(resources, file)
		if err := os.WriteFile(d.path(file), content, 0o600); err != nil {
			return err
		}
	}
	content, err := yaml.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1",
		"kind":       "Kustomization",
		"namespace":  namespace,
		"resources":  resources,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(d.path("kustomization.yaml"), content, 0o600)
}

// deliver renders, commits, publishes and syncs the environment. It returns when the
// cluster has it.
func (d *delivery) deliver(ctx context.Context) error {
	for _, command := range [][]string{
		{d.render, "--env", environment},
		{"git", "add", "--all"},
		{"git", "commit", "--quiet", "--allow-empty", "--message=Edit"},
		{d.render, "publish", "--env", environment},
	} {
		if _, err := d.run(ctx, d.folder, command[0], command[1:]...); err != nil {
			return err
		}
	}
	if err := d.update(ctx); err != nil {
		return err
	}
	if d.flux == "" {
		return d.retry(ctx, d.apply)
	}
	return d.retry(ctx, d.sync)
}

// update brings the checkout to what is published.
func (d *delivery) update(ctx context.Context) error {
	if _, err := os.Stat(d.checkout); errors.Is(err, os.ErrNotExist) {
		_, err := d.run(ctx, d.folder, "git", "clone", "--quiet", "--branch="+branch, d.folder, d.checkout)
		return err
	}
	_, err := d.run(ctx, d.checkout, "git", "pull", "--quiet", "--ff-only")
	return err
}

// retry tries until it works: the API server may be away.
func (d *delivery) retry(ctx context.Context, try func(context.Context) error) error {
	const patience = 5 * time.Minute
	for deadline := time.Now().Add(patience); ; {
		attempt, cancel := context.WithTimeout(ctx, 40*time.Second)
		err := try(attempt)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline):
			return fmt.Errorf("sync: not within %s: %w", patience, err)
		}
		pause(ctx, time.Second)
	}
}

var kustomization = schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}

// newKustomization has Flux sync what the soak publishes. It waits for nothing: a
// command that fails is no failure here.
func newKustomization() *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "flux-system", "name": namespace},
		"spec": map[string]any{
			"interval":      "30s",
			"retryInterval": "5s",
			"timeout":       "30s",
			"path":          "./rendered/" + environment,
			"prune":         true,
			"sourceRef":     map[string]any{"kind": "GitRepository", "name": "repo"},
		},
	}}
	object.SetGroupVersionKind(kustomization)
	return object
}

// sync has Flux see the checkout, and waits until it has synced it.
func (d *delivery) sync(ctx context.Context) error {
	if _, err := d.run(ctx, d.folder, "sh", "-c", d.flux+` "$0"`, d.checkout); err != nil {
		return err
	}
	revision, err := d.run(ctx, d.checkout, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	object := newKustomization()
	if err := d.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	for {
		if err := d.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		applied, _, _ := unstructured.NestedString(object.Object, "status", "lastAppliedRevision")
		if strings.HasSuffix(applied, revision) {
			return nil
		}
		if !pause(ctx, 300*time.Millisecond) {
			return fmt.Errorf("flux applied %s, not yet %s: %w", applied, revision, ctx.Err())
		}
	}
}

// apply does without Flux what it does: it takes back what was edited by hand, too.
func (d *delivery) apply(ctx context.Context) error {
	_, err := d.run(ctx, d.folder, d.render, "apply", "--env", environment, "--force-conflicts", "--wait=false")
	return err
}

// remove takes everything out of the cluster that was delivered, and waits until it is
// gone.
func (d *delivery) remove(ctx context.Context) error {
	if d.flux == "" {
		_, err := d.run(ctx, d.folder, d.render, "delete", "--env", environment)
		return err
	}
	ns := &unstructured.Unstructured{}
	ns.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	ns.SetName(namespace)
	for _, object := range []*unstructured.Unstructured{newKustomization(), ns} {
		err := d.Delete(ctx, object)
		for ; !apierrors.IsNotFound(err); err = d.Get(ctx, client.ObjectKeyFromObject(object), object) {
			if !pause(ctx, 500*time.Millisecond) {
				return fmt.Errorf("delete %s %s: %w", object.GetKind(), object.GetName(), errors.Join(err, ctx.Err()))
			}
		}
	}
	return nil
}

// run runs a program and returns what it prints.
func (d *delivery) run(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...) // #nosec G204 -- those that the user named
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// pause waits, and says whether there is any use in going on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
