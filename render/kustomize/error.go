package kustomize

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
)

var (
	// resID matches the ID of an object in kustomize's errors: Deployment.v1.apps/web.shop.
	resID = regexp.MustCompile(`\b([A-Z][A-Za-z0-9]*)\.[^/\s]+/([^\s;'"\]]+)\.(\[noNs\]|\$\{[^\s;'"]*\}|[a-z0-9-]+)`)

	// conflict matches the error of objects that get the same ID from namespace:.
	conflict = regexp.MustCompile(`(?s)produces ID conflict: \[\{.*?"kind":"([^"]+)","metadata":\{.*?"name":"([^"]+)"`)

	// isDuplicate matches the errors of two objects with the same ID.
	isDuplicate = regexp.MustCompile(`already registered id|produces ID conflict|behavior must be merge or replace`)

	// isUnmerged matches the error of a generator that merges into an object that is not there yet.
	isUnmerged = regexp.MustCompile(`does not exist; cannot merge or replace`)

	// hasNoField matches the error of an operation of a JSON patch on a field that an object does not have.
	hasNoField = regexp.MustCompile(
		`(?:(add|\w+) operation does not apply: [^:]*|error in remove for )path: ["']?(/[^\s:"']*)`)

	// referrals matches the error of an ambiguous reference.
	referrals = regexp.MustCompile(`found multiple possible referrals: ([^\n]*)`)

	// unscaled matches the error of an entry of replicas: without a target.
	unscaled = regexp.MustCompile(`resource with name (\S+) does not match a config`)

	// unindexed matches the error of a JSON patch on an item of a list by something other than its number.
	unindexed = regexp.MustCompile(
		`error in \w+ for path: '([^']*)': value was not a proper array index: '([^']*)'(?:: strconv.*)?`)

	// quotedPatch matches a quoted entry of patches:.
	quotedPatch = regexp.MustCompile(`\[(path|patch): ("(?:[^"\\]|\\.)*")\]`)

	// considered matches the error of a field that kustomize cannot change.
	considered = regexp.MustCompile(`(?s)^.*considering field '([^']*)' of object (\S+): (.*)$`)

	// component matches an error up to the quoted error of a component, and recursed matches it up to a
	// folder's own error: first come the reasons why the folder is no file.
	component = regexp.MustCompile(`(?s)^.*accumulateDirectory: ("(?:[^"\\]|\\.)*")`)
	recursed  = regexp.MustCompile(`(?s)^.*recursed (?:accumulation of|merging from) path '([^']*)': `)
)

// kustomizeProblem returns an error of kustomize as a problem with its file and line. The file is
// kustomization unless the error names another.
func kustomizeProblem(s *source.Sources, kustomization string, err error) manifest.Problem {
	var unreadable *objectError
	var inexact *manifest.InexactError
	if errors.As(err, &unreadable) && errors.As(err, &inexact) {
		return s.LocateWritten(inexact.Problem(unreadable.ID), unreadable.ID, kustomization)
	}
	text, folder := rootText(err)
	if k := s.Kustomizations[folder]; k != nil {
		kustomization = k.File
	}
	message := unindexed.ReplaceAllString(readable(text),
		`path $1: "$2" is no item of a list: write the number of the item, or - to append one`)
	p := manifest.Problem{Code: manifest.KustomizeFailed,
		File: source.Relative(kustomization), Message: "kustomize: " + message}
	if errors.As(err, new(*fault.Error)) {
		p.Line = 1
		p.Message = "kustomize: look for entries without a value, in this kustomization and in all that it loads; " +
			"without one, " + message
		return p
	}
	if match := referrals.FindStringSubmatch(text); match != nil {
		return referralProblem(s, p, match[1])
	}
	if file, line := s.FindReplacement(text); file != "" {
		p.File = file
		p.Line = line
		p.Message = "replacements: " + message + ": correct this, or add the missing object or field"
		return p
	}
	if match := unscaled.FindStringSubmatch(text); match != nil {
		p.Message = "replicas: nothing that has replicas is named " + match[1] +
			": correct the name, or remove the entry"
		p.File, p.Line = s.FindMention(kustomization, "replicas", strconv.Quote(match[1]))
		return p
	}
	if quotedPatch.MatchString(text) {
		p.File, p.Line = s.FindMention(kustomization, "patches", text)
		named := "this" // a patch may have secret values
		if match := quotedPatch.FindStringSubmatch(text); match[1] == "path" {
			named = match[2]
		}
		p.Message = "patches: kustomize: " + readable(quotedPatch.ReplaceAllLiteralString(text, named))
		if strings.Contains(text, "Multiple Strategic-Merge Patches") {
			p.Message = "patches: " + named + " has several patches, and an entry with a target takes one: write an " +
				"entry for each, or leave out target"
		}
		if strings.Contains(text, "unable to parse") {
			p.Message = "patches: this is neither an object to merge nor a list of JSON 6902 operations, which is " +
				"JSON if it begins with [: write the operations as - op: ..., or as JSON"
		}
		return p
	}
	if match := considered.FindStringSubmatch(text); match != nil && resID.MatchString(match[2]) {
		id := resid.FromString(match[2])
		p.Field = strings.ReplaceAll(match[1], "/", ".")
		p.Message = p.Field + ": kustomize cannot change this: " + readable(match[3])
		return s.LocateWritten(p, manifest.ID{Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name},
			kustomization)
	}
	if strings.HasPrefix(message, "invalid character") {
		p.Message += ": write the operations of a JSON patch as - op: ..., or as JSON"
	}
	if id, ok := idIn(message); ok {
		return objectProblem(s, p, id)
	}
	p.File, p.Line = s.FindMention(kustomization, "", text)
	return p
}

