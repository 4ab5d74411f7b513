package render

import (
	"fmt"
	"path"

	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict"
)

// Substitution is how Flux substitutes variables in an environment.
type Substitution struct {
	verdict.Substitution
	// ConfigMaps are the names of those that have the values.
	ConfigMaps []string
}

// readSubstitution sets what Flux substitutes in the environment.
func (e *environment) readSubstitution() (problems []manifest.Problem) {
	return e.readAnnotation(verdict.SubstituteAnnotation, func(file string) (err error) {
		e.substitution, err = readSubstitution(e.sources.FS, e.folder, file)
		return err
	})
}

// readSubstitution returns what a file of an environment says of variables.
func readSubstitution(files *source.FileSystem, folder, file string) (*Substitution, error) {
	s := &Substitution{}
	if file == verdict.UnknownValues {
		return s, nil
	}
	content, err := files.ReadFile(path.Join(folder, file))
	if err != nil {
		return nil, fmt.Errorf("%w: write the path of a file with the ConfigMaps that have the values, or %s", err, verdict.UnknownValues)
	}
	s.Values = map[string]string{}
	for _, document := range source.Documents(content) {
		var o struct {
			Kind     string                `json:"kind"`
			Metadata struct{ Name string } `json:"metadata"`
			Data     map[string]string     `json:"data"`
		}
		if err := yaml.Unmarshal(document, &o); err != nil || o.Kind != "ConfigMap" || o.Metadata.Name == "" {
			return nil, fmt.Errorf("%s has something other than ConfigMaps with metadata.name and data of text, as Flux reads values from: write those", path.Join(source.Relative(folder), file))
		}
		s.ConfigMaps = append(s.ConfigMaps, o.Metadata.Name)
		for name, value := range o.Data {
			s.Values[name] = value
		}
	}
	return s, nil
}

// unjudged returns one warning of all values that are not known.
func (s *stages) unjudged() []manifest.Problem {
	names := s.checker.Unjudged(s.objects)
	if len(names) == 0 {
		return nil
	}
	k := s.sources.Kustomizations[s.folder]
	return []manifest.Problem{{
		Warning: true,
		File:    source.Relative(k.File),
		Line:    s.sources.Line(k.File, "metadata", "annotations", verdict.SubstituteAnnotation),
		Message: fmt.Sprintf("%s: values that Flux substitutes are not judged, as in %s: name the file with their ConfigMaps here instead of %s",
			verdict.SubstituteAnnotation, manifest.FirstOf(3, names), verdict.UnknownValues),
	}}
}

// Substitution returns how Flux substitutes variables in an environment; nil where it does not.
func (r *Repository) Substitution(environment string) (*Substitution, error) {
	files, folder := r.fileSystem(), path.Join("/", tree.EnvironmentsFolder, environment)
	content, err := files.ReadFile(files.KustomizationFile(folder))
	var k struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err == nil {
		err = yaml.Unmarshal(content, &k)
	}
	file, isSaid := k.Metadata.Annotations[verdict.SubstituteAnnotation]
	if err != nil || !isSaid {
		return nil, err
	}
	return readSubstitution(files, folder, file)
}
