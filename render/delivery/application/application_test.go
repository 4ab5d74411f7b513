package application

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/test/sources"
)

// read reads an Application web with a spec.
func read(t *testing.T, metadata, spec string) Application {
	t.Helper()
	u := &unstructured.Unstructured{}
	content := "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd" + metadata +
		"}\nspec: " + spec
	if err := yaml.Unmarshal([]byte(content), &u.Object); err != nil {
		t.Fatal(err)
	}
	return Read(manifest.Object{Unstructured: u, Written: u})
}

func TestAHydratorGoesBeforeSourcesAndThoseBeforeOne(t *testing.T) {
	for spec, want := range map[string]string{
		"{source: {path: a}}":                                                               "spec.source -1 a",
		"{source: {path: a}, sources: []}":                                                  "spec.source -1 a",
		"{source: {path: a}, sources: [{path: b}, {path: c}]}":                              "spec.sources[0] 0 b, spec.sources[1] 1 c",
		"{sourceHydrator: {drySource: {path: d}}, sources: [{path: b}], source: {path: a}}": "spec.sourceHydrator.drySource -1 d",
		"{}":           "",
		"{source: []}": "",
	} {
		var got []string
		for _, s := range read(t, "", spec).Sources {
			got = append(got, fmt.Sprintf("%s %d %s", s.Field, s.Nth, s.Path))
		}
		if is := strings.Join(got, ", "); is != want {
			t.Errorf("%s: %s, want %s", spec, is, want)
		}
	}
}

