package setup

import (
	"bytes"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/regular"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// valuesFile is the file with the values of variables in the folder of an environment.
const valuesFile = "values.yaml"

// values returns the annotation of the environment of an object with variables, with the content of valuesFile
// if that is necessary. Later ConfigMaps precede earlier ones, and substitute precedes all, as in Flux.
func (p *target) values(a *adoption) (annotation string, content []byte, err error) {
	if len(a.PostBuild.Substitute)+len(a.PostBuild.SubstituteFrom) == 0 { // only the defaults count
		return flux.Unknown, nil, nil
	}
	var files []string
	var documents [][]byte
	isAlone := len(a.PostBuild.SubstituteFrom) == 1 && len(a.PostBuild.Substitute) == 0
	for _, from := range a.PostBuild.SubstituteFrom {
		if from.Kind != "ConfigMap" {
			return flux.Unknown, nil, fmt.Errorf("only the cluster has the values of %s %s", from.Kind, from.Name)
		}
		file, document, err := p.findConfigMap(a.delivery, from.Name)
		if err != nil {
			return flux.Unknown, nil, err
		}
		all, err := regular.ReadReal(p.root, file)
		isAlone = isAlone && err == nil && len(source.Documents(all)) == 1
		files = append(files, file)
		documents = append(documents, document)
	}
	if isAlone && source.IsWithin("/"+files[0], path.Join("/", p.prefix)) {
		return wayTo(a.folder, "/"+files[0]), nil, nil
	}
	header := "# The values of postBuild of " + a.title() + "."
	if len(files) > 0 {
		header += " Change them here and in " + strings.Join(files, ", ") + "."
	}
	if len(a.PostBuild.Substitute) > 0 {
		documents = append(documents, manifest.ToYAML(map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": a.name() + "-substitute"}, "data": a.PostBuild.Substitute}))
	}
	for i := range documents {
		documents[i] = append(bytes.TrimSpace(documents[i]), '\n')
	}
	return valuesFile, slices.Concat([]byte(header+"\n"), bytes.Join(documents, []byte("---\n"))), nil
}

// findConfigMap returns the manifest of a ConfigMap of the repository with values. Of several it takes the one
// nearest to the file of the delivery object.
func (p *target) findConfigMap(d *delivery, name string) (file string, document []byte, err error) {
	from, _ := resolve(filepath.Dir(d.file)) // the file has been read
	nearest := math.MaxInt
	var files []string
	rendered := path.Join(p.prefix, tree.Folder)
	source.EachYAML(source.Disk(p.root, p.top), rendered, func(at string, content []byte) {
		if !bytes.Contains(content, []byte(name)) { // parsing is slow
			return
		}
		for _, found := range source.Documents(content) {
			if !d.takesValues(found, name) {
				continue
			}
			up, _ := filepath.Rel(from, filepath.Join(p.top, at))
			if distance := strings.Count(up, ".."+string(filepath.Separator)); distance <= nearest {
				if distance < nearest {
					files = nil
				}
				nearest = distance
				files = append(files, at)
				file = at
				document = found
			}
		}
	})
	switch len(files) {
	case 0:
		return "", nil, fmt.Errorf("no file of the repository has the ConfigMap %s", name)
	case 1:
		return file, document, nil
	}
	return "", nil, fmt.Errorf("the ConfigMap %s is in several files, and nothing says which has the values: %s", name,
		manifest.FirstOf(3, files))
}

// takesValues reports whether a document is the ConfigMap of a name for the object.
func (d *delivery) takesValues(document []byte, name string) bool {
	var o struct {
		Kind     string
		Metadata struct{ Name, Namespace string }
		Data     map[string]string
	}
	err := yaml.Unmarshal(document, &o)
	return err == nil && o.Kind == "ConfigMap" && o.Metadata.Name == name && o.Data != nil &&
		(o.Metadata.Namespace == "" || d.namespace() == "" || o.Metadata.Namespace == d.namespace())
}
