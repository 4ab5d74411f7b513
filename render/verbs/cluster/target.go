package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render"
)

// Target selects a cluster as kubectl does. The zero Target is the current context of the files
// in KUBECONFIG or of ~/.kube/config, or the cluster that the program runs in.
type Target struct {
	// Kubeconfig is a file to read instead.
	Kubeconfig string
	// Context is a context to use instead of the current one.
	Context string
}

// Connect connects to the cluster. Each warning of the API server is written once, as kubectl
// writes it.
func (t Target) Connect(warnings io.Writer) (*Cluster, error) {
	config, name, err := t.config()
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // the API server limits requests by priority and fairness
	config.WarningHandlerWithContext = nil
	config.WarningHandler = rest.NewWarningWriter(warnings, rest.WarningWriterOptions{Deduplicate: true})
	c, err := New(config, name)
	if err != nil {
		hint := cmp.Or(remedy(err), "see that it is up, and that it can be reached from here")
		return nil, fmt.Errorf("connect to %s: %w: %s, or name another cluster by --context or --kubeconfig",
			name, err, hint)
	}
	return c, nil
}

func (t Target) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = t.Kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: t.Context})
}

// Contexts returns the names of the contexts in the kubeconfig, if it can be read.
func (t Target) Contexts() []string {
	raw, _ := t.loader().RawConfig()
	return slices.Sorted(maps.Keys(raw.Contexts))
}

// config returns the client configuration and the name of the cluster.
func (t Target) config() (*rest.Config, string, error) {
	loader := t.loader()
	known := kind.Visible(render.ListNames(t.Contexts()))
	files := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	config, err := loader.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err) && known == "" && files != "":
		return nil, "", fmt.Errorf("KUBECONFIG names %s, which has no cluster: correct it, or write --kubeconfig FILE",
			kind.Visible(files))
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