// As ExplicitType and AppType of Argo CD: a field decides, or the last name of a chart or kustomization.
func TestTypeOfASource(t *testing.T) {
	const chart = "-- a/Chart.yaml --\n"
	const kustomization = "-- a/kustomization.yaml --\n"
	for name, test := range map[string]struct{ fields, files, want string }{
		"files":                         {"", "-- a/x.yaml --\n", "directory"},
		"a chart":                       {"", chart, "helm"},
		"a kustomization":               {"", kustomization, "kustomize"},
		"a chart and a kustomization":   {"", chart + kustomization, "kustomize"},
		"another chart last":            {"", kustomization + "-- a/xChart.yaml --\n", "a has no Chart.yaml"},
		"one below":                     {"", "-- a/b/kustomization.yaml --\n-- a/b/Chart.yaml --\n", "directory"},
		"a folder of that name":         {"", "-- a/kustomization.yaml/x.yaml --\n", "directory"},
		"directory":                     {", directory: {include: '*'}", kustomization + chart, "directory"},
		"helm":                          {", helm: {releaseName: x}", kustomization + chart, "helm"},
		"kustomize":                     {", kustomize: {namePrefix: x}", chart + kustomization, "kustomize"},
		"plugin":                        {", plugin: {name: x}", kustomization, "plugin"},
		"two":                           {", directory: {recurse: true}, helm: {version: v3}", chart, "a has helm, directory, and a source has one of them"},
		"kustomize without a file":      {", kustomize: {namePrefix: x}", "-- a/x.yaml --\n", "a has no kustomization.yaml"},
		"helm without a chart":          {", helm: {releaseName: x}", "-- a/x.yaml --\n", "a has no Chart.yaml"},
		"a file that adds a type":       {"", chart + "-- a/.argocd-source.yaml --\ndirectory: {}\n", "directory"},
		"a file that adds another type": {", helm: {releaseName: x}", chart + "-- a/.argocd-source-web.yaml --\ndirectory: {}\n", "a has helm, directory"},
		"a file of another Application": {"", chart + "-- a/.argocd-source-other.yaml --\ndirectory: {}\n", "helm"},
		"a wrong file":                  {"", chart + "-- a/.argocd-source.yaml --\n[\n", "a/.argocd-source.yaml: "},
	} {
		_, files := sources.Open(t, t.TempDir(), txtar.Parse([]byte(test.files)).Files)
		_, built, err := read(t, "", "{source: {path: a"+test.fields+"}}").Sources[0].Merge(files, Origin{})
		got := string(built)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, test.want) || test.want == "" {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// As NormalizeApplicationSpec of Argo CD, which leaves several sources as they are.
func TestOptionsThatSayNothingChooseNoType(t *testing.T) {
	for options, want := range map[string]string{
		"directory: {}": "helm", "kustomize: {}": "helm", "helm: {}, directory: {jsonnet: {extVars: []}}": "helm",
		"directory: {recurse: false, exclude: ''}": "helm", "directory: {exclude: x}": "directory", "directory: {jsonnet: {libs: [x]}}": "directory",
		"kustomize: {images: [], forceCommonLabels: true, buildOptions: x}": "helm", "kustomize: {commonLabels: {a: ''}}": "a has no kustomization.yaml",
		"helm: {parameters: []}, kustomize: {namePrefix: x}": "a has no kustomization.yaml", "helm: {valuesObject: {}}, directory: {recurse: true}": "a has helm, directory",
	} {
		_, files := sources.Open(t, t.TempDir(), txtar.Parse([]byte("-- a/Chart.yaml --\n")).Files)
		merge := func(spec string) string {
			_, built, err := read(t, "", spec).Sources[0].Merge(files, Origin{})
			if err != nil {
				return err.Error()
			}
			return string(built)
		}
		if got := merge("{source: {path: a, " + options + "}}"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
		if got := merge("{sources: [{path: a, " + options + "}]}"); got == "helm" {
			t.Errorf("%s of several sources: %s", options, got)
		}
	}
}

// The second file is merged over the first, and neither changes the place of the source.
func TestFilesChangeASource(t *testing.T) {
	_, files := sources.Open(t, t.TempDir(), txtar.Parse([]byte(`-- a/.argocd-source.yaml --
path: other
targetRevision: v2
kustomize: {namePrefix: all-, nameSuffix: -all, images: [x=x:1]}
-- a/.argocd-source-web.yaml --
kustomize: {images: [x=x:2], nameSuffix: null}
-- a/kustomization.yaml --
`)).Files)
	s, _, err := read(t, "", "{source: {path: a, repoURL: u, kustomize: {namespace: shop}}}").Sources[0].Merge(files, Origin{})
	if err != nil {
		t.Fatal(err)
	}
	k := s.Kustomize
	if s.Path+s.TargetRevision != "a" || k.Namespace != "shop" || k.NamePrefix != "all-" || k.NameSuffix != "" ||
		len(k.Images) != 1 || k.Images[0].NewTag != "2" {
		t.Errorf("%+v %+v", s, k)
	}
}

// The variables of newEnv, and those that are none.
func TestBuildEnvironment(t *testing.T) {
	s := read(t, "", "{project: p, destination: {namespace: shop}, source: {path: a, repoURL: u, targetRevision: main}}").Sources[0]
	for text, want := range map[string]string{
		"$ARGOCD_APP_NAME-${ARGOCD_APP_NAMESPACE}":                                     "web-shop",
		"$ARGOCD_APP_PROJECT_NAME $ARGOCD_APP_SOURCE_PATH $ARGOCD_APP_SOURCE_REPO_URL": "p a u",
		"$ARGOCD_APP_SOURCE_TARGET_REVISION":                                           "main",
		"${NODE}x$OTHER${NODE}":                                                        "x unset [NODE OTHER]",
		"$$NODE $1":                                                                    "$NODE  unset [1]",
		"v$ARGOCD_APP_REVISION_SHORT":                                                  "v unknown",
	} {
		e := s.Expand(text)
		got := e.Text
		if e.Unset != nil {
			got += fmt.Sprint(" unset ", e.Unset)
		}
		if e.Unknown {
			got += " unknown"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestKustomizeHasTheBuildEnvironment(t *testing.T) {
	_, files := sources.Open(t, t.TempDir(), txtar.Parse([]byte("-- a/kustomization.yaml --\n")).Files)
	s, _, err := read(t, "", "{source: {path: a, kustomize: {images: ['x:$ARGOCD_APP_NAME', 'y:$ARGOCD_APP_REVISION'], commonLabels: {app: $ARGOCD_APP_NAME}}}}").Sources[0].Merge(files, Origin{})
	k := s.Kustomize
	if err != nil || len(k.Images) != 1 || k.Images[0].NewTag != "web" || k.CommonLabels["app"] != "web" || !slices.Equal(s.Unknown, []string{"y"}) {
		t.Errorf("%+v %q %v", k, s.Unknown, err)
	}
}

// Another repository has another name; with one name it may be a fork or a mirror. See NormalizeGitURL for the rest.
func TestOriginTellsWhatIsElsewhere(t *testing.T) {
	const none, repository, revision = "", "its source is another repository", "its source is another revision"
	isOther := func(name string) bool { return name == "stable" }
	for _, test := range []struct{ url, own, revision, want string }{
		{"https://git.example.com/acme/yard.git", "https://git.example.com/acme/yard", "", none},
		{"git@git.example.com:Acme/Yard.git", "https://git.example.com/acme/yard", "HEAD", none},
		{"ssh://git@git.example.com:7999/acme/yard.git", "https://token:x@git.example.com/scm/acme/yard.git", "main", none},
		{"https://git.example.com/fork/yard", "git@git.example.com:acme/yard.git", "", none},
		{"https://git.example.com/acme/harbour", "git@git.example.com:acme/yard.git", "", repository},
		{"https://git.example.com/acme/yardarm.git", "https://git.example.com/acme/yard", "", repository},
		{"https://git.example.com/acme/harbour", "", "", none},
		{"oci://registry.example.com/acme/yard", "", "", repository},
		{"{{repo}}", "https://git.example.com/acme/yard", "v1.2.3", none},
		{"https://git.example.com/acme/yard", "", "v1.2.3", revision},
		{"https://git.example.com/acme/yard", "", "1.2.*", revision},
		{"https://git.example.com/acme/yard", "", ">=1.0.0 <2.0.0", revision},
		{"https://git.example.com/acme/yard", "", "refs/tags/x", revision},
		{"https://git.example.com/acme/yard", "", "8f2c0de11", revision},
		{"https://git.example.com/acme/yard", "", "release-1.2", none},
		{"https://git.example.com/acme/yard", "", "refs/heads/stable", revision},
	} {
		origin := Origin{IsOther: isOther}
		if test.own != "" {
			origin.URLs = []string{test.own}
		}
		s := Source{RepoURL: test.url, TargetRevision: test.revision}
		if got := origin.Elsewhere(s); got != test.want {
			t.Errorf("%s of %q: %q, want %q", s, test.own, got, test.want)
		}
	}
}

func TestAPathOfTheRootIsDoubled(t *testing.T) {
	_, files := sources.Open(t, t.TempDir(), txtar.Parse([]byte("-- apps/web/a.yaml --\n-- apps/web/sub/a.yaml --\n-- apps/common/a.yaml --\n")).Files)
	for paths, want := range map[string]string{
		"apps/web": "apps/web", ".; apps/common": "apps/common", ".": "", "/apps/web": "", "../common": "", "sub;none": "",
	} {
		a := read(t, ", annotations: {argocd.argoproj.io/manifest-generate-paths: '"+paths+"'}", "{source: {path: apps/web}}")
		if got, _ := a.Sources[0].Doubled(files); got != want {
			t.Errorf("%s: %q, want %q", paths, got, want)
		}
	}
}

// As ValidatePermissions and GetDestinationServer of Argo CD.
func TestArgoCDRefusesAnApplication(t *testing.T) {
	const source, here = "source: {repoURL: u, path: a}", "destination: {server: b}"
	for spec, want := range map[string]string{
		source + ", " + here:                                               "",
		source + ", destination: {name: a}":                                "",
		source + ", destination: {name: a, server: b}":                     "spec.destination.name",
		source + ", destination: {namespace: a}":                           "spec.destination",
		here:                                                               "spec.source",
		"source: {repoURL: u}, " + here:                                    "spec.source",
		"source: {path: a}, " + here:                                       "", // its definition refuses it
		"source: {repoURL: u, ref: a}, " + here:                            "spec.source",
		"source: {repoURL: u, chart: a}, " + here:                          "spec.source",
		"source: {repoURL: u, chart: a, targetRevision: '*'}, " + here:     "",
		"sources: [{repoURL: u, ref: a}, {repoURL: u}], " + here:           "spec.sources[1]",
		"sources: [{repoURL: u, ref: a}], source: {path: []}, " + here:     "", // not read
		"sourceHydrator: {drySource: {repoURL: u}}, " + here:               "",
		"sources: [], source: {repoURL: u, path: a}, " + here:              "",
		"sources: [{repoURL: u, chart: a}, {repoURL: u, ref: a}], " + here: "spec.sources[0]",
	} {
		got := ""
		for _, p := range read(t, "", "{"+spec+"}").Refused() {
			if got = p.Field; p.Warning {
				t.Errorf("%s: a warning", spec)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", spec, got, want)
		}
	}
}

// As Path of Argo CD.
func TestAPathIsBelowTheRoot(t *testing.T) {
	for path, want := range map[string]string{
		"a": "", "./a": "", "a/../b": "", ".": "", "/a/b": "write a/b", "../a": "write a", "..": "write .", "a/../../b": "write b",
	} {
		err := read(t, "", "{source: {path: '"+path+"'}}").Sources[0].CheckPath()
		if (err == nil) != (want == "") || err != nil && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// A host serves a repository by several protocols.
func TestURLsOfOneRepository(t *testing.T) {
	const known = "https://git.example.com/acme/yard.git"
	for url, want := range map[string]bool{
		"https://git.example.com/acme/yard": true, "https://GIT.example.com/Acme/Yard/": true, "https://git.example.com/acme/yard.git/": true,
		"git@git.example.com:acme/yard.git": true, "ssh://git@git.example.com:22/acme/yard": true, "https://me:x@git.example.com:443/acme/yard": true,
		"https://git.example.com/acme/yard2": false, "https://git.example.org/acme/yard": false, "ssh://git@git.example.com:7999/acme/yard": false, "": false,
	} {
		if got := IsSame(known, url); got != want {
			t.Errorf("%s: %t", url, got)
		}
	}
}
