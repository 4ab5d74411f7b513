// Package build has kustomize build an environment, in process, and what was rendered
// from it with the environment's overrides. It builds apart what is independent, as
// kustomize takes the square of time.
package build

import (
	"cmp"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"path"
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
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/source"
)

// buildFolder builds a folder of a file system: no plugins, no loading of files from outside
// the folder of a kustomization. It returns the objects that keep says; nil says all.
func buildFolder(fs *source.FileSystem, folder string, keep func(*resource.Resource) bool) ([]object.Object, error) {
	resources, err := kustomize(fs, folder)
	if err != nil {
		return nil, err
	}
	objects := make([]object.Object, 0, resources.Size())
	for _, r := range resources.Resources() {
		if keep != nil && !keep(r) {
			continue
		}
		o, err := newObject(r)
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// buildOrigins builds a kustomization as buildFolder does and returns the files that the objects
// come from. kustomize does more then, for each object and transformer:
// https://github.com/kubernetes-sigs/kustomize/issues/5988
func buildOrigins(fs *source.FileSystem, kustomization *source.Kustomization, keep func(*resource.Resource) bool) ([]string, error) {
	k := kustomization.Kustomization
	k.BuildMetadata = append(slices.Clip(k.BuildMetadata), types.OriginAnnotations)
	content, err := yaml.Marshal(k)
	if err != nil {
		return nil, err
	}
	resources, err := kustomize(fs.With(map[string][]byte{kustomization.File: content}), kustomization.Folder)
	if err != nil {
		return nil, err
	}
	files := make([]string, 0, resources.Size())
	for _, r := range resources.Resources() {
		if keep != nil && !keep(r) {
			continue
		}
		file := ""
		if origin, err := r.GetOrigin(); err == nil && origin != nil {
			file = path.Join(kustomization.Folder, cmp.Or(origin.ConfiguredIn, origin.Path))
		}
		files = append(files, file)
	}
	return files, nil
}

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
	resources, err = krusty.MakeKustomizer(options).Run(fs.Counted(), folder)
	if err == nil {
		err = labelManagedBy(resources)
	}
	return resources, err
}

// errPanic is all that can be said where kustomize panics.
var errPanic = errors.New("stops at something that it needs and that is empty: look for entries without a value, in this kustomization and in what it loads")

// KustomizeRelease is that of kustomize whose library this is.
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

func newObject(r *resource.Resource) (object.Object, error) {
	o, err := object.FromYAML(r.YNode())
	if err != nil {
		return object.Object{}, fmt.Errorf("%s: %w", object.ID{Kind: r.GetKind(), Namespace: r.GetNamespace(), Name: r.GetName()}, err)
	}
	return o, nil
}

// isolation is held by whoever builds: what it takes away belongs to the process.
var isolation sync.Mutex

// isolate takes the network, other programs and copies without end from the process while
// sources are built, and leaves the schemas and the log of kustomize as they were.
// Building needs none of the three, but kustomize, told to by a file that it loads, would
// use them.
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

// remarks takes what kustomize logs, names that people wrote among it. It says it on a
// line, the same each time.
type remarks struct{}

// Write implements io.Writer.
func (remarks) Write(remark []byte) (int, error) {
	fmt.Fprintln(os.Stderr, object.Problem{Message: strings.TrimSuffix(string(remark), "\n")})
	return len(remark), nil
}

// setsSchema says whether a kustomization gives kustomize schemas of its own, which
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