// at returns a problem with the object and position of a document.
func at(p manifest.Problem, d source.Document) manifest.Problem {
	p.Object = d.String()
	p.File, p.Line = d.Position()
	return p
}

// objectProblem returns a problem with an object at its source or at a patch of it.
func objectProblem(s *source.Sources, p manifest.Problem, id manifest.ID) manifest.Problem {
	if isDuplicate.MatchString(p.Message) {
		return duplicate(s, p, id)
	}
	found := s.Find(id)
	if isUnmerged.MatchString(p.Message) {
		// Who generates the object itself has no behavior.
		found = slices.DeleteFunc(slices.Clone(found), func(d source.Document) bool {
			behavior := node.Text(d.Node(), "behavior")
			return behavior != "merge" && behavior != "replace"
		})
		p.Message = "no " + id.Kind + " is here to merge into or to replace: leave out behavior or, if a component " +
			"has it, move this generator into a component that is listed after that one, as components come after " +
			"generators"
	}
	if len(found) > 0 {
		p = at(p, found[0])
	}
	return p
}

func idIn(message string) (id manifest.ID, ok bool) {
	if match := conflict.FindStringSubmatch(message); match != nil {
		return manifest.ID{Kind: match[1], Name: match[2]}, true
	}
	if match := resID.FindStringSubmatch(message); match != nil {
		return idOf(match), true
	}
	return manifest.ID{}, false
}

func idOf(match []string) manifest.ID {
	return manifest.ID{Kind: match[1], Name: match[2], Namespace: strings.TrimSuffix(match[3], "[noNs]")}
}

// duplicate returns the problem of an object in two documents, or in a document loaded twice.
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
		p.Message = fmt.Sprintf("duplicate object: %s is loaded by %s; remove one, or have each give it another "+
			"name, as with namePrefix", path, strings.Join(by, " and "))
	case len(found) > 1:
		return source.DuplicateProblem(found[1], found[0])
	}
	return at(p, found[0])
}

// explainCollision returns a problem of two objects with the same ID. If their IDs differ in the source, it
// names the fields of kustomizations that change them.
func explainCollision(paths *Paths, p manifest.Problem) manifest.Problem {
	first := map[buildpath.NamedID]*Path{}
	for i := range paths.All {
		path := &paths.All[i]
		id := buildpath.NamedID{Gvk: path.GVK, Identity: path.Last()}
		other, isThere := first[id]
		if !isThere {
			first[id] = path
			continue
		}
		if by := slices.Concat(identityFields(paths, *other), identityFields(paths, *path)); len(by) > 0 &&
			other.Document.ID != path.Document.ID {
			slices.Sort(by)
			file, line := other.Document.Position()
			p = at(p, path.Document)
			p.Message = fmt.Sprintf("duplicate object: it and the %s of %s both become %s by %s: move that field to "+
				"the kustomization of a folder with only one of them, or rename one",
				other.Document, manifest.Problem{File: file, Line: line}.Position(), id.Name,
				strings.Join(slices.Compact(by), ", "))
			return p
		}
	}
	return p
}

