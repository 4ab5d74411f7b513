// Package sync prints the objects that tell Flux or Argo CD to sync an environment, with the settings
// that gated Pods need, and the reasons as comments.
package sync

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/sync/health"
)

// Options say what to sync from where.
type Options struct {
	Environment string
	// URL is that of the git repository.
	URL string
	// Branch is the branch to sync.
	Branch string
	// Path is the folder of the branch with what was rendered. Empty means the folder that render and
	// render publish write.
	Path string
}

// Flux returns a GitRepository and a Kustomization.
func Flux(ctx context.Context, repository *render.Repository, options Options) ([]byte, error) {
	e, err := readEnvironment(repository, options.Environment)
	if err == nil {
		err = errors.Join(fluxName(options.Environment), e.checkNamespaces())
	}
	if err := errors.Join(err, options.complete(ctx, repository, fluxURL)); err != nil {
		return nil, err
	}
	if options.Path == "." {
		options.Path = ""
	}
	options.Path = "./" + options.Path
	return execute("flux.yaml", struct {
		Options
		*environment
		HasSSH       bool
		Gated        *registry.Kinds
		HealthChecks string
	}{options, e, strings.HasPrefix(options.URL, "ssh://"), repository.Kinds().Gated(), health.Flux(repository.Kinds())})
}

// fluxName returns an error for an environment whose objects would replace those of `flux bootstrap`.
func fluxName(environment string) error {
	if environment != fluxNamespace {
		return nil
	}
	return fmt.Errorf("environments/%s: Flux's own Kustomization and GitRepository have that name, and would be replaced: rename the environment", environment)
}

const fluxNamespace = "flux-system"

// ArgoCD returns an Application, and the health checks for the ConfigMap argocd-cm.
func ArgoCD(ctx context.Context, repository *render.Repository, options Options) ([]byte, error) {
	e, err := readEnvironment(repository, options.Environment)
	if err := errors.Join(err, options.complete(ctx, repository, argoURL)); err != nil {
		return nil, err
	}
	return execute("argocd.yaml", struct {
		Options
		*environment
		Gated    *registry.Kinds
		Checks   []health.Check
		PodCheck string
	}{options, e, repository.Kinds().Gated(), health.ArgoCD(repository.Kinds()), health.Pod(repository.Kinds())})
}

//go:embed flux.yaml argocd.yaml
var templates embed.FS

// execute executes a template, which quotes what people wrote by its function text.
func execute(name string, values any) ([]byte, error) {
	t, err := template.New(name).Funcs(template.FuncMap{"text": manifest.Scalar, "indent": indent}).ParseFS(templates, name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, values); err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// indent indents the lines of a text that are not blank.
func indent(by int, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(strings.Repeat(" ", by))
		}
		b.WriteString(line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
