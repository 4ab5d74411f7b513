// Package cluster compares what an environment renders to with a cluster, by dry runs of its API
// server. The plan that comes of it has three uses: Apply carries it out, Delete is for an
// environment that is to be gone, and Compare shows what a sync would change.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
)

// Target says which cluster to use. The zero Target is that of kubectl: the current context of
// the files in KUBECONFIG or of ~/.kube/config, or the cluster that the program runs in.
type Target struct {
	// Kubeconfig is a file to read instead; empty for none.
	Kubeconfig string
	// Context is a context to use instead of the current one; empty for that.
	Context string
}

// Cluster is a cluster, with the rights that the kubeconfig gives.
type Cluster struct {
	client.Client
	// Config says how to reach it.
	Config *rest.Config
	// Name is how people know it: the context and the address of its API server.
	Name string

	api     *discovery.DiscoveryClient
	version string // the minor version of its Kubernetes, such as 1.35
}

// Connect connects to the cluster. Warnings of the API server are written as kubectl writes
// them, each once.
func (t Target) Connect(warnings io.Writer) (*Cluster, error) {
	config, name, err := t.config()
	if err != nil {
		return nil, err
	}
	// The API server itself limits requests, by its priority and fairness.
	config.QPS = -1
	config.WarningHandlerWithContext = nil
	config.WarningHandler = rest.NewWarningWriter(warnings, rest.WarningWriterOptions{Deduplicate: true})
	c, err := newCluster(config, name)
	if err != nil {
		hint := cmp.Or(wayOut(err), "see that it is up, and that it can be reached from here")
		return nil, fmt.Errorf("connect to %s: %w: %s, or name another cluster by --context or --kubeconfig", name, err, hint)
	}
	return c, nil
}

func newCluster(config *rest.Config, name string) (*Cluster, error) {
	c, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return nil, err
	}
	api, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	connected := &Cluster{Client: c, Config: config, Name: name, api: api}
	return connected, connected.readVersion()
}

// read returns an object of the cluster; nil where the cluster does not have it.
func (c *Cluster) read(ctx context.Context, gvk schema.GroupVersionKind, id manifest.ID) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(gvk)
	err := c.Get(ctx, client.ObjectKey{Namespace: id.Namespace, Name: id.Name}, live)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// find returns an object of the cluster, in the version that the cluster prefers; nil where the
// cluster does not have it, or does not know its kind.
func (c *Cluster) find(ctx context.Context, id manifest.ID) (*unstructured.Unstructured, error) {
	mapping, err := c.RESTMapper().RESTMapping(schema.GroupKind{Group: id.Group, Kind: id.Kind})
	switch {
	case meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("ask the cluster for its kinds: %w", err)
	}
	return c.read(ctx, mapping.GroupVersionKind, id)
}

func (t Target) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = t.Kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: t.Context})
}

// Contexts returns the names of the contexts to choose from; none where no kubeconfig can be
// read.
func (t Target) Contexts() []string {
	raw, _ := t.loader().RawConfig()
	return slices.Sorted(maps.Keys(raw.Contexts))
}

// config returns how to reach the cluster, and its name.
func (t Target) config() (*rest.Config, string, error) {
	loader, known := t.loader(), kind.Visible(render.ThereAre(t.Contexts()))
	config, err := loader.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err) && known == "":
		return nil, "", errors.New("which cluster? set KUBECONFIG, or write --kubeconfig FILE")
	case clientcmd.IsEmptyConfig(err):
		return nil, "", errors.New("which cluster? write --context NAME" + known)
	case err != nil:
		return nil, "", fmt.Errorf("read the kubeconfig: %s%s", kind.Visible(err.Error()), known)
	}
	name := "the API server " + config.Host
	raw, _ := loader.RawConfig()
	if context := cmp.Or(t.Context, raw.CurrentContext); raw.Contexts[context] != nil {
		name = fmt.Sprintf("context %s (%s)", context, config.Host)
	}
	return config, kind.Visible(name), nil
}