// identityFields returns the fields of kustomizations that change the identity of an object, with their
// positions.
func identityFields(paths *Paths, path Path) (fields []string) {
	before := 1
	for i, folder := range path.Folders {
		after := path.Identities(i + 1)
		if len(after) > before {
			k := paths.Sources.Kustomizations[folder]
			for field, value := range map[string]string{"namespace": k.Namespace, "namePrefix": k.NamePrefix,
				"nameSuffix": k.NameSuffix} {
				if value != "" {
					position := manifest.Problem{File: source.Relative(k.File),
						Line: paths.Sources.Line(k.File, field)}.Position()
					fields = append(fields, fmt.Sprintf("%s: %s (%s)", field, value, position))
				}
			}
		}
		before = len(after)
	}
	return fields
}

// referralProblem returns the problem of an ambiguous reference to one of several IDs. If several
// references are ambiguous, kustomize reports any of them.
func referralProblem(s *source.Sources, p manifest.Problem, list string) manifest.Problem {
	matches := resID.FindAllStringSubmatch(list, -1)
	names := make([]string, 0, len(matches))
	for _, match := range matches {
		names = append(names, idOf(match).String())
		if found := s.SourceDocuments(idOf(match)); len(found) > 0 && names[len(names)-1] == slices.Min(names) {
			p = at(p, found[0])
		}
	}
	slices.Sort(names)
	p.Message = fmt.Sprintf("a reference may be to any of %s: give them different names, or the referring object a "+
		"namespace", strings.Join(names, ", "))
	return p
}

// rewrites make a message of kustomize readable. They remove addresses that differ in each run, Go types,
// and values of objects, which may be secret.
var rewrites = []struct {
	pattern *regexp.Regexp
	with    string
}{
	// The literals of a generator, which may be secret.
	{
		regexp.MustCompile(
			`(?s)literal sources \[.*\]: |(invalid literal source).*(, expected key=value)`), "$1$2",
	},
	// The type of a field, by encoding/json.
	{regexp.MustCompile(`(?:json: )?cannot unmarshal (\S+) into Go struct field \S*?\.(\S+) of type \S+`),
		"the field $2 cannot be of type $1"},
	// The content of a node.
	{regexp.MustCompile(`(?s):? node contents:.*`), ""},
	// The content of an object without a name.
	{regexp.MustCompile(`(?s)^.*missing metadata\.name in object \{\{(\S*) (\S*)\}.*$`),
		"missing metadata.name in an object of kind $1 $2"},
	{regexp.MustCompile(`(?s)^.*missing kind in object \{\{.*$`), "missing kind in an object"},
	// The ID of a generated ConfigMap or Secret.
	{
		regexp.MustCompile(
			`resid\.ResId\{Gvk:resid\.Gvk\{Group:"", Version:"([^"]*)", Kind:"([^"]*)"[^}]*\}, Name:"([^"]*)", ` +
				`Namespace:"([^"]*)"\}`), "$2.$1.[noGrp]/$3.$4",
	},
	{regexp.MustCompile(`(\[noGrp\]/\S+)\.( |$)`), "$1.[noNs]$2"},
	// Values of kustomize itself, before the reason.
	{
		regexp.MustCompile(
			`(?s)^.*(?:(?:merging from generator|adding origin annotations for generator|merging config|merging ` +
				`CRDs|merging vars) .*?[\]}>]|trouble configuring builtin .* with config: .*\x60|decoding .*): `), "",
	},
	// Addresses in memory.
	{regexp.MustCompile(`\(?\*?[A-Za-z.]*\)?\(?0x[0-9a-f]{6,}\)?`), "..."},
}

// readable returns a message of kustomize on one line, after all rewrites.
func readable(message string) string {
	for _, r := range rewrites {
		message = r.pattern.ReplaceAllString(message, r.with)
	}
	return strings.TrimPrefix(strings.Join(strings.Fields(message), " "), "/")
}

// rootText returns the text of the innermost error of kustomize, and its folder.
func rootText(err error) (text, folder string) {
	text = err.Error()
	for match := component.FindStringSubmatch(text); match != nil; match = component.FindStringSubmatch(text) {
		text, _ = strconv.Unquote(match[1]) // kustomize quotes valid strings only
	}
	if match := recursed.FindStringSubmatch(text); match != nil {
		return text[len(match[0]):], match[1]
	}
	return text, ""
}
