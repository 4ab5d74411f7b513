// Package sync prints what Flux and Argo CD are told to sync an environment: the objects of
// theirs that make gated Pods work, with the reasons as comments.
package sync

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/at"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/sync/health"
)

// Options say what to sync from where.
type Options struct {
	Environment string
	// URL is that of the git repository.
	URL string
	// Branch is the one to sync.
	Branch string
	// Path is the folder of the branch with what was rendered; where it is empty, that in which
	// render and render publish put it.
	Path string
}

// Flux returns a GitRepository and a Kustomization.
func Flux(ctx context.Context, repository *render.Repository, options Options) ([]byte, error) {
	e, err := read(repository, options.Environment)
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
	return write("flux.yaml", struct {
		Options
		*environment
		HasSSH, HasAt bool
		HealthChecks  string
	}{options, e, strings.HasPrefix(options.URL, "ssh://"), hasAt(repository), health.Flux(repository.Kinds())})
}

// fluxName is the error of an environment whose objects would take the place of those that
// `flux bootstrap` makes.
func fluxName(environment string) error {
	if environment != fluxNamespace {
		return nil
	}
	return fmt.Errorf("environments/%s: Flux's own Kustomization and GitRepository have that name, and would be replaced: rename the environment", environment)
}

const fluxNamespace = "flux-system"

// ArgoCD returns an Application, and the health checks for the ConfigMap argocd-cm.
func ArgoCD(ctx context.Context, repository *render.Repository, options Options) ([]byte, error) {
	e, err := read(repository, options.Environment)
	if err := errors.Join(err, options.complete(ctx, repository, argoURL)); err != nil {
		return nil, err
	}
	return write("argocd.yaml", struct {
		Options
		*environment
		HasAt    bool
		Checks   []health.Check
		PodCheck string
	}{options, e, hasAt(repository), health.ArgoCD(repository.Kinds()), health.Pod(repository.Kinds())})
}

// hasAt says whether people may write Ats, whose Pods lose their gates.
func hasAt(repository *render.Repository) bool { return repository.Kinds().Find(at.Kind.GVK) != nil }

//go:embed flux.yaml argocd.yaml
var templates embed.FS

// write writes a template. What people wrote is in it as YAML takes it.
func write(name string, values any) ([]byte, error) {
	t, err := template.New(name).Funcs(template.FuncMap{"text": text, "indent": indent}).ParseFS(templates, name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, values); err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// plain matches texts that may be plain scalars of YAML, unless they are something else there,
// as 1.5 and true are.
var plain = regexp.MustCompile(`^[A-Za-z0-9.][-A-Za-z0-9._/@:]*$`)

// text is a text in YAML.
func text(value string) (string, error) {
	var read any
	if plain.MatchString(value) && yaml.Unmarshal([]byte(value), &read) == nil && read == value {
		return value, nil
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSpace(b.String()), err
}

// indent indents the lines of a text.
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

// quoted is what somebody wrote, for a message.
func quoted(value string) string { return `"` + object.EscapeControls(value) + `"` }
