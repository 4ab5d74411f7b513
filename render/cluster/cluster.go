// Package cluster connects to the cluster that a kubeconfig names.
package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/render/object"
)

// Target says which cluster: as kubectl does, that of the current context of the files in
// KUBECONFIG, of ~/.kube/config, or the one that the program runs in.
type Target struct {
	// Kubeconfig is a file to read instead; empty for none.
	Kubeconfig string
	// Context is a context to use instead of the current one; empty for that.
	Context string
}

// Cluster is a cluster, with the rights that the kubeconfig gives.
type Cluster struct {
	client.Client
	// Config is how it is reached.
	Config *rest.Config
	// Name is how people know it: the context and the address of its API server.
	Name string
	// Version is that of its API server.
	Version *version.Info
}

// Connect connects to the cluster. An error says how it was to be reached. Warnings of the
// API server are written as kubectl writes them, each once.
func (t Target) Connect(warnings io.Writer) (*Cluster, error) {
	config, name, err := t.config()
	if err != nil {
		return nil, err
	}
	// The API server itself says who has to wait: its priority and fairness.
	config.QPS = -1
	config.WarningHandlerWithContext = nil
	config.WarningHandler = rest.NewWarningWriter(warnings, rest.WarningWriterOptions{Deduplicate: true})
	c := &Cluster{Config: config, Name: name}
	if c.Version, err = askVersion(config); err != nil {
		return nil, fmt.Errorf("connect to %s: %w: %s, or name another cluster by --context or --kubeconfig", name, err, wayOut(err))
	}
	if c.Client, err = client.New(config, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", name, err)
	}
	return c, nil
}

// wayOut is what to do about a cluster that does not answer.
func wayOut(err error) string {
	if apierrors.IsUnauthorized(err) {
		return "log in to it again"
	}
	return "see that it is up, and that it is reached from here"
}

// config returns how the cluster is reached, and its name.
func (t Target) config() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = t.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: t.Context})
	config, err := loader.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err) && len(t.Contexts()) == 0:
		return nil, "", errors.New("which cluster? set KUBECONFIG, or write --kubeconfig FILE")
	case clientcmd.IsEmptyConfig(err):
		return nil, "", errors.New("which cluster? write --context NAME" + t.thereAre())
	case err != nil:
		return nil, "", fmt.Errorf("read the kubeconfig: %s%s", object.EscapeControls(err.Error()), t.thereAre())
	}
	name := "the API server " + config.Host
	if raw, err := loader.RawConfig(); err == nil {
		if context := cmp.Or(t.Context, raw.CurrentContext); raw.Contexts[context] != nil {
			name = fmt.Sprintf("context %s (%s)", context, config.Host)
		}
	}
	return config, object.EscapeControls(name), nil
}

// thereAre says which contexts there are.
func (t Target) thereAre() string {
	contexts := t.Contexts()
	if len(contexts) == 0 {
		return ""
	}
	return ": there are " + object.EscapeControls(strings.Join(contexts, ", "))
}

// Contexts are the names of the contexts to choose from; none where no kubeconfig can be read.
func (t Target) Contexts() []string {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = t.Kubeconfig
	config, err := rules.Load()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}

// askVersion finds out whether the API server answers.
func askVersion(config *rest.Config) (*version.Info, error) {
	asking, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return asking.ServerVersion()
}
