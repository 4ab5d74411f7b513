package cluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict/apiserver"
)

// readVersion asks the cluster for its version.
func (c *Cluster) readVersion() error {
	info, err := c.api.ServerVersion()
	if err != nil {
		return err
	}
	parsed, err := version.ParseGeneric(info.GitVersion)
	if err != nil {
		return fmt.Errorf("version of the API server: %w", err)
	}
	c.version = fmt.Sprintf("%d.%d", parsed.Major(), parsed.Minor())
	return nil
}

// VersionWarnings returns the warnings that the cluster has an earlier Kubernetes than render knows, and
// another one than an environment says.
func (c *Cluster) VersionWarnings(environment, kubernetes string) []manifest.Problem {
	return append(c.ageWarning(), c.otherVersion(environment, kubernetes)...)
}

func (c *Cluster) ageWarning() []manifest.Problem {
	if version.MustParseGeneric(c.version).AtLeast(version.MustParseGeneric(apiserver.Oldest.String())) {
		return nil
	}
	return []manifest.Problem{{Warning: true, Message: fmt.Sprintf("the cluster has Kubernetes %s: render knows none before %s, and the controller is not tried with it", c.version, apiserver.Oldest)}}
}

func (c *Cluster) otherVersion(environment, kubernetes string) []manifest.Problem {
	if kubernetes == "" || kubernetes == c.version {
		return nil
	}
	return []manifest.Problem{{Warning: true, Message: fmt.Sprintf("environment %s says that it is for Kubernetes %s, and the cluster has %[3]s: its kustomization should have the annotation %[4]s: %[3]q", environment, kubernetes, c.version, tree.KubernetesAnnotation)}}
}
