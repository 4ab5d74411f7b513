package source

import (
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"
)

// ConfigurationFile is where a kustomization finds the configuration that is not its
// own (see Read). There is no such file on disk, and what is there is not read.
const ConfigurationFile = ".gatehouse-kustomizeconfig.yaml"

// configuration is what kustomize is told of fields.
type configuration struct {
	Images        []types.FieldSpec `json:"images"`
	Replicas      []types.FieldSpec `json:"replicas"`
	NameReference []nameReference   `json:"nameReference"`
}

// nameReference is of the fields that hold the name of a kind.
type nameReference struct {
	resid.Gvk  `json:",inline"`
	FieldSpecs []types.FieldSpec `json:"fieldSpecs"`
}

// ImageFields are the fields of kinds that `images:` of a kustomization changes.
func (s *Sources) ImageFields() []types.FieldSpec { return s.fields.Images }

// scaleFields are the fields that `replicas:` of a kustomization may set, like
// spec.size.
func (c configuration) scaleFields() []string {
	fields := make([]string, len(c.Replicas))
	for i, spec := range c.Replicas {
		fields[i] = strings.ReplaceAll(spec.Path, "/", ".")
	}
	return fields
}

// configure has kustomize know the configuration wherever it matters: for `images:` and
// `replicas:` of any kustomization, and for the names in references, which the
// outermost one puts right.
func (s *Sources) configure(k *Kustomization) error {
	for _, entry := range k.Configurations {
		s.yieldTo(k.Paths[entry])
	}
	if k.IsEmpty() || k.Folder != s.root && len(k.Images)+len(k.ImageTags)+len(k.Replicas) == 0 {
		return nil
	}
	k.Configurations = append(k.Configurations, ConfigurationFile)
	k.Paths[ConfigurationFile] = path.Join(k.Folder, ConfigurationFile)
	var err error
	s.standIns[k.File], err = yaml.Marshal(k.Kustomization)
	return err
}

// yieldTo has a configuration of the repository say what it says of the same fields.
func (s *Sources) yieldTo(file string) {
	var theirs configuration
	if content, err := s.FS.ReadFile(file); err != nil || yaml.Unmarshal(content, &theirs) != nil {
		return // which kustomize says
	}
	ours := &s.configuration
	ours.Images = yield(ours.Images, theirs.Images)
	ours.Replicas = yield(ours.Replicas, theirs.Replicas)
	for i, our := range ours.NameReference {
		for _, their := range theirs.NameReference {
			if our.Kind == their.Kind {
				ours.NameReference[i].FieldSpecs = yield(our.FieldSpecs, their.FieldSpecs)
			}
		}
	}
}

// yield returns what is left of our fields beside theirs: kustomize takes no two answers to
// whether a field is made, and drops what selects more kinds where it meets what selects
// one of them.
func yield(ours, theirs []types.FieldSpec) (left []types.FieldSpec) {
	for _, our := range ours {
		covered := false
		for _, their := range theirs {
			switch {
			case our.Path != their.Path || !our.IsSelected(&their.Gvk):
			case our.Gvk == their.Gvk:
				our.CreateIfNotPresent = their.CreateIfNotPresent
			default:
				covered = true
			}
		}
		if !covered {
			left = append(left, our)
		}
	}
	return left
}

// writeConfiguration gives the configuration to the kustomizations that were configured.
func (s *Sources) writeConfiguration() error {
	content, err := yaml.Marshal(s.configuration)
	for _, k := range s.Kustomizations {
		if file := k.Paths[ConfigurationFile]; file != "" {
			s.standIns[file] = content
		}
	}
	return err
}
