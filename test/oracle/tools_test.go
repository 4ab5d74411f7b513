package oracle

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	fluxkustomize "github.com/fluxcd/pkg/kustomize"
	"github.com/fluxcd/pkg/sourceignore"
	ssautil "github.com/fluxcd/pkg/ssa/utils"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

type object = unstructured.Unstructured

// cluster is what the tools make of the roots of a tree.
type cluster struct {
	client.Client // of Flux: Get alone

	dir, artifact string              // the tree, and as Flux has it
	objects       map[string][]string // JSON by kind and name
	errs          map[string]error    // of objects that deliver, by kind and name
	isMade        map[string]bool
	values        map[client.ObjectKey]map[string]string
	isLast        bool // the values are complete
}

// refusal is the error of a tool.
type refusal struct{ error }

func must[T any](value T, err error) T {
	if err != nil {
		panic(refusal{err})
	}
	return value
}

// catch keeps the error of a tool.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case refusal:
		*err = r.error
	default:
		panic(r)
	}
}

// renderAll returns the objects that the tools make of roots, and the errors of objects that deliver. An artifact
// folder is for the copy of Flux.
func renderAll(dir, artifact string, roots []string) (objects map[string][]string, errs map[string]error, err error) {
	defer os.RemoveAll(artifact)
	defer catch(&err)
	c := &cluster{dir: dir, artifact: artifact, values: map[client.ObjectKey]map[string]string{}}
	c.archive()
	for i := range 2 { // values of variables may come late
		c.objects, c.isMade, c.isLast = map[string][]string{}, map[string]bool{}, i > 0
		c.errs = map[string]error{}
		for _, root := range roots {
			how, at, _ := strings.Cut(root, " ")
			switch how {
			case "kustomize":
				c.deliver(c.runKustomize(at))
			case "flux":
				by := &object{Object: map[string]any{"kind": "Kustomization", "apiVersion": "kustomize.toolkit.fluxcd.io/v1"}}
				by.SetName("root")
				c.deliver(c.runFlux(by, at))
			case "helm":
				chart, values, _ := strings.Cut(at, " ")
				release := common.ReleaseOptions{Name: filepath.Base(chart), Namespace: "argocd"}
				content := must(os.ReadFile(filepath.Join(dir, values)))
				c.deliver(runHelm(filepath.Join(dir, chart), release, content, nil))
			default:
				for _, name := range must(filepath.Glob(filepath.Join(dir, at))) {
					c.deliver(parse(must(os.ReadFile(name))))
				}
			}
		}
	}
	for key, each := range c.objects {
		slices.Sort(each)
		c.objects[key] = slices.Compact(each)
	}
	return c.objects, c.errs, nil
}

// archive copies the tree without the files that source-controller leaves out: ignored ones, and links.
func (c *cluster) archive() {
	domain := strings.Split(c.dir, string(filepath.Separator))
	matcher := sourceignore.NewDefaultMatcher(must(sourceignore.LoadIgnorePatterns(c.dir, domain)), domain)
	must(0, filepath.WalkDir(c.dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || matcher.Match(strings.Split(name, string(filepath.Separator)), false) {
			return err
		}
		to := filepath.Join(c.artifact, strings.TrimPrefix(name, c.dir))
		must(0, os.MkdirAll(filepath.Dir(to), 0o700))
		return os.WriteFile(to, must(os.ReadFile(name)), 0o600)
	}))
}

func parse(content []byte) []*object { return must(ssautil.ReadObjects(bytes.NewReader(content))) }

func (c *cluster) runKustomize(at string) []*object {
	builder := krusty.MakeKustomizer(krusty.MakeDefaultOptions())
	return parse(must(must(builder.Run(filesys.MakeFsOnDisk(), filepath.Join(c.dir, at))).AsYaml()))
}

// runFlux builds a folder as kustomize-controller does.
func (c *cluster) runFlux(by *object, at string) (objects []*object) {
	folder := filepath.Join(c.artifact, at)
	action := must(fluxkustomize.NewGenerator(c.artifact, *by).WriteFile(folder))
	built, err := fluxkustomize.SecureBuild(c.artifact, folder, false)
	must(0, fluxkustomize.CleanDirectory(folder, action))
	_, hasVariables, _ := unstructured.NestedMap(by.Object, "spec", "postBuild")
	for _, r := range must(built, err).Resources() {
		if hasVariables {
			if done := must(fluxkustomize.SubstituteVariables(context.Background(), c, *by, r)); done != nil {
				r = done
			}
		}
		objects = append(objects, parse(must(r.AsYAML()))...)
	}
	return objects
}

