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

// installed is what a file says that installs or upgrades a cluster.
type installed struct {
	file    string            // from the root
	version apiserver.Version // zero if the file has none
	enabled []string          // beta versions in a --runtime-config of kube-apiserver
}

// installedBy returns the version of the cluster of a folder with a file that says it, and the beta versions that it
// enables: of the files in the highest folder above it without another environment or, without a version there, of all.
// It returns zero if the versions differ.
func (r *Repository) installedBy(folder string) (of installed) {
	type key struct{ source.Revision }
	all := memo.Get(r.shared, key{r.files}, r.findInstalls)
	hasVersion := func(i installed) bool { return i.version != 0 }
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
	if slices.ContainsFunc(own, hasVersion) {
		all = own
	}
	for _, i := range all {
		switch {
		case i.version == 0:
		case of.version == 0:
			of.file = i.file
			of.version = i.version
		case of.version != i.version:
			return installed{}
		}
		of.enabled = append(of.enabled, i.enabled...)
	}
	return of
}

// example matches folders whose clusters do not run.
var example = regexp.MustCompile(`^(tests?|testdata|examples?|samples?|docs?|archived?|vendor|charts|templates)$`)

// findInstalls finds the versions that render knows, and enabled ones, in the YAML of the repository and its templates.
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
				all = append(all, installed{file: name, version: version})
			}
		}
		if enabled := enabledIn(content); len(enabled) > 0 {
			all = append(all, installed{file: name, enabled: enabled})
		}
		return false
	})
	return all
}

var (
	mayInstall = regexp.MustCompile(`(?i)(kubernetes|k8s|k3s)(_release)?_?version|/kube(let|-apiserver):|` +
		`upgrade\.cattle\.io|cluster\.x-k8s\.io|KubernetesUpgrade|runtime-config`)
	// runtimeConfig matches the flag of kube-apiserver as a key, as an item of a list, and as a name with a value.
	runtimeConfig = regexp.MustCompile(`(?m)^[^#\n]*\bruntime-config["']?(?:[=:]|,?\s+"?value"?:)\s*["']?` +
		`([a-z0-9][\w./=,-]*)`)
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

// enabledIn returns the versions that a --runtime-config in a file enables.
func enabledIn(content []byte) (enabled []string) {
	for _, match := range runtimeConfig.FindAllSubmatch(content, -1) {
		for entry := range strings.SplitSeq(string(match[1]), ",") {
			if version, is, _ := strings.Cut(entry, "="); is != "false" {
				enabled = append(enabled, version)
			}
		}
	}
	return enabled
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
