package release

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gobwas/glob"
	"helm.sh/helm/v4/pkg/strvals"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/fetched"
)

// ofApplication returns the releases of an Application. Whether a folder has a chart, and which values, files tell: see
// withFiles.
func ofApplication(o manifest.Object) (all []Release) {
	a := application.Read(o)
	for _, s := range a.Sources {
		if s.Chart == "" && s.Path == "" {
			continue
		}
		r := Release{Source: o, application: &s, Chart: s.Chart, Version: s.TargetRevision}
		if r.setRepository(s.RepoURL); !strings.Contains(s.RepoURL, "://") { // of OCI: the chart may have folders
			r.Chart = strings.TrimPrefix(path.Base("/"+s.Chart), "/")
			r.setRepository("oci://" + path.Join(s.RepoURL, path.Dir(s.Chart)))
		}
		if s.Chart == "" {
			r.setFolder(s.Path)
		}
		if !delivery.IsInCluster(a.Name, a.Server) {
			r.Unjudged = "spec.destination is another cluster: " + cmp.Or(a.Name, a.Server)
		}
		r.addSource(s)
		all = append(all, r)
	}
	return all
}

// topOf returns the folder that has the repository of a source, or the error of fetching it.
type topOf func(s application.Source) (top string, notFetched error)

// errNoChart is the error of a source that has no chart.
var errNoChart = errors.New("no chart")

// withFiles returns the release of a source of an Application with the files of the repository that change the
// source, or have values. Without a chart there the error is errNoChart, and package render has the reason.
func (r Release) withFiles(files *source.FileSystem, origin application.Origin, topOf topOf) (Release, error) {
	s := *r.application
	if s.Chart == "" {
		top, err := topOf(s)
		if err != nil || s.CheckPath() != nil {
			return r, errNoChart
		}
		s.Top = top
		merged, built, err := s.Merge(files, origin)
		if err != nil || built != application.OfHelm {
			return r, errNoChart
		}
		s = merged
		r.setFolder(s.Folder())
	}
	made := Release{Source: r.Source, ID: r.ID, application: &s, Chart: r.Chart, Version: r.Version,
		Repository: r.Repository, Folder: r.Folder, Unjudged: r.Unjudged, locate: r.locate}
	made.addSource(s)
	made.addValueFiles(files, s, topOf)
	made.addFileParameters(files, s, topOf)
	return made, nil
}

// addSource adds the options and values of a source.
func (r *Release) addSource(s application.Source) {
	helm := application.Helm{}
	if s.Helm != nil {
		helm = *s.Helm
	}
	field := s.Field + ".helm."
	of := s.Application()
	r.Name = cmp.Or(helm.ReleaseName, of.Of.GetName())
	r.Namespace = cmp.Or(helm.Namespace, of.Namespace, "default")
	r.IgnoreMissing = helm.IgnoreMissing
	r.SkipCRDs = helm.SkipCRDs
	r.SkipSchemas = helm.SkipSchemaValidation
	r.Kubernetes = helm.KubeVersion
	r.APIVersions = helm.APIVersions
	r.valuesField = field + "valuesObject"
	r.filesField = field + "valueFiles[0]"
	if helm.ValuesObject != nil {
		r.add(valueSource{object: r.Source, field: r.valuesField, values: helm.ValuesObject})
	} else {
		r.addText(valueSource{object: r.Source, field: field + "values"}, helm.Values)
	}
	for _, isForced := range []bool{false, true} { // Helm takes --set-string after --set
		for i, p := range helm.Parameters {
			if p.ForceString == isForced {
				r.addParameter(s, p, fmt.Sprintf("%sparameters[%d].value", field, i))
			}
		}
	}
}

// addFileParameters adds the content of files, which Helm takes after all other values.
func (r *Release) addFileParameters(files *source.FileSystem, s application.Source,
	topOf topOf) {
	if s.Helm == nil {
		return
	}
	for i, p := range s.Helm.FileParameters {
		field := fmt.Sprintf("%s.helm.fileParameters[%d].path", s.Field, i)
		f := r.valueFile(s, p.Path, field, topOf)
		if f.name != "" && !path.IsAbs(f.name) { // in an archive
			r.Unknown = append(r.Unknown, p.Path)
			r.unknownField = cmp.Or(r.unknownField, field)
		}
		if !path.IsAbs(f.name) {
			continue
		}
		r.addScalar(valueSource{object: r.Source, field: field}, func(values map[string]any) error {
			return strvals.ParseIntoFile(p.Name+"="+p.Path, values, func([]rune) (any, error) {
				content, err := files.ReadAny(f.name)
				return string(content), err
			})
		})
	}
}

// addParameter adds a parameter, with the variables of the build environment. The commit is unknown.
func (r *Release) addParameter(s application.Source, p application.Parameter, field string) {
	value := r.expand(s, p.Value, field)
	if value.Unknown {
		r.Unknown = append(r.Unknown, p.Name+" ("+p.Value+")")
		r.unknownField = cmp.Or(r.unknownField, field)
		return
	}
	set := strvals.ParseInto
	if p.ForceString {
		set = strvals.ParseIntoString
	}
	r.addScalar(valueSource{object: r.Source, field: field},
		func(values map[string]any) error { return set(p.Name+"="+escapeCommas(value.Text), values) })
}

