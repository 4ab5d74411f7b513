package kustomize

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

var (
	// resID is how kustomize writes the ID of an object in its errors:
	// Deployment.v1.apps/web.shop.
	resID = regexp.MustCompile(`\b([A-Z][A-Za-z0-9]*)\.[^/\s]+/([^\s;'"\]]+)\.(\[noNs\]|[a-z0-9-]+)`)

	// conflict is the error of objects that a namespace makes one.
	conflict = regexp.MustCompile(`(?s)produces ID conflict: \[\{.*?"kind":"([^"]+)","metadata":\{.*?"name":"([^"]+)"`)

	// isDuplicate matches the errors of two objects of one ID.
	isDuplicate = regexp.MustCompile(`already registered id|produces ID conflict|behavior must be merge or replace`)

	// referrals is the error of a reference that may be to one of several objects.
	referrals = regexp.MustCompile(`found multiple possible referrals: ([^\n]*)`)

	// unscaled is the error of an entry of replicas: for what is not there.
	unscaled = regexp.MustCompile(`resource with name (\S+) does not match a config`)

	// quotedPatch is how kustomize says which entry of patches: it is about.
	quotedPatch = regexp.MustCompile(`\[(?:path|patch): "(?:[^"\\]|\\.)*"\]`)

	// considered is how kustomize says which field of which object it cannot change.
	considered = regexp.MustCompile(`(?s)^.*considering field '([^']*)' of object (\S+): (.*)$`)

	// component is how it quotes an error in a component, and recursed how it leads to a folder that
	// an error is in, and says before it why the folder is no file.
	component = regexp.MustCompile(`(?s)^.*accumulateDirectory: ("(?:[^"\\]|\\.)*")`)
	recursed  = regexp.MustCompile(`(?s)^.*recursed (?:accumulation of|merging from) path '([^']*)': `)
)

// kustomizeProblem returns an error of kustomize as a problem in kustomize's words, with the file
// and line that it is about: those of a kustomization, unless the error names another.
func kustomizeProblem(s *source.Sources, kustomization string, err error) manifest.Problem {
	if tooLarge := s.FS.TooLarge(); len(tooLarge) > 0 {
		return tooLarge[0]
	}
	var unreadable *objectError
	var inexact *manifest.InexactError
	if errors.As(err, &unreadable) && errors.As(err, &inexact) {
		return s.LocateWritten(inexact.Problem(unreadable.ID), unreadable.ID, kustomization)
	}
	text, folder := rootText(err)
	if k := s.Kustomizations[folder]; k != nil {
		kustomization = k.File
	}
	message := readable(text)
	p := manifest.Problem{File: source.Relative(kustomization), Message: "kustomize: " + message}
	if match := referrals.FindStringSubmatch(text); match != nil {
		return referralProblem(s, p, match[1])
	}
	if file, line := s.FindReplacement(text); file != "" {
		p.File, p.Line, p.Message = file, line, "replacements: "+message+": correct this, or add what it names"
		return p
	}
	if match := unscaled.FindStringSubmatch(text); match != nil {
		p.Message = "replicas: nothing that has replicas is named " + match[1] + ": correct the name, or remove the entry"
		if file, line := s.FindReplicas(match[1]); file != "" {
			p.File, p.Line = file, line
		}
		return p
	}
	if file, line := s.FindPatch(text); file != "" {
		p.File, p.Line, p.Message = file, line, "patches: kustomize: "+readable(quotedPatch.ReplaceAllString(text, "this"))
		if strings.Contains(text, "unable to parse") {
			p.Message = "patches: this is neither an object to merge nor a list of JSON 6902 operations, which is JSON if it begins with [: write the operations as - op: ..., or as JSON"
		}
		return p
	}
	if match := considered.FindStringSubmatch(text); match != nil && resID.MatchString(match[2]) {
		id, field := resid.FromString(match[2]), strings.ReplaceAll(match[1], "/", ".")
		p.Field, p.Message = field, field+": kustomize cannot change this: "+readable(match[3])
		return s.LocateWritten(p, manifest.ID{Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}, kustomization)
	}
	if id, ok := idIn(message); ok {
		return objectProblem(s, p, id)
	}
	return p
}