// Get gives Flux the values of variables.
func (c *cluster) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	values, isThere := c.values[key]
	configMap, isConfigMap := o.(*corev1.ConfigMap)
	if _, isSecret := o.(*corev1.Secret); isSecret { // which SOPS encrypts, or the cluster alone has
		return nil
	}
	if c.isLast && !isThere || !isConfigMap {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
	}
	configMap.Data = values
	return nil
}

// deliver adds objects, and the objects that they deliver.
func (c *cluster) deliver(objects []*object) {
	for _, o := range objects {
		content := string(must(o.MarshalJSON()))
		key := o.GetKind() + " " + o.GetName()
		c.objects[key] = append(c.objects[key], content)
		if data, _, _ := unstructured.NestedStringMap(o.Object, "data"); o.GetKind() == "ConfigMap" {
			c.values[client.ObjectKeyFromObject(o)] = data
		}
		if !c.isMade[content] {
			c.isMade[content] = true
			made, err := c.made(o)
			if err != nil {
				c.errs[key] = err
			}
			c.deliver(made)
		}
	}
}

// made returns the objects that an object delivers. Charts of registries, and folders of other repositories, are not
// here.
func (c *cluster) made(o *object) (all []*object, err error) {
	if group := o.GroupVersionKind().Group; group == "argoproj.io" && o.GetKind() == "Application" {
		return c.runArgo(o)
	}
	defer catch(&err)
	return c.open(o), nil
}

func (c *cluster) open(o *object) []*object {
	text := func(fields ...string) string { s, _, _ := unstructured.NestedString(o.Object, fields...); return s }
	isSuspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
	switch group := o.GroupVersionKind().Group; {
	case isSuspended:
	case group == "kustomize.toolkit.fluxcd.io":
		return c.runFlux(o, text("spec", "path"))
	case group == "helm.toolkit.fluxcd.io" && text("spec", "chart", "spec", "sourceRef", "kind") == "GitRepository":
		values, _, _ := unstructured.NestedMap(o.Object, "spec", "values")
		from, _, _ := unstructured.NestedSlice(o.Object, "spec", "valuesFrom")
		below := ""
		for _, one := range from { // at most one
			name, _ := one.(map[string]any)["name"].(string)
			below = c.values[client.ObjectKey{Namespace: o.GetNamespace(), Name: name}]["values.yaml"]
		}
		release := common.ReleaseOptions{Name: o.GetName(), Namespace: o.GetNamespace()}
		chart := filepath.Join(c.artifact, text("spec", "chart", "spec", "chart"))
		return runHelm(chart, release, []byte(below), values)
	case o.GetKind() == "ApplicationSet":
		return c.runSet(o)
	}
	return nil
}

// runHelm renders a chart as a release, with values above the values in a text.
func runHelm(at string, release common.ReleaseOptions, below []byte, values map[string]any) (objects []*object) {
	chart := must(loader.Load(at))
	for _, dependency := range chart.Metadata.Dependencies {
		isHere := func(c *v2.Chart) bool { return c.Name() == dependency.Name }
		if !slices.ContainsFunc(chart.Dependencies(), isHere) {
			must(0, fmt.Errorf("chart %s is not here", dependency.Name))
		}
	}
	merged := loader.MergeMaps(must(loader.LoadValues(bytes.NewReader(below))), values)
	must(0, chartutil.ProcessDependencies(chart, merged))
	release.IsInstall = true
	all := must(util.ToRenderValues(chart, merged, release, common.DefaultCapabilities))
	for name, content := range must(engine.Render(chart, all)) {
		for _, document := range releaseutil.SplitManifests(content) {
			if !strings.HasSuffix(name, "NOTES.txt") {
				objects = append(objects, parse([]byte(document))...)
			}
		}
	}
	for _, crd := range chart.CRDObjects() {
		objects = append(objects, parse(crd.File.Data)...)
	}
	return objects
}
