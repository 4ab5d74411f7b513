package build

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/source"
)

var (
	// resID is how kustomize writes the ID of an object in its errors:
	// Deployment.v1.apps/web.shop.
	resID = regexp.MustCompile(`\b([A-Z][A-Za-z0-9]*)\.[^/\s]+/([^\s;'"\]]+)\.(\[noNs\]|[a-z0-9-]+)`)

	// conflict is the error of objects that a namespace makes one.
	conflict = regexp.MustCompile(`(?s)produces ID conflict: \[\{.*?"kind":"([^"]+)","metadata":\{.*?"name":"([^"]+)"`)

	// recursed is how kustomize leads to a folder that an error is in, and before it
	// why the folder is no file.
	recursed = regexp.MustCompile(`(?s)^.*recursed (?:accumulation of|merging from) path '[^']*': `)

	// generatorValue is where it repeats the values of a generator, which may be those
	// of a Secret.
	generatorValue = regexp.MustCompile(`(?s)literal sources \[.*\]: |(invalid literal source).*(, expected key=value)|(line )\[[0-9 ]*\] (has invalid utf8 bytes).*`)

	// accumulated is how it leads to a file.
	accumulated = regexp.MustCompile(`(?s)accumulating resources from '([^']*)': (.*?)': `)
)

// resIdentity is how kustomize writes the ID of a generated object in its errors.
var resIdentity = regexp.MustCompile(`resid\.ResId\{Gvk:resid\.Gvk\{[^}]*Kind:"([^"]*)"[^}]*\}, Name:"([^"]*)", Namespace:"([^"]*)"\}`)

// variable is how it writes a variable.
var variable = regexp.MustCompile(`\bvar '\{?([^\s'}]+)`)

// kustomizeProblem is the problem that an error of kustomize is about.
func kustomizeProblem(s *source.Sources, kustomization string, err error) object.Problem {
	if p := tooLarge(s, err); p != nil {
		return *p
	}
	if match := referrals.FindStringSubmatch(err.Error()); match != nil {
		p, _ := referralProblem(s, kustomization, match[1])
		return p
	}
	message := stable(strings.TrimPrefix(rootMessage(err), "/"))
	if p, ok := fieldProblem(s, kustomization, err, message); ok {
		return p
	}
	p := object.Problem{File: source.Relative(kustomization), Message: "kustomize: " + message}
	if match := nameless.FindStringSubmatch(message); match != nil {
		p.Message = fmt.Sprintf("an object of kind %s %s has no metadata.name: a patch or something else here, or in what is loaded, removes it", match[1], match[2])
		return p
	}
	if match := resIdentity.FindStringSubmatch(message); match != nil {
		return generatorProblem(s, p, object.ID{Kind: match[1], Name: match[2], Namespace: match[3]}, strings.Contains(message, "does not exist"))
	}
	if strings.Contains(message, "accumulated size increase of copy") {
		p.Message = fmt.Sprintf("the copy operations of a JSON 6902 patch add over %d KiB to an object: copy less", maxCopied>>10)
		return p
	}
	if match := variable.FindStringSubmatch(message); match != nil {
		return variableProblem(s, p, match[1])
	}
	if match := conflict.FindStringSubmatch(message); match != nil {
		id := object.ID{Kind: match[1], Name: match[2]}
		return duplicate(s, p, id)
	}
	match := resID.FindStringSubmatch(message)
	if match == nil {
		return p
	}
	id := idOf(match)
	if strings.Contains(message, "already registered id") {
		return duplicate(s, p, id)
	}
	if found := s.Find(id); len(found) > 0 {
		last := found[len(found)-1]
		p.Object = last.String()
		p.File, p.Line = last.Position()
		if spec := specOf(s, id); spec != nil && strings.Contains(message, "no matches for Id") {
			p.Message = fmt.Sprintf("there is no such object yet: patch %s or, in overrides/kustomization.yaml, what is rendered from it", spec.ID)
		}
	}
	return p
}

// specOf is the spec that an object would be rendered from by its name; nil where there is
// none.
func specOf(s *source.Sources, id object.ID) *source.Document {
	for _, gvk := range s.Kinds.GVKs {
		for _, d := range s.Written(object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: id.Namespace, Name: id.Name}, 1) {
			if id.Kind != d.Kind && d.Name == id.Name {
				return &d
			}
		}
	}
	return nil
}

// idOf is the ID of a match of resID.
func idOf(match []string) object.ID {
	return object.ID{Kind: match[1], Name: match[2], Namespace: strings.TrimSuffix(match[3], "[noNs]")}
}

// tooLarge is the problem of a file that was not read, if an error comes of that.
func tooLarge(s *source.Sources, err error) *object.Problem {
	var file *source.TooLargeError
	if errors.As(err, &file) {
		return &file.Problem
	}
	for _, p := range s.FS.TooLarge() {
		if strings.Contains(err.Error(), p.Message) {
			return &p
		}
	}
	return nil
}

