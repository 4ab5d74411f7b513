package kustomize

import (
	"cmp"
	"path"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// losesOrigins matches what replaces the annotations of an object, or the object itself: what
// kustomize takes for its origin then is not where people wrote it.
var losesOrigins = regexp.MustCompile(`"?path"?: "?/metadata/annotations\b|annotations: (null|\{\$patch)|behavior: replace|op: replace, path: /metadata|\$patch: replace`)

// TestOriginsAreThoseOfKustomize builds each repository of testdata with the annotations of
// kustomize that say where an object comes from. A few of the origins may be unknown: those of
// objects that patches or plugins rename.
func TestOriginsAreThoseOfKustomize(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	others, err := filepath.Glob("../testdata/corpus/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	known, unknown := 0, 0
	for _, file := range append(files, others...) {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, ok := tryReadSources(t, t.TempDir(), archive)
		if !ok {
			continue
		}
		for _, o := range builtWithOrigins(t, s) {
			want := path.Join(overlay, o.kustomize)[1:]
			switch o.Origin {
			case want:
				known++
			case "":
				unknown++
			default:
				if losesOrigins.Match(txtar.Format(archive)) {
					continue
				}
				t.Errorf("%s: the origin of %s is %s, want %s", file, o, o.Origin, want)
			}
		}
	}
	if unknown > known/20 {
		t.Errorf("%d origins are unknown, %d are known", unknown, known)
	}
}

// withOrigin is an object and the origin that kustomize annotates it with.
type withOrigin struct {
	manifest.Object
	kustomize string
}

// builtWithOrigins builds the environment with annotations of origins; nothing where it cannot
// be built.
func builtWithOrigins(t test, s *source.Sources) (objects []withOrigin) {
	t.Helper()
	k := s.Kustomizations[overlay]
	with := k.Kustomization
	with.BuildMetadata = append(with.BuildMetadata, types.OriginAnnotations)
	content, err := yaml.Marshal(with)
	if err != nil {
		t.Fatal(err)
	}
	_ = isolated(s, func() error {
		resources, err := kustomize(s.FS.With(map[string][]byte{k.File: content}), overlay)
		if err != nil {
			return err
		}
		for _, r := range resources.Resources() {
			origin, err := r.GetOrigin()
			if err != nil || origin == nil {
				continue
			}
			o, err := manifest.FromYAML(r.YNode())
			if err != nil {
				return err
			}
			objects = append(objects, withOrigin{o, cmp.Or(origin.ConfiguredIn, origin.Path)})
		}
		return nil
	})
	ways := FindWays(s, overlay)
	for i, o := range objects {
		if way := ways.Find(o.Object); way != nil {
			objects[i].Origin = source.Relative(way.Document.File)
		}
	}
	return objects
}
