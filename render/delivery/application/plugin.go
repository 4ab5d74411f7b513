package application

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// Plugin is a config management plugin of Argo CD: a program beside its repo server that makes the objects of sources.
// Argo CD asks each plugin for a source that names no tool.
type Plugin struct {
	Name     string
	Discover Discover
}

// Discover says which folders a plugin takes. The first field that is set counts: see matchRepository in
// cmpserver/plugin/plugin.go.
type Discover struct {
	FileName string
	Find     struct {
		Glob          string
		Command, Args []string
	}
}

// Installation is how Argo CD is installed, as far as files here tell.
type Installation struct {
	// Plugins find their sources by themselves. They are sorted by name.
	Plugins []Plugin
	// LoadsAnywhere reports whether kustomize may load files outside of the folder of a kustomization, by the option
	// kustomize.buildOptions.
	LoadsAnywhere bool
}

// pluginKind is the kind of the file of a plugin, which is no object of a cluster.
const pluginKind = "ConfigManagementPlugin"

// FindInstallation reads the YAML files of a repository. Plugins are in files of their own, in ConfigMaps, and in
// configs.cmp.plugins of the values of the chart argo-cd.
func FindInstallation(files source.Revision) (found Installation) {
	source.EachYAML(files, tree.Folder, func(_ string, content []byte) {
		found.LoadsAnywhere = found.LoadsAnywhere || bytes.Contains(content, []byte("LoadRestrictionsNone"))
		if !bytes.Contains(content, []byte("discover")) {
			return
		}
		for _, document := range source.Documents(content) {
			var value any
			if err := yaml.Unmarshal(document, &value); err == nil { // another is no file of a plugin
				found.Plugins = append(found.Plugins, pluginsIn(value)...)
			}
		}
	})
	slices.SortStableFunc(found.Plugins, func(a, b Plugin) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// pluginsIn returns the plugins in a value of YAML, also in its texts.
func pluginsIn(value any) (all []Plugin) {
	switch value := value.(type) {
	case string:
		var inside map[string]any
		if strings.Contains(value, "discover") && yaml.Unmarshal([]byte(value), &inside) == nil {
			return pluginsIn(inside)
		}
	case []any:
		for _, item := range value {
			all = append(all, pluginsIn(item)...)
		}
	case map[string]any:
		var file struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct{ Discover Discover }
			Plugins  map[string]struct{ Discover Discover }
		}
		_ = manifest.Decode(value, &file) // a field of another type is of no plugin
		if file.Kind == pluginKind {
			return newPlugins(file.Metadata.Name, file.Spec.Discover)
		}
		for key, item := range value {
			all = append(all, pluginsIn(item)...)
			_ = manifest.Decode(item, &file)
			for name, p := range file.Plugins {
				if key == "cmp" {
					all = append(all, newPlugins(name, p.Discover)...)
				}
			}
		}
	}
	return all
}

// newPlugins returns a plugin, unless it has to be named.
func newPlugins(name string, d Discover) []Plugin {
	if d.FileName == "" && d.Find.Glob == "" && len(d.Find.Command) == 0 {
		return nil
	}
	return []Plugin{{name, d}}
}

// findPlugin returns the reason why a plugin makes the objects of a folder, or may make them; nothing if none does.
func findPlugin(plugins []Plugin, files *source.FileSystem, folder string) (reason string) {
	for _, p := range plugins {
		pattern, isKnown := p.Discover.pattern()
		switch {
		case !isKnown:
			reason = "a plugin may make its objects: " + p.Name + ", by its command in discover"
		case hasMatch(files, folder, pattern):
			return "a plugin makes its objects: " + p.Name + ", found by discover"
		}
	}
	return reason
}

// find matches a command that only looks for files by their name, perhaps in a shell.
var find = regexp.MustCompile(`^(?:(?:/bin/)?(?:ba|a)?sh -e?c )?find \.?/? ?(-maxdepth 1 )?(?:-type f )?-name ` +
	`["']?([^\s"'|&;$()]+)["']?$`)

// pattern returns the pattern of files that the plugin takes a folder for. What a command finds is not known, unless it
// only looks for a name.
func (d Discover) pattern() (pattern string, isKnown bool) {
	if d.FileName != "" {
		return strings.ReplaceAll(d.FileName, "**", "*"), true
	}
	if d.Find.Glob != "" {
		return d.Find.Glob, true
	}
	parts := find.FindStringSubmatch(strings.Join(slices.Concat(d.Find.Command, d.Find.Args), " "))
	switch {
	case parts == nil:
		return "", false
	case parts[1] != "":
		return parts[2], true
	}
	return "**/" + parts[2], true
}

// hasMatch reports whether a pattern matches a file or folder below a folder.
func hasMatch(files *source.FileSystem, folder, pattern string) bool {
	pattern = path.Clean(pattern)
	for _, name := range files.Files(folder) {
		within := strings.TrimPrefix(strings.TrimPrefix(name, source.Relative(folder)), "/")
		for ; within != "."; within = path.Dir(within) {
			if doublestar.MatchUnvalidated(pattern, within) {
				return true
			}
		}
	}
	return false
}
