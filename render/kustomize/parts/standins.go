package parts

import (
	"crypto/rand"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// standIns replace the namespaces and labels that kustomizations set. Environments often differ in
// nothing else: with stand-ins the same part of two environments is equal, and the memo builds it once.
//
// kustomize compares these values with others, so each value keeps its own stand-in, and a value
// that is anywhere else in the part has none.
type standIns struct {
	values  []string        // by the number of their stand-in
	placed  int             // number of stand-ins in the kustomizations
	without map[string]bool // values without a stand-in
	isOff   bool            // no value has one
}

var (
	// standInSuffix differs in each run, so that no build makes a stand-in from other text.
	standInSuffix = "-stand-in-" + strings.ToLower(rand.Text())
	standInFormat = "gatehouse-%d" + standInSuffix
	anyStandIn    = regexp.MustCompile(`gatehouse-\d+` + standInSuffix)
	// escape matches escapes of YAML that may hide a value.
	escape = regexp.MustCompile(`\\[xuU\r\n]`)
	// hasValue matches paths of fields that may have a namespace or a label.
	hasValue = regexp.MustCompile(`(?i)label|selector|namespace|\*`)
	// plain matches namespaces and labels without a meaning for kustomize or YAML.
	plain = regexp.MustCompile(`^[A-Za-z][-A-Za-z0-9_.]*$`)
)

// replace returns a kustomization with stand-ins.
func (s *standIns) replace(k types.Kustomization) types.Kustomization {
	k.Namespace = s.of(k.Namespace)
	k.CommonLabels = s.ofLabels(k.CommonLabels)
	k.Labels = slices.Clone(k.Labels)
	for i := range k.Labels {
		k.Labels[i].Pairs = s.ofLabels(k.Labels[i].Pairs)
	}
	return k
}

func (s *standIns) ofLabels(labels map[string]string) map[string]string {
	labels = maps.Clone(labels)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		labels[key] = s.of(labels[key])
	}
	return labels
}

func (s *standIns) of(value string) string {
	if s.isOff || s.without[value] || !plain.MatchString(value) || value == "default" ||
		yaml.IsYaml1_1NonString(yaml.NewStringRNode(value).YNode()) {
		return value
	}
	number := slices.Index(s.values, value)
	if number < 0 {
		number = len(s.values)
		s.values = append(s.values, value)
	}
	s.placed++
	return fmt.Sprintf(standInFormat, number)
}

// check excludes the values that a file of the part has. It reports whether none is in it.
func (s *standIns) check(text string) bool {
	before := len(s.without)
	hidden := escape.MatchString(text)
	for _, value := range s.values {
		if hidden || strings.Contains(text, value) &&
			regexp.MustCompile(`(^|[^-A-Za-z0-9_.])`+regexp.QuoteMeta(value)+`($|[^-A-Za-z0-9_.])`).MatchString(text) {
			s.without[value] = true
		}
	}
	return before == len(s.without)
}

// restore returns an object with the values in place of their stand-ins: the object itself, if it has none.
func (s *standIns) restore(o manifest.Object) manifest.Object {
	content, hasChanged := s.restoreValue(o.Object)
	if !hasChanged {
		return o
	}
	u := &unstructured.Unstructured{Object: content.(map[string]any)}
	return manifest.Object{Unstructured: u, Written: u}
}

func (s *standIns) restoreValue(value any) (restored any, hasChanged bool) {
	switch value := value.(type) {
	case map[string]any:
		var changed map[string]any
		for key, item := range value {
			if item, hasChanged := s.restoreValue(item); hasChanged {
				if changed == nil {
					changed = maps.Clone(value)
				}
				changed[key] = item
			}
		}
		if changed != nil {
			return changed, true
		}
	case []any:
		var changed []any
		for i, item := range value {
			if item, hasChanged := s.restoreValue(item); hasChanged {
				if changed == nil {
					changed = slices.Clone(value)
				}
				changed[i] = item
			}
		}
		if changed != nil {
			return changed, true
		}
	case string:
		if strings.Contains(value, standInSuffix) {
			restored := anyStandIn.ReplaceAllStringFunc(value, func(standIn string) string {
				var number int
				_, _ = fmt.Sscanf(standIn, standInFormat, &number)
				return s.values[number]
			})
			return restored, true
		}
	}
	return value, false
}

// preventsStandIns reports whether a kustomization makes Division.noStandIns true.
func preventsStandIns(k *source.Kustomization, patches []buildpath.Patch) bool {
	return len(k.Replacements) > 0 || slices.Contains(k.BuildMetadata, types.OriginAnnotations) ||
		slices.ContainsFunc(k.Labels, func(l types.Label) bool { return len(l.FieldSpecs) > 0 }) ||
		slices.ContainsFunc(patches, func(p buildpath.Patch) bool {
			return p.Copies() || p.Err != nil || p.Selector != nil && p.Selector.MatchesNamespaces()
		})
}

// movesValues reports whether a configuration has fields for namespaces or labels, or compares such fields.
func movesValues(c source.Configuration) bool {
	compared := slices.Concat(c.Images, c.Replicas)
	for _, reference := range c.NameReference {
		compared = append(compared, reference.FieldSpecs...)
	}
	return len(c.Namespace)+len(c.Labels)+len(c.CommonLabels)+len(c.TemplateLabels)+
		len(c.VolumeClaimTemplateLabels) > 0 ||
		slices.ContainsFunc(compared, func(f types.FieldSpec) bool { return hasValue.MatchString(f.Path) })
}
