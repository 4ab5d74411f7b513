package build

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/source"
)

// referrals is the error of a reference that may be to one of several objects.
var referrals = regexp.MustCompile(`found multiple possible referrals: ([^\n]*)`)

// maxReferrals is how many ambiguous references are looked for.
const maxReferrals = 16

// kustomizeProblems are the problems that an error of building a folder is about. Of
// references that may be to one of several objects kustomize names one by chance, so those
// are found one after the other: each build does without the objects that were found.
func kustomizeProblems(s *source.Sources, k *source.Kustomization, err error) (problems []object.Problem) {
	fs := s.FS
	for range maxReferrals {
		match := referrals.FindStringSubmatch(err.Error())
		if match == nil {
			break
		}
		problem, others := referralProblem(s, k.File, match[1])
		problems = append(problems, problem)
		if len(others) == 0 {
			break
		}
		fs = fs.With(s.Without(others))
		if _, err = buildFolder(fs, k.Folder, nil); err == nil {
			break
		}
	}
	if len(problems) == 0 {
		problems = append(problems, kustomizeProblem(s, k.File, err))
	}
	return problems
}

// referralProblem is the problem of the objects that a reference may be to, and their
// documents but for the first.
func referralProblem(s *source.Sources, kustomization, ids string) (object.Problem, []source.Document) {
	var candidates []source.Document
	matches := resID.FindAllStringSubmatch(ids, -1)
	names := make([]string, 0, len(matches))
	for _, match := range matches {
		names = append(names, idOf(match).String())
		for _, d := range s.Written(idOf(match), 1) {
			if !slices.ContainsFunc(candidates, func(other source.Document) bool { return other.Node == d.Node }) {
				candidates = append(candidates, d)
			}
		}
	}
	slices.Sort(names)
	p := object.Problem{
		File:    source.Relative(kustomization),
		Message: fmt.Sprintf("a reference may be to any of %s: give them different names, or what refers to them a namespace", strings.Join(names, ", ")),
	}
	if len(candidates) == 0 {
		return p, nil
	}
	slices.SortFunc(candidates, func(a, b source.Document) int {
		file, line := a.Position()
		otherFile, otherLine := b.Position()
		return cmp.Or(cmp.Compare(file, otherFile), cmp.Compare(line, otherLine))
	})
	p.Object = candidates[0].String()
	p.File, p.Line = candidates[0].Position()
	if len(candidates) > 1 {
		p.Message = fmt.Sprintf("what refers to it may mean the one in %s as well: give them different names, or what refers to them a namespace",
			strings.Join(positions(candidates[1:]), ", "))
	}
	return p, candidates[1:]
}
