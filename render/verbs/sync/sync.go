// Package sync prints the objects that tell Flux or Argo CD to sync an environment, with the settings
// that gated Pods need, and the reasons as comments.
package sync

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/util/validation"

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
	// After are the Kustomizations of Flux that have to be ready first.
	After []string
}

// Flux returns a GitRepository and a Kustomization.
func Flux(ctx context.Context, repository *render.Repository, options Options) ([]byte, error) {
	e, err := readEnvironment(repository, options.Environment)
	if err == nil {
		e.DependsOn, err = withDependencies(e.DependsOn, options), e.checkForFlux(options.Environment)
	}
	err = errors.Join(err, options.checkDependencies())
	if err := errors.Join(err, options.complete(ctx, repository, fluxURL)); err != nil {
		return nil, err
	}
	return execute("flux.yaml", values{options, e, repository.Kinds()})
}

// checkDependencies returns an error for a dependency that no Kustomization can have.
func (o Options) checkDependencies() error {
	for _, name := range o.After {
		if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 || name == o.Environment {
			return fmt.Errorf("--depends-on %q: write the name of another Kustomization in flux-system", name)
		}
	}
	return nil
}

// withDependencies returns the names of the Kustomizations that one depends on, each once.
func withDependencies(names []string, o Options) []string {
	for _, name := range o.After {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// ArgoCD returns an Application, and the health checks for the ConfigMap argocd-cm.
func ArgoCD(ctx context.Context, repository *render.Repository, options Options) ([]byte, error) {
	e, err := readEnvironment(repository, options.Environment)
	if err := errors.Join(err, options.complete(ctx, repository, argoURL)); err != nil {
		return nil, err
	}
	return execute("argocd.yaml", values{options, e, repository.Kinds()})
}

//go:embed flux.yaml argocd.yaml
var files embed.FS

// values are what the templates fill in.
type values struct {
	Options
	*environment
	Kinds *registry.Kinds
}

// templates quote what people wrote by the function text.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"text": manifest.Scalar, "indent": indent, "hasPrefix": strings.HasPrefix,
	"fluxChecks": health.Flux, "argoChecks": health.ArgoCD, "podCheck": health.Pod,
}).ParseFS(files, "*"))

func execute(name string, v values) ([]byte, error) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, v); err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return b.Bytes(), nil
}

var lineWithText = regexp.MustCompile(`(?m)^.*\S`)

// indent indents the lines of a text that are not blank.
func indent(by int, text string) string {
	return strings.TrimSuffix(lineWithText.ReplaceAllString(text, strings.Repeat(" ", by)+"$0"), "\n")
}
