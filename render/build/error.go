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

// kustomizeProblem is the problem that an error of kustomize is about.
func kustomizeProblem(s *source.Sources, kustomization string, err error) object.Problem {
	message := strings.TrimPrefix(rootMessage(err), "/")
	p := object.Problem{File: source.Relative(kustomization), Message: "kustomize: " + message}
	if match := conflict.FindStringSubmatch(message); match != nil {
		id := object.ID{Kind: match[1], Name: match[2]}
		return duplicate(p, id, s.Find(id))
	}
	match := resID.FindStringSubmatch(message)
	if match == nil {
		return p
	}
	id := object.ID{Kind: match[1], Name: match[2], Namespace: strings.TrimSuffix(match[3], "[noNs]")}
	found := s.Find(id)
	if strings.Contains(message, "already registered id") {
		return duplicate(p, id, found)
	}
	if len(found) > 0 {
		last := found[len(found)-1]
		p.Object = last.String()
		p.File, p.Line = last.Position()
	}
	return p
}

// duplicate is the problem of an object that is there twice: in the two documents that
// were found or, if there are others or its name changed since, somewhere.
func duplicate(p object.Problem, id object.ID, found []source.Document) object.Problem {
	if len(found) == 2 {
		return source.DuplicateProblem(found[1], found[0])
	}
	p.Object = id.String()
	p.Message = "duplicate object: another file of this environment has it as well; remove or rename one"
	if len(found) > 2 {
		positions := make([]string, len(found))
		for i, d := range found {
			file, line := d.Position()
			positions[i] = fmt.Sprintf("%s:%d", file, line)
		}
		p.Message = fmt.Sprintf("duplicate object: two of those in %s are one object; remove or rename one", strings.Join(positions, ", "))
	}
	return p
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

// saysNothing says whether an error is but a few words, like "missing value", that do
// not say of what.
func saysNothing(err error) bool {
	return len(strings.Fields(err.Error())) <= len(strings.Fields(fs.ErrNotExist.Error()))
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
