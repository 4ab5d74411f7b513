package render

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/text"
	"example.com/gatehouse/render/verdict/apiserver"
)

// installed is a version of Kubernetes in a file that installs or upgrades a cluster, from the root.
type installed struct {
	file    string
	version apiserver.Version
}

// installedBy returns the version of the cluster of a folder, and a file that says it: of the files in the highest
// folder above it without another environment or, without such files, of all. It returns zero if they differ.
func (r *Repository) installedBy(folder string) (version apiserver.Version, file string) {
	type key struct{ source.Revision }
	all := memo.Get(r.shared, key{r.files}, r.findInstalls)
	if len(all) == 0 {
		return 0, ""
	}
	names, _ := r.Environments() // an unreadable folder has none
	for ; ; folder = path.Dir(folder) {
		above := path.Dir(folder)
		isOther := func(name string) bool {
			return source.IsWithin(folderOf(name), above) && !source.IsWithin(folderOf(name), folder)
		}
		if folder == "/" || slices.ContainsFunc(names, isOther) {
			break
		}
	}
	own := slices.DeleteFunc(slices.Clone(all), func(i installed) bool { return !source.IsWithin("/"+i.file, folder) })
	if len(own) > 0 {
		all = own
	}
	if slices.ContainsFunc(all, func(i installed) bool { return i.version != all[0].version }) {
		return 0, ""
	}
	return all[0].version, all[0].file
}

// example matches folders whose clusters do not run.
var example = regexp.MustCompile(`^(tests?|testdata|examples?|samples?|docs?|archived?|vendor|charts|templates)$`)

// findInstalls finds the versions that render knows, in the YAML of the repository and its templates.
func (r *Repository) findInstalls() (all []installed) {
	source.Walk(r.files, func(name string, entry fs.DirEntry) (enter bool) {
		if entry.IsDir() || !entry.Type().IsRegular() || !source.IsYAML(strings.TrimSuffix(name, ".j2")) {
			return !example.MatchString(path.Base(name))
		}
		content, err := r.files.ReadFile(name)
		if err != nil || !mayInstall.Match(content) {
			return false
		}
		for _, is := range versionsIn(content) {
			if version, err := apiserver.ParseVersion(is); err == nil {
				all = append(all, installed{name, version})
			}
		}
		return false
	})
	return all
}

var (
	mayInstall = regexp.MustCompile(`(?i)(kubernetes|k8s|k3s)(_release)?_?version|/kube(let|-apiserver):|` +
		`upgrade\.cattle\.io|cluster\.x-k8s\.io|KubernetesUpgrade`)
	// versionKeys are of kubeadm, Talos, talhelper and Ansible, images of a machine of Talos.
	versionKeys = regexp.MustCompile(`(?i)^(kubernetes|k8s|k3s)(_release)?_?version$`)
	images      = regexp.MustCompile(`/kube(?:let|-apiserver):(v\S+)$`)
	minor       = regexp.MustCompile(`^v?(1\.\d+)(\.\d+)?([-+].*)?$`)
	// written matches both in a template, which is no YAML.
	written = regexp.MustCompile(`(?mi)^[ \t-]*(?:(?:kubernetes|k8s|k3s)(?:_release)?_?version:|` +
		`image:[ \t]*\S*/kube(?:let|-apiserver):)[ \t]*["']?(v?1\.\d+[^\s"']*)`)
)

// versionsIn returns the minor versions of Kubernetes in a file: of kubeadm, Talos, k3s, Cluster API.
func versionsIn(content []byte) (all []string) {
	add := func(value any) {
		text, _ := value.(string)
		if match := minor.FindStringSubmatch(text); match != nil {
			all = append(all, match[1])
		}
	}
	for _, d := range text.Split(content) {
		root, err := d.Parse()
		var fields map[string]any
		if err == nil && root != nil {
			err = root.Decode(&fields)
		}
		if err != nil {
			for _, match := range written.FindAllSubmatch(content, -1) {
				add(string(match[1]))
			}
			return all
		}
		apiVersion, _ := fields["apiVersion"].(string)
		kind, _ := fields["kind"].(string)
		for _, keys := range ofKind(apiVersion, kind) {
			add(decoding.At(fields, keys))
		}
		decoding.Walk(fields, func(path []string, value any) bool {
			is, _ := value.(string)
			if match := images.FindStringSubmatch(is); match != nil {
				add(match[1])
			} else if len(path) > 0 && versionKeys.MatchString(path[len(path)-1]) {
				add(value)
			}
			return true
		})
	}
	return all
}

// ofKind returns the fields of an object with a version of Kubernetes.
func ofKind(apiVersion, kind string) [][]string {
	switch group := manifest.Group(apiVersion); {
	case group == "upgrade.cattle.io" && kind == "Plan":
		return [][]string{{"spec", "version"}}
	case kind == "KubernetesUpgrade":
		return [][]string{{"spec", "kubernetes", "version"}}
	case strings.HasSuffix(group, "cluster.x-k8s.io"):
		return [][]string{{"spec", "topology", "version"}, {"spec", "version"}, {"spec", "template", "spec", "version"}}
	}
	return nil
}
