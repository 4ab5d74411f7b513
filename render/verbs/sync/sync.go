// Package sync prints Flux or Argo CD objects that sync an environment, with settings for gated Pods, and
// comments that explain each setting.
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

// Options describe the source of a sync.
type Options struct {
	Environment string
	// URL is the URL of the git repository.
	URL string
	// Branch is the branch to sync.
	Branch string
	// Path is the rendered folder of the branch. Empty means the folder of render and render publish.
	Path string
	// After are Kustomizations of Flux that must be ready first.
	After []string
}

// Flux returns a GitRepository and a Kustomization.
func Flux(ctx context.Context, repository *render.Repository, options Options) ([]byte, error) {
	r, err := readRequirements(repository, options.Environment)
	if err == nil {
		err = r.checkForFlux(options.Environment)
	}
	for _, name := range options.After {
		if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 || name == options.Environment {
			err = errors.Join(err, fmt.Errorf("--depends-on %q: specify another Kustomization in flux-system", name))
		} else if r != nil && !slices.Contains(r.DependsOn, name) {
			r.DependsOn = append(r.DependsOn, name)
		}
	}
	if err := errors.Join(err, options.complete(ctx, repository, checkFluxURL)); err != nil {
		return nil, err
	}
	return execute("flux.yaml", values{options, r, repository.Kinds()})
}

// ArgoCD returns an Application, and the health checks for the ConfigMap argocd-cm.
func ArgoCD(ctx context.Context, repository *render.Repository, options Options) ([]byte, error) {
	r, err := readRequirements(repository, options.Environment)
	if err := errors.Join(err, options.complete(ctx, repository, checkArgoURL)); err != nil {
		return nil, err
	}
	return execute("argocd.yaml", values{options, r, repository.Kinds()})
}

//go:embed flux.yaml argocd.yaml
var files embed.FS

// values are the data of the templates.
type values struct {
	Options
	*requirements
	Kinds *registry.Kinds
}

// templates quote user input with the function text.
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

func indent(by int, text string) string {
	return strings.TrimSuffix(lineWithText.ReplaceAllString(text, strings.Repeat(" ", by)+"$0"), "\n")
}