// expand replaces the variables of a text, and warns of unknown ones.
func (r *Release) expand(s application.Source, text, field string) application.Expanded {
	expanded := s.Expand(text)
	if len(expanded.Unset) > 0 {
		w := r.Warning(fmt.Sprintf("%s: Argo CD takes $%s out of %q, as it is no variable of its build environment: "+
			"write $$ for a dollar sign, or the value", field, strings.Join(expanded.Unset, " and $"), text))
		w.Field = field
		r.warnings = append(r.warnings, w)
	}
	return expanded
}

// addValueFiles adds the files of values, as getResolvedValueFiles in reposerver/repository/repository.go of Argo CD
// does: patterns give their files in lexical order, without files that are listed by name, and each file counts once.
func (r *Release) addValueFiles(files *source.FileSystem, s application.Source,
	topOf topOf) {
	if s.Helm == nil {
		return
	}
	listed := make([]valueFile, len(s.Helm.ValueFiles))
	for i, name := range s.Helm.ValueFiles {
		listed[i] = r.valueFile(s, name, fmt.Sprintf("%s.helm.valueFiles[%d]", s.Field, i), topOf)
	}
	isListed := func(name string) bool {
		return slices.ContainsFunc(listed, func(f valueFile) bool { return f.name == name })
	}
	for _, f := range listed {
		switch {
		case f.name == "":
		case !strings.ContainsAny(f.name, "*?["):
			r.addFile(files, f)
		case !path.IsAbs(f.name): // in an archive
			r.Unknown = append(r.Unknown, f.written)
		default:
			matched := matching(files, f.name)
			for _, name := range matched {
				if !isListed(name) {
					r.addFile(files, valueFile{name, name})
				}
			}
			if len(matched) == 0 {
				r.addFile(files, f)
			}
		}
	}
}

// valueFile is a file of values: in an archive or, with a leading slash, in the repository. It has no name if it is
// elsewhere.
type valueFile struct{ name, written string }

// valueFile returns the place of a file of values: in the chart, or anywhere in the repository of the chart or of
// another source. See ResolveValueFilePathOrUrl in util/io/path/resolved.go.
func (r *Release) valueFile(s application.Source, written, field string, topOf topOf) valueFile {
	first, within, _ := strings.Cut(written, "/")
	ref, isRef := s.Refs[first]
	text := written
	top := path.Join("/", s.Top)
	var notFetched error
	if isRef {
		text = "/" + within // Argo CD finds the source before it replaces variables
		top, notFetched = topOf(ref)
	}
	expanded := r.expand(s, text, field)
	name := expanded.Text
	if strings.HasPrefix(written, "$") && !isRef && len(expanded.Unset) > 0 {
		r.warnings = r.warnings[:len(r.warnings)-1] // the name of a source that is not here
		expanded.Unknown = true
	}
	isInArchive := s.Chart != "" && !isRef
	at := path.Join(s.Folder(), name)
	switch {
	case path.IsAbs(name):
		at = path.Join(top, path.Clean(name))
	case isInArchive:
		at = path.Clean(name)
	}
	isOutside := isInArchive && !filepath.IsLocal(name) || path.IsAbs(at) && !source.IsWithin(at, top)
	if !expanded.Unknown && !strings.Contains(name, "://") && notFetched == nil && !isOutside {
		return valueFile{at, written}
	}
	r.Unknown = append(r.Unknown, because(written, notFetched))
	return valueFile{written: written}
}

// because returns a file of values that is unknown, with the error of fetching its source.
func because(written string, notFetched error) string {
	if notFetched == nil || errors.Is(notFetched, fetched.ErrNotFetching) {
		return written
	}
	return written + ": " + notFetched.Error()
}

// addFile adds a file of values. A missing one is an error of the chart, unless it may be in the repository of another
// source.
func (r *Release) addFile(files *source.FileSystem, f valueFile) {
	_, isFolder, err := files.Resolve(f.name)
	isMissing := path.IsAbs(f.name) && (err != nil || isFolder)
	switch {
	case slices.Contains(r.Files, f.name), isMissing && r.IgnoreMissing:
	case isMissing && strings.HasPrefix(f.written, "$"):
		r.Unknown = append(r.Unknown, f.written)
	default:
		r.Files = append(r.Files, f.name)
	}
}

// matching returns the files that a pattern selects, in lexical order. A part ** stands for any folders, also none, as
// in doublestar.
func matching(files *source.FileSystem, pattern string) (matched []string) {
	parts := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	var visit func(at string, parts []string)
	visit = func(at string, parts []string) {
		isWhole := len(parts) == 0 || len(parts) == 1 && parts[0] == "**"
		switch isDir := files.IsDir(at); {
		case !isDir && isWhole && !slices.Contains(matched, at):
			matched = append(matched, at)
			return
		case !isDir, len(parts) == 0:
			return
		case parts[0] == "**":
			visit(at, parts[1:])
		}
		compiled, err := glob.Compile(strings.ReplaceAll(parts[0], "[^", "[!"))
		names, _ := files.List(at)
		for _, name := range names {
			below := path.Join(at, name)
			switch {
			case parts[0] == "**":
				visit(below, parts)
			case err == nil && compiled.Match(name):
				visit(below, parts[1:])
			}
		}
	}
	visit("/", parts)
	slices.Sort(matched)
	return matched
}

var comma = regexp.MustCompile(`(^|[^\\]),`)

// escapeCommas escapes the commas of a value that is no list, as Argo CD does.
func escapeCommas(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	for comma.MatchString(value) {
		value = comma.ReplaceAllString(value, `$1\,`)
	}
	return value
}