// objectProblem returns a problem with the object of an ID, where that is written or patched.
func objectProblem(s *source.Sources, p manifest.Problem, id manifest.ID) manifest.Problem {
	if isDuplicate.MatchString(p.Message) {
		return duplicate(s, p, id)
	}
	found := s.Find(id)
	if strings.Contains(p.Message, "no matches for Id") { // of a patch
		found = slices.Concat(s.Patches(id), found)
		p.Message += " (overrides/kustomization.yaml patches what is rendered)"
	}
	if len(found) > 0 {
		p.Object = found[0].String()
		p.File, p.Line = found[0].Position()
	}
	return p
}

// idIn returns the ID of the object that a message is about.
func idIn(message string) (id manifest.ID, ok bool) {
	if match := conflict.FindStringSubmatch(message); match != nil {
		return manifest.ID{Kind: match[1], Name: match[2]}, true
	}
	if match := resID.FindStringSubmatch(message); match != nil {
		return idOf(match), true
	}
	return manifest.ID{}, false
}

// idOf returns the ID in a match of resID.
func idOf(match []string) manifest.ID {
	return manifest.ID{Kind: match[1], Name: match[2], Namespace: strings.TrimSuffix(match[3], "[noNs]")}
}

// duplicate returns the problem of an object that exists twice: in two documents, in one that is
// loaded twice, or somewhere that is not known.
func duplicate(s *source.Sources, p manifest.Problem, id manifest.ID) manifest.Problem {
	p.Object = id.String()
	p.Message = "duplicate object: another file of this environment has it as well; remove or rename one"
	found := s.SourceDocuments(id)
	if len(found) == 0 {
		return p
	}
	path, by := s.Fork(found[0].File)
	switch {
	case len(by) > 1:
		p.Message = fmt.Sprintf("duplicate object: %s is loaded by %s; remove one, or have each give it another name, as with namePrefix", path, strings.Join(by, " and "))
	case len(found) > 1:
		return source.DuplicateProblem(found[1], found[0])
	}
	p.Object = found[0].String()
	p.File, p.Line = found[0].Position()
	return p
}

// explainCollision returns the problem of two objects of one ID: of two that are written with different
// IDs, where there are such, what makes them one.
func (w *Ways) explainCollision(p manifest.Problem) manifest.Problem {
	first := map[namedID]*Way{}
	for i := range w.All {
		way := &w.All[i]
		id := namedID{way.gvk, way.lastIdentity()}
		other, isThere := first[id]
		if !isThere {
			first[id] = way
			continue
		}
		if by := slices.Concat(w.moves(*other), w.moves(*way)); len(by) > 0 && other.Document.ID != way.Document.ID {
			slices.Sort(by)
			file, line := other.Document.Position()
			p.Object = way.Document.String()
			p.File, p.Line = way.Document.Position()
			p.Message = fmt.Sprintf("duplicate object: it and the %s of %s become one, named %s, by %s: write that in a kustomization of a folder that has only what it is for, or rename one",
				other.Document, manifest.Problem{File: file, Line: line}.Position(), id.name, strings.Join(slices.Compact(by), ", "))
			return p
		}
	}
	return p
}

// moves returns the fields of kustomizations that change the identity of an object, and their positions.
func (w *Ways) moves(way Way) (fields []string) {
	before := 1
	for i, folder := range way.Folders {
		after := way.identities(i + 1)
		if len(after) > before {
			k := w.sources.Kustomizations[folder]
			for field, value := range map[string]string{"namespace": k.Namespace, "namePrefix": k.NamePrefix, "nameSuffix": k.NameSuffix} {
				if value != "" {
					at := manifest.Problem{File: source.Relative(k.File), Line: w.sources.Line(k.File, field)}
					fields = append(fields, fmt.Sprintf("%s: %s (%s)", field, value, at.Position()))
				}
			}
		}
		before = len(after)
	}
	return fields
}

