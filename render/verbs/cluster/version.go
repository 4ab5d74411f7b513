package cluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
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
	oldest := render.KubernetesVersions()[0]
	if version.MustParseGeneric(c.version).AtLeast(version.MustParseGeneric(oldest)) {
		return nil
	}
	return []manifest.Problem{{Warning: true, Message: fmt.Sprintf("the cluster has Kubernetes %s: render knows none before %s, and the controller is not tried with it", c.version, oldest)}}
}

func (c *Cluster) otherVersion(environment, kubernetes string) []manifest.Problem {
	if kubernetes == "" || kubernetes == c.version {
		return nil
	}
	return []manifest.Problem{{Warning: true, Message: fmt.Sprintf("environment %s says that it is for Kubernetes %s, and the cluster has %[3]s: its kustomization should have the annotation %[4]s: %[3]q", environment, kubernetes, c.version, tree.KubernetesAnnotation)}}
}
