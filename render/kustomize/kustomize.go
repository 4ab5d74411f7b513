// Package kustomize builds environments with kustomize, in this process: their objects from the source
// files, and the rendered objects with the environment's overrides.
package kustomize

import (
	"fmt"
	"io"
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
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
)

// buildFolder builds a folder of a file system, without plugins. A kustomization may load any file of
// the file system, as in Flux. The objects are as in the output of kustomize.
func buildFolder(fs *source.FileSystem, folder string) ([]manifest.Object, error) {
	resources, err := run(fs, folder)
	if err != nil {
		return nil, err
	}
	objects := make([]manifest.Object, 0, resources.Size())
	for _, r := range resources.Resources() {
		content, err := printed(r)
		if err != nil {
			return nil, err
		}
		o, err := manifest.FromYAML(content)
		if err != nil {
			return nil,
				&objectError{manifest.ID{Group: r.GetGvk().Group, Kind: r.GetKind(), Namespace: r.GetNamespace(),
					Name: r.GetName()}, err}
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// printed returns an object as it is in the output of kustomize, which writes an empty line too many into folded text
// with indented lines.
func printed(r *resource.Resource) (*yaml.Node, error) {
	for n := range node.All(r.YNode()) {
		if n.Style&yaml.FoldedStyle == 0 {
			continue
		}
		text, err := r.RNode.String()
		if err != nil {
			return nil, err
		}
		again, err := yaml.Parse(text)
		if err != nil {
			return nil, err
		}
		return again.YNode(), nil
	}
	return r.YNode(), nil
}

// objectError reports a built object that is not readable.
type objectError struct {
	manifest.ID
	error
}

// Unwrap returns the error without the object.
func (e *objectError) Unwrap() error { return e.error }

// run runs kustomize on a folder. Some invalid input makes kustomize panic.
func run(fs *source.FileSystem, folder string) (resources resmap.ResMap, err error) {
	defer fault.Catch(&err)
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone
	options.Reorder = krusty.ReorderOptionUnspecified // as kustomize build, which follows sortOptions
	resources, err = krusty.MakeKustomizer(options).Run(fs, folder)
	if err == nil {
		err = labelManagedBy(resources)
	}
	return resources, err
}

// KustomizeRelease is the release of kustomize that has the version of the library in go.mod.
const KustomizeRelease = "v5.8.2"

// labelManagedBy names the release of kustomize in the label of `buildMetadata: [managedByLabel]`, as
// `kustomize build` does. The library takes the version of this program instead. That version depends
// on how the program was built, and may be an invalid label.
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

// schemas guards kustomize's schemas, which `openapi:` of a kustomization replaces in the whole process. loading
// guards their first use.
var (
	schemas sync.RWMutex
	loading sync.Mutex
)

// Share loads kustomize's schemas for an environment, beside other ones until release is called: alone, if it
// has schemas of its own.
func Share(s *source.Sources) (release func()) {
	if HasSchema(s) {
		schemas.Lock()
		return schemas.Unlock
	}
	schemas.RLock()
	loadSchemas()
	return schemas.RUnlock
}

// LoadSchemas loads the schemas ahead of Share. That takes as long as a small build.
func LoadSchemas() {
	schemas.RLock()
	defer schemas.RUnlock()
	loadSchemas()
}

func loadSchemas() {
	loading.Lock()
	defer loading.Unlock()
	openapi.Schema()
}

// isolation is shared by the builds that run at a time. A build with a schema of its own runs alone.
var isolation sync.RWMutex

// isolate calls build without access to the network and to other programs, and with a limit on the copies
// of JSON patches. It restores the schemas of kustomize afterwards.
func isolate(s *source.Sources, build func()) {
	if HasSchema(s) {
		isolation.Lock()
		defer isolation.Unlock()
		defer openapi.ResetOpenAPI()
	} else {
		isolation.RLock()
		defer isolation.RUnlock()
		loadSchemas()
	}
	defer confine()()
	build()
}

// confined counts the builds that run.
var confined struct {
	sync.Mutex
	builds  int
	restore func()
}

// confine confines the process until the last of the builds that run calls release. It does so for no longer: a program
// that logs in to a cluster needs PATH and os.Stderr, and a download of charts needs the transport.
func confine() (release func()) {
	confined.Lock()
	defer confined.Unlock()
	if confined.builds == 0 {
		confined.restore = confineProcess()
	}
	confined.builds++
	return func() {
		confined.Lock()
		defer confined.Unlock()
		confined.builds--
		if confined.builds == 0 {
			confined.restore()
		}
	}
}

// maxCopied is the number of bytes that the copy operations of a JSON 6902 patch may add to an
// object. Without a limit each of them could double it.
const maxCopied = 256 << 10

// confineProcess takes from the process what kustomize must not use.
func confineProcess() (restore func()) {
	jsonpatch.AccumulatedCopySizeLimit = maxCopied
	transport := http.DefaultTransport
	http.DefaultTransport = offline{}
	path := os.Getenv("PATH")
	_ = os.Setenv("PATH", "")
	flags := log.Flags()
	log.SetFlags(0)
	writer := log.Writer()
	log.SetOutput(logWriter{writer})
	unmute := mute() // kustomize names no file in its warnings of deprecated fields
	return func() {
		unmute()
		log.SetOutput(writer)
		log.SetFlags(flags)
		_ = os.Setenv("PATH", path)
		http.DefaultTransport = transport
	}
}

// logWriter prints kustomize's log on one line, with control characters escaped: it quotes names from
// source files.
type logWriter struct{ io.Writer }

// unusedVars precedes a list of names in random order.
const unusedVars = "well-defined vars that were never replaced: "

// Write implements io.Writer.
func (w logWriter) Write(message []byte) (int, error) {
	text := strings.TrimSuffix(string(message), "\n")
	if names, is := strings.CutPrefix(text, unusedVars); is {
		text = unusedVars + strings.Join(slices.Sorted(strings.SplitSeq(names, ",")), ",")
	}
	fmt.Fprintln(w.Writer, manifest.Problem{Message: text})
	return len(message), nil
}

// HasSchema reports whether a kustomization gives kustomize a schema. kustomize would use it in the
// next build as well.
func HasSchema(s *source.Sources) bool {
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