// referralProblem returns the problem of a reference that may be to any of the objects in a list of
// IDs. kustomize names one such reference by chance, where there are several.
func referralProblem(s *source.Sources, p manifest.Problem, list string) manifest.Problem {
	matches := resID.FindAllStringSubmatch(list, -1)
	names := make([]string, 0, len(matches))
	for _, match := range matches {
		names = append(names, idOf(match).String())
		if found := s.SourceDocuments(idOf(match)); len(found) > 0 && names[len(names)-1] == slices.Min(names) {
			p.Object = found[0].String()
			p.File, p.Line = found[0].Position()
		}
	}
	slices.Sort(names)
	p.Message = fmt.Sprintf("a reference may be to any of %s: give them different names, or what refers to them a namespace", strings.Join(names, ", "))
	return p
}

// replacements make a message of kustomize readable. They take from it what differs from run to
// run, what has a meaning only in Go, and the values of objects.
var replacements = []struct {
	pattern *regexp.Regexp
	with    string
}{
	// The values of a generator, which may be those of a Secret.
	{regexp.MustCompile(`(?s)literal sources \[.*\]: |(invalid literal source).*(, expected key=value)|(line )\[[0-9 ]*\] (has invalid utf8 bytes).*`), "$1$2$3$4"},
	// The type of a field, by encoding/json.
	{regexp.MustCompile(`(?:json: )?cannot unmarshal (\S+) into Go struct field \S*?\.(\S+) of type \S+`), "the field $2 cannot be of type $1"},
	// All that an object is, where it has no name.
	{regexp.MustCompile(`(?s)^.*missing metadata\.name in object \{\{(\S*) (\S*)\}.*$`), "missing metadata.name in an object of kind $1 $2"},
	{regexp.MustCompile(`(?s)^.*missing kind in object \{\{.*$`), "missing kind in an object"},
	// The ID of what is generated: a ConfigMap or Secret.
	{regexp.MustCompile(`resid\.ResId\{Gvk:resid\.Gvk\{Group:"", Version:"([^"]*)", Kind:"([^"]*)"[^}]*\}, Name:"([^"]*)", Namespace:"([^"]*)"\}`), "$2.$1.[noGrp]/$3.$4"},
	{regexp.MustCompile(`(\[noGrp\]/\S+)\.( |$)`), "$1.[noNs]$2"},
	// Values of kustomize itself, before what is wrong.
	{regexp.MustCompile(`(?s)^.*(?:(?:merging from generator|adding origin annotations for generator|merging config|merging CRDs|merging vars) .*?[\]}>]|trouble configuring builtin .* with config: .*\x60|decoding .*): `), ""},
	// Where in memory something is.
	{regexp.MustCompile(`\(?\*?[A-Za-z.]*\)?\(?0x[0-9a-f]{6,}\)?`), "..."},
}

// readable returns a message of kustomize on one line, with all replacements.
func readable(message string) string {
	for _, r := range replacements {
		message = r.pattern.ReplaceAllString(message, r.with)
	}
	return strings.TrimPrefix(strings.Join(strings.Fields(message), " "), "/")
}

// rootText returns the text of an error of kustomize, without the folders on the way to it, and the last
// of these.
func rootText(err error) (text, folder string) {
	text = err.Error()
	for match := component.FindStringSubmatch(text); match != nil; match = component.FindStringSubmatch(text) {
		text, _ = strconv.Unquote(match[1]) // as kustomize has quoted it
	}
	if match := recursed.FindStringSubmatch(text); match != nil {
		return text[len(match[0]):], match[1]
	}
	return text, ""
}
