package cluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

func (c *Cluster) readVersion() error {
	info, err := c.Discovery.ServerVersion()
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
