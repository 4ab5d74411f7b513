package render

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/entry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/settings"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// Entries finds the entries of the repository: the sources of all objects of clusters. An entry is an environment, or
// any other folder, such as the path of the Kustomization that Flux syncs a cluster by. The name of such a folder has a
// slash. It is judged and compared, and its objects are written nowhere.
func (r *Repository) Entries() entry.Repository {
	entries := entry.Repository{Files: r.fileSystem(), Tree: r.files, Settings: r.Settings()}
	if r.options.Origin != nil {
		entries.Origin = r.options.Origin()
	}
	return entries
}

// entries are the entries of a repository, others that its settings exclude, and the folders and files of objects that
// no entry has.
type entries struct {
	all, leftOut []entry.Entry
	undelivered  []string
}

func (r *Repository) findEntries() (found entries) {
	found.all, found.leftOut, found.undelivered = r.Entries().All()
	return found
}

// LeftOut returns the entries that the settings exclude, with the reasons.
func (r *Repository) LeftOut() (all []string) {
	for _, e := range r.found().leftOut {
		all = append(all, e.Name+": "+r.Entries().WhyNone(e))
	}
	return all
}

// Settings returns the settings of the repository.
func (r *Repository) Settings() settings.Settings { return r.settings() }

func (r *Repository) readSettings() settings.Settings { return settings.Read(r.files) }

// settingsProblems returns the errors of the settings. The names of entries are environments or folders to build.
func (r *Repository) settingsProblems() (problems []manifest.Problem) {
	r.look(settings.File)
	problems = r.Settings().Problems
	for _, name := range r.Settings().Named() {
		at := entry.CleanName(name)
		isThere := entry.CanBuild(r.fileSystem(), at) || entry.HasCluster(at)
		if !IsFolder(at) {
			isThere = isThere || r.HasEnvironment(at) || r.options.IsLeftOut != nil && r.options.IsLeftOut(at)
		}
		if !isThere {
			known, _ := r.Environments() // an unreadable folder has none
			problems = append(problems, settings.Invalid(r.files, name, fmt.Sprintf("%q is no environment, and no "+
				"folder with a kustomization or YAML files%s", name, manifest.DidYouMean(name, known))))
		}
	}
	return problems
}

// entryNames returns the names of the entries outside of environments/.
func (r *Repository) entryNames() []string { return namesOf(r.found().all) }

// hasCluster reports whether another cluster than the one of a tool has an entry.
func (r *Repository) hasCluster(name string) bool {
	return name != "" && slices.ContainsFunc(r.found().all, func(e entry.Entry) bool { return e.Cluster == name })
}

func namesOf(entries []entry.Entry) (names []string) {
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

// entryOf returns the entry of a name, perhaps an excluded one, or one of a folder alone.
func (r *Repository) entryOf(name string) entry.Entry {
	if !IsFolder(name) {
		return entry.Entry{Name: name}
	}
	all := slices.Concat(r.found().all, r.found().leftOut)
	if i := slices.IndexFunc(all, func(e entry.Entry) bool { return e.Name == name }); i >= 0 {
		return all[i]
	}
	return entry.Entry{Name: name}
}

// HasOtherEntry reports whether another revision of the repository has other files for an entry.
func (r *Repository) HasOtherEntry(name string, other *Repository) bool {
	return !reflect.DeepEqual(r.entryOf(name), other.entryOf(name))
}

// IsFolder reports whether the name of an environment is the path of a folder outside of environments/.
func IsFolder(name string) bool { return entry.IsFolder(name) }

// folderOf returns the folder of an environment, from the root.
func folderOf(name string) string {
	if IsFolder(name) {
		return path.Join("/", entry.FolderOf(name))
	}
	return path.Join("/", tree.EnvironmentsFolder, name)
}

// errNotRendered is the error of a verb that needs rendered/NAME.
func errNotRendered(name string) error {
	return fmt.Errorf("%s is no environment of %s/, and is rendered nowhere: judge it with --check, compare it by "+
		"render diff --base, or move it in by render init --from", name, tree.EnvironmentsFolder)
}

// CheckRendered returns an error if one of the selected environments is a folder outside of environments/.
func (r *Repository) CheckRendered(selection Selection) error {
	names := selection.Names
	if own, _ := r.ownEnvironments(); selection.All && len(own) == 0 { // Select reports the error
		names = append(names, r.entryNames()...)
	}
	for _, name := range names {
		if name = entry.CleanName(name); IsFolder(name) && r.HasEnvironment(name) && r.checkFolder(name) == nil {
			return errNotRendered(name)
		}
	}
	return nil
}

// checkFolder returns an error unless a folder can be an entry.
func (r *Repository) checkFolder(name string) error {
	switch {
	case !r.Entries().IsOutside(name):
		return r.invalidName(name)
	case !entry.CanBuild(r.fileSystem(), name) && !r.entryOf(name).IsChart && !r.entryOf(name).IsByHand():
		return fmt.Errorf("%s has neither a kustomization nor YAML files", name)
	}
	return nil
}

// withResources returns files with a kustomization of the files of an entry that are applied by hand, perhaps beside
// the one of the folder.
func withResources(files *source.FileSystem, e entry.Entry) *source.FileSystem {
	at := folderOf(e.Name)
	resources := make([]string, 0, len(e.Resources))
	for _, name := range e.Resources {
		resources = append(resources, "./"+source.Relative(strings.TrimPrefix("/"+name, at)))
	}
	file := files.KustomizationFile(at)
	inGit, err := files.ReadAny(file)
	if !e.WithFolder || err != nil {
		file = cmp.Or(file, path.Join(at, konfig.DefaultKustomizationFileName()))
		return files.With(map[string][]byte{file: manifest.ToYAML(types.Kustomization{Resources: resources})})
	}
	// The field bases has more resources. It is old, and keeps the lines of the file.
	content := slices.Concat(inGit, []byte("\n"), manifest.ToYAML(map[string]any{"bases": resources}))
	var k types.Kustomization
	if err := yaml.UnmarshalStrict(content, &k); err != nil {
		return files // an error where the kustomization is read
	}
	return files.With(map[string][]byte{file: content})
}

// targetOf returns the name of the cluster that an object delivers to, as an entry has it, or nothing for its own.
func targetOf(o manifest.Object) string {
	text := func(keys ...string) string {
		value, _, _ := unstructured.NestedString(o.Object, append([]string{"spec"}, keys...)...)
		return value
	}
	if delivery.IsApplication(o) {
		return entry.ClusterOf(text("destination", "name"), text("destination", "server"))
	}
	return entry.ClusterBy(o.GetNamespace(), text("kubeConfig", "secretRef", "name"),
		text("kubeConfig", "configMapRef", "name"))
}

// deliveringTo returns objects as another cluster sees them: a delivery to it is one to its own cluster, and
// none delivers to any other.
func deliveringTo(cluster string, objects []manifest.Object) (all []manifest.Object) {
	for _, o := range objects {
		o = o.Copy()
		if targetOf(o) != cluster && Delivers(o) && !folder.IsSet(o) {
			continue
		}
		destination, _, _ := unstructured.NestedMap(o.Object, "spec", "destination")
		if destination["name"] != nil || destination["server"] != nil {
			delete(destination, "name")
			destination["server"] = delivery.InCluster
			_ = unstructured.SetNestedMap(o.Object, destination, "spec", "destination")
		}
		unstructured.RemoveNestedField(o.Object, "spec", "kubeConfig")
		all = append(all, o)
	}
	return all
}
