package source

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/source/text"
)

// admit adds the growth of a file to the growth of all files. It returns an error for the first file
// that exceeds the bound.
func (d *disk) admit(file string, growth, line int) error {
	d.isMeasured[file] = true
	before := d.growth
	if d.growth += growth; d.growth > text.MaxGrowth && before <= text.MaxGrowth {
		return text.TooLarge(line)
	}
	return nil
}

// admitDocument admits a document of a file, given the results of parsing it. It returns its node, nil
// if it is empty or has a problem.
func (d *disk) admitDocument(file string, root *yaml.Node, growth int, err error) (admitted *yaml.Node, found problems) {
	if err == nil && root != nil {
		err = d.admit(file, growth, root.Line)
	}
	if err != nil {
		return nil, malformed(file, err)
	}
	return root, nil
}

// malformed returns the problem of a document that cannot be parsed.
func malformed(file string, err error) (found problems) {
	var at text.Error
	errors.As(err, &at)
	found.add(file, at.Line, "%s", err)
	return found
}

// measure admits a text that may be YAML, or anything else. The only error is a text that is too
// large; kustomize reports other errors.
func (d *disk) measure(file string, t text.Document) (root *yaml.Node, err error) {
	root, growth, err := t.Measure()
	line := 0
	if root != nil {
		line = root.Line
	}
	return root, errors.Join(err, d.admit(file, growth, line))
}

// measureFile measures a file that only kustomize reads, before it does. It returns an error if the
// file is too large.
func (d *disk) measureFile(file string, content []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.isMeasured[file] {
		for _, t := range text.Split(content) {
			if _, err := d.measure(file, t); err != nil {
				d.refused[file] = malformed(file, err)[0]
				break
			}
		}
	}
	if refused, ok := d.refused[file]; ok {
		return errors.New(refused.String())
	}
	return nil
}

// TooLarge returns the problems of files that kustomize asked for and that are too large.
func (f *FileSystem) TooLarge() []manifest.Problem {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return manifest.SortProblems(slices.Collect(maps.Values(f.disk.refused)))
}

// maxTextLevels bounds how deep kustomize may look for YAML within texts.
const maxTextLevels = 4

// checkTexts reports texts that are too large, in a node whose texts kustomize may parse.
func checkTexts(d *disk, file string, root *yaml.Node, levels int) (found problems) {
	for n := range node.All(root) {
		if n.Kind != yaml.ScalarNode || levels == 0 || !strings.ContainsAny(n.Value, "*[{\n") {
			continue
		}
		for _, t := range text.SplitScalar(n) {
			inner, err := d.measure(file, t)
			if err != nil {
				found = append(found, malformed(file, err)...)
			} else if inner != nil && inner.Kind != yaml.ScalarNode {
				found = append(found, checkTexts(d, file, inner, levels-1)...)
			}
		}
	}
	return found
}

// skipTexts excludes the files of generators from measuring, unless transformers may parse them.
func skipTexts(files *FileSystem, kustomizations []*Kustomization) {
	if slices.ContainsFunc(kustomizations, func(k *Kustomization) bool { return len(k.Generators)+len(k.Transformers)+len(k.Validators) > 0 }) {
		return
	}
	for _, k := range kustomizations {
		for _, file := range k.texts {
			files.disk.isMeasured[file] = true
		}
	}
}

// checkConfigs reports problems of the generators, transformers and validators in files.
func checkConfigs(files *FileSystem, loads []load, documents map[string][]Document) (found problems) {
	for _, l := range loads {
		if l.isConfig && !l.isDir {
			for _, d := range documents[l.path] {
				found = append(found, checkConfig(files.disk, d)...)
			}
		}
	}
	return found
}

// checkConfig reports the problems of a generator, transformer or validator.
func checkConfig(d *disk, config Document) (found problems) {
	switch {
	case config.Kind == "":
	case config.APIVersion != "builtin":
		found.add(config.File, config.Line(), "%s: rendering runs no plugins and no functions: only those that kustomize has built in, of apiVersion builtin; commit what it prints, but of a Secret only the manifest that SOPS encrypts, or an ExternalSecret", config.ID)
	case config.Kind == "HelmChartInflationGenerator":
		found.add(config.File, config.Line(), "%s: list the chart under helmCharts of the kustomization", config.ID)
	default:
		return checkTexts(d, config.File, config.Node(), maxTextLevels)
	}
	return found
}
