// Package kustomize has kustomize build an environment, in process, and what was rendered
// from it with the environment's overrides. It builds apart what is independent, as
// kustomize takes the square of time.
package kustomize

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provenance"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// buildFolder builds a folder of a file system: no plugins, no loading of files from outside
// the folder of a kustomization.
func buildFolder(fs *source.FileSystem, folder string) ([]manifest.Object, error) {
	resources, err := kustomize(fs, folder)
	if err != nil {
		return nil, err
	}
	objects := make([]manifest.Object, 0, resources.Size())
	for _, r := range resources.Resources() {
		o, err := manifest.FromYAML(r.YNode())
		if err != nil {
			return nil, &objectError{manifest.ID{Group: r.GetGvk().Group, Kind: r.GetKind(), Namespace: r.GetNamespace(), Name: r.GetName()}, err}
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// objectError is why a built object cannot be read.
type objectError struct {
	manifest.ID
	error
}

// Unwrap returns the error without the object.
func (e *objectError) Unwrap() error { return e.error }

// maxCopied is how many bytes the copy operations of a JSON 6902 patch may add to an
// object: each of them might double it.
const maxCopied = 256 << 10

// kustomize builds a folder. Some input that is wrong makes it panic.
func kustomize(fs *source.FileSystem, folder string) (resources resmap.ResMap, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = errPanic
		}
	}()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified // as `kustomize build`: sortOptions are the user's
	resources, err = krusty.MakeKustomizer(options).Run(fs, folder)
	if err == nil {
		err = labelManagedBy(resources)
	}
	return resources, err
}

// errPanic is the error where kustomize panics.
var errPanic = errors.New("stops at something that it needs and that is empty: look for entries without a value, in this kustomization and in what it loads")

// KustomizeRelease is the release of kustomize that this library belongs to.
const KustomizeRelease = "v5.8.2"

// labelManagedBy has the label that `buildMetadata: [managedByLabel]` adds name the release
// of kustomize, as `kustomize build` does. The library names the version of this program
// instead, which depends on how that was built, and may be no value of a label.
func labelManagedBy(resources resmap.ResMap) error {
	ours := "kustomize-" + provenance.GetProvenance().Semver()
	for _, r := range resources.Resources() {
		labels := r.GetLabels()
		if labels[konfig.ManagedbyLabelKey] != ours {
			continue
		}
		labels[konfig.ManagedbyLabelKey] = "kustomize-" + KustomizeRelease
		if err := r.SetLabels(labels); err != nil {
			return err
		}
	}
	return nil
}

// isolation is held during a build, as isolate changes the whole process.
var isolation sync.Mutex

// isolate builds sources without network, other programs or JSON patches that copy without
// limit, all of which kustomize would use if a file that it loads told it to. It restores the
// schemas and the log of kustomize afterwards.
func isolate(s *source.Sources, build func()) {
	isolation.Lock()
	defer isolation.Unlock()

	transport, path := http.DefaultTransport, os.Getenv("PATH")
	flags, writer := log.Flags(), log.Writer()
	defer func() {
		log.SetFlags(flags)
		log.SetOutput(writer)
		http.DefaultTransport = transport
		_ = os.Setenv("PATH", path)
		if setsSchema(s) {
			openapi.ResetOpenAPI()
		}
	}()
	http.DefaultTransport = offline{}
	jsonpatch.AccumulatedCopySizeLimit = maxCopied
	_ = os.Setenv("PATH", "")
	log.SetFlags(0)
	log.SetOutput(remarks{})
	build()
}

// remarks prints what kustomize logs, on one line and with control characters escaped: it has
// names that people wrote.
type remarks struct{}

// unused is how kustomize begins a list of names, which it has in any order.
const unused = "well-defined vars that were never replaced: "

// Write implements io.Writer.
func (remarks) Write(remark []byte) (int, error) {
	text := strings.TrimSuffix(string(remark), "\n")
	if names, is := strings.CutPrefix(text, unused); is {
		text = unused + strings.Join(slices.Sorted(strings.SplitSeq(names, ",")), ",")
	}
	fmt.Fprintln(os.Stderr, manifest.Problem{Message: text})
	return len(remark), nil
}

// setsSchema reports whether a kustomization gives kustomize schemas of its own, which
// would stay for the next build.
func setsSchema(s *source.Sources) bool {
	for _, k := range s.Kustomizations {
		if len(k.OpenAPI) > 0 {
			return true
		}
	}
	return false
}

type offline struct{}

// RoundTrip implements http.RoundTripper.
func (offline) RoundTrip(request *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("%s is remote: rendering reads only this repository", request.URL)
}
