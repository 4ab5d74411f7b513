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

// losesOrigins matches patches and generators that replace the annotations of an object, or the object
// itself. kustomize then loses the origin.
var losesOrigins = regexp.MustCompile(`"?path"?: "?/metadata/annotations\b|annotations: (null|\{\$patch)|behavior: replace|op: replace, path: /metadata|\$patch: replace`)

// TestOriginsMatchKustomize builds each repository of testdata with kustomize's origin annotations. A few
// origins may be unknown: patches and plugins rename objects.
func TestOriginsMatchKustomize(t *testing.T) {
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
			want := path.Join(prod, o.kustomize)[1:]
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

// withOrigin is an object with its origin annotation.
type withOrigin struct {
	manifest.Object
	kustomize string
}

// builtWithOrigins builds the environment with origin annotations. It returns nothing if the build fails.
func builtWithOrigins(t test, s *source.Sources) (objects []withOrigin) {
	t.Helper()
	k := s.Kustomizations[prod]
	with := k.Kustomization
	with.BuildMetadata = append(with.BuildMetadata, types.OriginAnnotations)
	content, err := yaml.Marshal(with)
	if err != nil {
		t.Fatal(err)
	}
	_ = isolated(s, func() error {
		resources, err := run(s.FS.With(map[string][]byte{k.File: content}), prod)
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
	paths := FindPaths(s, prod)
	for i, o := range objects {
		if path := paths.Find(o.Object); path != nil {
			objects[i].Origin = source.Relative(path.Document.File)
		}
	}
	return objects
}
