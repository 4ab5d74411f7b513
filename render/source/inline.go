package source

import (
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
)

// isInline reports whether kustomize takes a text, where it may be a path, for YAML.
func (s *Sources) isInline(k *Kustomization, text string) bool {
	if strings.Contains(text, "\n") {
		return true
	}
	var root yaml.Node
	err := yaml.Unmarshal([]byte(text), &root)
	if err == nil && (len(root.Content) == 0 || root.Content[0].Kind == yaml.ScalarNode) {
		return false
	}
	if err == nil && textAt(root.Content[0], "kind") != "" {
		return true
	}
	return !s.FS.Exists(path.Join(k.Folder, text)) && (err == nil || strings.HasPrefix(text, "{"))
}

// walkInline checks the objects that a kustomization has in place of a path.
func (s *Sources) walkInline(k *Kustomization, l loads, value *yaml.Node) {
	before := len(s.Problems)
	documents := s.readYAML(k.File, textPieces(value), l)
	if len(s.Problems) > before {
		return
	}
	for _, d := range documents {
		if d.Node.Kind != yaml.MappingNode || d.Kind == "" || d.Name == "" {
			s.report(k.File, d.Node.Line, "%s: %s is neither a path nor an object: write the path of a file on one line, or an object with apiVersion, kind and metadata.name",
				l.field, clip(strings.ReplaceAll(value.Value, "\n", " ")))
			return
		}
	}
	switch {
	case len(documents) == 0:
		s.report(k.File, value.Line, "%s: an empty text: remove it", l.field)
	case l.is == loadPatches:
		s.addPatches(k, value, nil, documents)
	default:
		for _, d := range documents {
			s.checkConfig(d)
		}
	}
}

// checkConfigs checks the generators, transformers and validators in files. Where there are none,
// files that generators of ConfigMaps and Secrets read may be anything: kustomize parses no other.
func (s *Sources) checkConfigs() {
	for _, l := range s.loads {
		if l.isConfig && !l.isDir {
			for _, d := range s.documents[l.path] {
				s.checkConfig(d)
			}
		}
	}
	for _, k := range s.Kustomizations {
		if len(k.Generators)+len(k.Transformers)+len(k.Validators) > 0 {
			return
		}
	}
	for _, file := range s.texts {
		s.FS.disk.isMeasured[file] = true
	}
}

// checkConfig checks the configuration of a generator, transformer or validator.
func (s *Sources) checkConfig(d Document) {
	switch {
	case d.Kind == "":
	case d.APIVersion != "builtin":
		s.report(d.File, d.Node.Line, "%s: rendering runs no plugins and no functions: only those that kustomize has built in, of apiVersion builtin", d.ID)
	case d.Kind == "HelmChartInflationGenerator":
		s.report(d.File, d.Node.Line, "%s: %s", d.ID, noHelm)
	default:
		s.checkTexts(d.File, d.Node, maxTextLevels)
	}
}