var (
	// dump is what kustomize prints of its own values before what is wrong.
	dump = regexp.MustCompile(`(?s)^.*(?:(?:merging from generator|adding origin annotations for generator|merging config|merging CRDs|merging vars) .*?[\]}>]|trouble configuring builtin .* with config: .*\x60): `)

	// pointer is where in memory something is.
	pointer = regexp.MustCompile(`\(?\*?[A-Za-z.]*\)?\(?0x[0-9a-f]{6,}\)?`)
)

// wrongType is how encoding/json names a field that has a value of another type.
var wrongType = regexp.MustCompile(`json: cannot unmarshal (\S+) into Go struct field \S*?\.(\S+) of type \S+`)

// nameless is how kustomize says that an object has no name, of all that the object is.
var nameless = regexp.MustCompile(`(?s)^.*missing metadata\.name in object \{\{(\S*) (\S*)\}.*$`)

// stable is a message without what differs from run to run, or means something only in Go.
func stable(message string) string {
	message = wrongType.ReplaceAllString(message, "the field $2 cannot be of type $1")
	return pointer.ReplaceAllString(dump.ReplaceAllString(message, ""), "...")
}

// generatorProblem is the problem of an object that a generator makes though it is there,
// or should change though it is not.
func generatorProblem(s *source.Sources, p object.Problem, id object.ID, isMissing bool) object.Problem {
	found := s.Written(id, 1)
	if !isMissing {
		p = duplicate(s, p, id)
		p.Message += ", or give the generator that comes later behavior: merge or replace"
		return p
	}
	p.Object = id.String()
	p.Message = "there is no such object to merge with or to replace: write its name as it is where it is generated, or leave out behavior"
	if len(found) > 0 {
		p.File, p.Line = found[len(found)-1].Position()
	}
	return p
}

// variableProblem is the problem of a variable, at its line.
func variableProblem(s *source.Sources, p object.Problem, name string) object.Problem {
	if file, line := s.VariablePosition(name); file != "" {
		p.File, p.Line = file, line
	}
	if strings.Contains(p.Message, "cannot be mapped to a field") {
		p.Message = fmt.Sprintf("vars: %s: no object, or no field of it, is what objref and fieldref name: mend them, or remove the variable", name)
	}
	return p
}

// duplicate is the problem of an object that is there twice: in two documents, in one that
// is loaded twice or, if that cannot be told, somewhere.
func duplicate(s *source.Sources, p object.Problem, id object.ID) object.Problem {
	found := s.Written(id, 2)
	if len(found) == 2 {
		return source.DuplicateProblem(found[1], found[0])
	}
	p.Object = id.String()
	p.Message = "duplicate object: another file of this environment has it as well; remove or rename one"
	if len(found) == 1 {
		path, by := s.Fork(found[0].File)
		p.Object = found[0].String()
		p.File, p.Line = found[0].Position()
		if len(by) > 1 {
			p.Message = fmt.Sprintf("duplicate object: %s is loaded by %s; remove one, or have each give it another name, as with namePrefix", path, strings.Join(by, " and "))
		}
	}
	if len(found) > 2 {
		p.Message = fmt.Sprintf("duplicate object: two of those in %s are one object; remove or rename one", strings.Join(positions(found), ", "))
	}
	return p
}

func positions(documents []source.Document) []string {
	all := make([]string, len(documents))
	for i, d := range documents {
		all[i] = d.At()
	}
	return all
}

// rootMessage is what an error of kustomize says at its root, without the levels of
// folders that led there.
func rootMessage(err error) string {
	text, quoted := unquoteComponents(err.Error())
	text = recursed.ReplaceAllString(text, "")
	if all := accumulated.FindAllStringSubmatch(text, -1); all != nil {
		last := all[len(all)-1]
		return withoutValues(last[1] + ": " + last[2])
	}
	for !quoted {
		next := errors.Unwrap(err)
		if next == nil || saysNothing(next) {
			text = recursed.ReplaceAllString(err.Error(), "")
			break
		}
		err = next
	}
	return withoutValues(strings.Join(strings.Fields(text), " "))
}

// withoutValues is a message without the values of generators.
func withoutValues(message string) string {
	return generatorValue.ReplaceAllStringFunc(message, func(part string) string {
		return strings.Join(generatorValue.FindStringSubmatch(part)[1:], "")
	})
}

// saysNothing says whether an error is but a few words, like "missing value", or about the
// nodes of YAML, and does not say of what.
func saysNothing(err error) bool {
	return len(strings.Fields(err.Error())) <= len(strings.Fields(fs.ErrNotExist.Error())) || strings.HasPrefix(err.Error(), "wrong node kind: ")
}

// inComponent is how kustomize quotes an error in a component.
var inComponent = regexp.MustCompile(`(?s)^.*accumulateDirectory: ("(?:[^"\\]|\\.)*")`)

// unquoteComponents returns the error in the innermost component that a text quotes.
func unquoteComponents(text string) (unquoted string, quoted bool) {
	for {
		match := inComponent.FindStringSubmatch(text)
		if match == nil {
			return text, quoted
		}
		inner, err := strconv.Unquote(match[1])
		if err != nil {
			return text, quoted
		}
		text, quoted = inner, true
	}
}
