// Package cluster connects render to a Kubernetes cluster and explains the answers of its API
// server. The rooms below it do the work:
//
//   - owner names the tools and environments that manage a live object.
//   - inventory lists the objects that an environment applied.
//   - plan asks the API server about each object of an environment, by dry run.
//   - apply carries a plan out, and deletes.
//   - compare shows the changes that the next sync would make.
package cluster

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// Cluster is a connection to a cluster, with the rights of a kubeconfig.
type Cluster struct {
	client.Client
	// Discovery lists the kinds of the cluster and their schemas.
	Discovery *discovery.DiscoveryClient
	// Name has the context and the address of the API server, for messages.
	Name string

	version string // the minor version of its Kubernetes, such as 1.35
}

// New connects to a cluster and asks for its version.
func New(config *rest.Config, name string) (*Cluster, error) {
	c, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return nil, err
	}
	discovery, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	info, err := discovery.ServerVersion()
	if err != nil {
		return nil, err
	}
	parsed, err := version.ParseGeneric(info.GitVersion)
	if err != nil {
		return nil, fmt.Errorf("version of the API server: %w", err)
	}
	minor := fmt.Sprintf("%d.%d", parsed.Major(), parsed.Minor())
	return &Cluster{Client: c, Discovery: discovery, Name: name, version: minor}, nil
}

// GetVersion returns the live object in an API version, or nil if it does not exist.
func (c *Cluster) GetVersion(ctx context.Context, gvk schema.GroupVersionKind,
	id manifest.ID) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(gvk)
	err := c.Get(ctx, client.ObjectKey{Namespace: id.Namespace, Name: id.Name}, live)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// Find returns the live object in the API version that the cluster prefers. It returns nil if
// the cluster lacks the object or its kind.
func (c *Cluster) Find(ctx context.Context, id manifest.ID) (*unstructured.Unstructured, error) {
	mapping, err := c.RESTMapper().RESTMapping(schema.GroupKind{Group: id.Group, Kind: id.Kind})
	switch {
	case meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("ask the cluster for its kinds: %w", err)
	}
	return c.GetVersion(ctx, mapping.GroupVersionKind, id)
}

// concurrency is the number of simultaneous requests.
const concurrency = 8

// ForEach calls do for each i from 0 to n-1, several at a time, until one call fails.
func ForEach(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for i := range n {
		group.Go(func() (err error) {
			defer fault.Catch(&err)
			if err := context.Cause(ctx); err != nil {
				return err
			}
			return do(ctx, i)
		})
	}
	return group.Wait()
}

// VersionWarnings warns of a Kubernetes that is too old for render, or that differs from the version
// in the environment's annotation, if it has one.
func (c *Cluster) VersionWarnings(environment, kubernetes string) (warnings []manifest.Problem) {
	warn := func(format string, args ...any) {
		warnings = append(warnings, manifest.Problem{Code: manifest.ClusterDiffers,
			Warning: true, Message: fmt.Sprintf(format, args...)})
	}
	oldest := render.KubernetesVersions()[0]
	if version.MustParseGeneric(c.version).LessThan(version.MustParseGeneric(oldest)) {
		warn("the cluster has Kubernetes %s: render knows none before %s, and the controller is not tried with it",
			c.version, oldest)
	}
	if kubernetes != "" && kubernetes != c.version {
		warn("environment %s is for Kubernetes %s, but the cluster has %[3]s: give its kustomization the annotation "+
			"%[4]s: %[3]q", environment, kubernetes, c.version, tree.KubernetesAnnotation)
	}
	return warnings
}
