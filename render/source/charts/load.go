package charts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/ignore"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/fetched"
)

// A chart may have maxFiles files and maxBytes bytes, archives within it unpacked. Helm limits
// only the bytes.
const (
	maxFiles = 20_000
	maxBytes = 100 << 20
)

// loaded is a chart with its files.
type loaded struct {
	*chart.Chart
	sources   map[*common.File]string // paths in the repository
	templates map[string]string       // the same by the name of a template in Helm
}

// load loads the chart of an entry from the repository.
func load(repository Files, e Entry) (*loaded, error) {
	at, isDir, err := e.find(repository)
	if err != nil {
		return nil, err
	}
	r := &reader{files: repository, root: at, paths: map[*byte]string{}, isBuilt: isDir && e.Installed != nil}
	var content []byte
	if isDir {
		err = r.readFolder("", ignore.Empty())
	} else if content, err = repository.ReadAny(at); err == nil {
		err = r.unpack("", content)
	}
	if err != nil {
		return nil, err
	}
	c, err := loader.LoadFiles(r.found)
	if err != nil {
		return nil, err
	}
	notFetched := r.fetch(c)
	if missing := missingIn(c); len(missing) > 0 && notFetched == nil {
		if c, err = loader.LoadFiles(r.found); err != nil {
			return nil, err
		}
	}
	sortDependencies(c)
	result := &loaded{Chart: c, sources: map[*common.File]string{}, templates: map[string]string{}}
	for _, of := range withDependencies(c) {
		for _, f := range slices.Concat(of.Templates, of.Files) {
			if len(f.Data) > 0 {
				result.sources[f] = r.paths[&f.Data[0]]
			}
		}
	}
	return result, checkChart(c, notFetched)
}

// raw returns the content of a file of the chart.
func (c *loaded) raw(name string) (content []byte, ok bool) {
	i := slices.IndexFunc(c.Raw, func(f *common.File) bool { return f.Name == path.Clean(name) })
	if i < 0 {
		return nil, false
	}
	return c.Raw[i].Data, true
}

// NotHere is the reason of a chart that is not in the repository.
const NotHere = "chart not here"

// Reason returns the reason of an unknown chart: it is not here, or fetching it failed.
func Reason(name string, notFetched error) string {
	if notFetched == nil || errors.Is(notFetched, fetched.ErrNotFetching) {
		return NotHere + ": chart " + name
	}
	return fetched.Reason("chart "+name, notFetched)
}

// From returns the source of the chart.
func (e Entry) From() fetched.Source {
	from := fetched.Source{Repository: strings.TrimRight(e.Repo, "/"), Chart: e.Name, Version: e.Version}
	if e.Version == "" {
		from.Range = "*"
	}
	return from
}

// Local returns the entry without a chart that was fetched.
func (e Entry) Local() Entry {
	e.Fetched = ""
	return e
}

// IsThere reports whether the chart of an entry is in the repository, or fetched.
func IsThere(files Files, e Entry) bool {
	_, _, err := e.find(files)
	return err == nil
}

// find returns the path of the chart: a folder, or an archive as `helm pull` writes it.
func (e Entry) find(files Files) (at string, isDir bool, err error) {
	if e.Installed != nil {
		return files.Resolve(e.Installed.Archive)
	}
	home := e.Home
	if e.Version != "" && e.Repo != "" {
		home = path.Join(home, e.Name+"-"+e.Version)
	}
	folder := path.Join(home, e.Name)
	for _, name := range []string{folder, path.Join(home, e.Name+"-"+e.Version+".tgz"),
		path.Join(e.Home, e.Name+"-"+e.Version+".tgz"), folder + ".tgz"} {
		at, isDir, err = files.Resolve(name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return at, isDir, err
		}
	}
	switch {
	case e.Fetched != "":
		return files.Resolve(e.Fetched)
	case e.NotFetched != nil:
		return "", false, fmt.Errorf("is not fetched: %w", e.NotFetched)
	}
	pull := "helm pull " + e.Name
	if strings.HasPrefix(e.Repo, "oci://") {
		pull = "helm pull " + strings.TrimSuffix(e.Repo, "/") + "/" + e.Name
	} else if e.Repo != "" {
		pull += " --repo " + e.Repo
	}
	if e.Version != "" {
		pull += " --version " + e.Version
	}
	return "", false, fmt.Errorf("is not in this repository: run `%s --untar --untardir %s`, and commit the files",
		pull, strings.TrimPrefix(home, "/"))
}

// reader reads the files of a chart.
type reader struct {
	files Files
	root  string
	found []*archive.BufferedFile
	paths map[*byte]string // by content: Helm keeps the content of a file, and not its folder
	size  int
	// isBuilt reports whether a controller adds the charts of other folders before it installs this one.
	isBuilt bool
}

func (r *reader) add(name string, data []byte) error {
	r.size += len(data)
	if r.size > maxBytes || len(r.found) >= maxFiles {
		return fmt.Errorf("is over %d MiB or %d files", maxBytes>>20, maxFiles)
	}
	if strings.HasSuffix(name, ".tgz") && isDependency(name) {
		return r.unpack(strings.TrimSuffix(name, ".tgz")+archived, data)
	}
	f := &archive.BufferedFile{Name: name, Data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))}
	r.found = append(r.found, f)
	if len(f.Data) > 0 {
		r.paths[&f.Data[0]] = path.Join(r.root, strings.ReplaceAll(name, archived, ".tgz"))
	}
	return nil
}

// archived ends the name of a folder with the files of an archive: Helm unpacks no such name itself.
const archived = ".archive"

// isDependency reports whether a file is directly in a folder charts of a chart.
func isDependency(name string) bool {
	folder, base := path.Split(name)
	above := path.Dir(path.Clean(folder))
	return path.Base(folder) == "charts" && !strings.ContainsAny(base[:1], "_.") &&
		(above == "." || path.Base(path.Dir(above)) == "charts")
}

// readFolder reads a folder of the chart as Helm does, in the order of names.
func (r *reader) readFolder(folder string, rules *ignore.Rules) error {
	names, err := r.files.List(path.Join(r.root, folder))
	if err != nil {
		return err
	}
	if folder == "" {
		if slices.Contains(names, ignore.HelmIgnore) {
			content, err := r.files.ReadAny(path.Join(r.root, ignore.HelmIgnore))
			if err == nil {
				rules, err = ignore.Parse(bytes.NewReader(content))
			}
			if err != nil {
				return fmt.Errorf("%s: %w", ignore.HelmIgnore, err)
			}
		}
		rules.AddDefaults()
	}
	for _, name := range names {
		name = path.Join(folder, name)
		resolved, isDir, err := r.files.Resolve(path.Join(r.root, name))
		switch {
		case rules.Ignore(name, info{isDir: isDir}):
		case err != nil:
			return err
		case resolved != path.Join(r.root, name) && (!strings.HasPrefix(resolved, r.root+"/") || isDir):
			return fmt.Errorf("%s is a link out of the chart, or to a folder: copy its files", name)
		case isDir:
			err = r.readFolder(name, rules)
		default:
			var content []byte
			if content, err = r.files.ReadAny(resolved); err == nil {
				err = r.add(name, content)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pointerError is about a file, from the root, whose content is in Git LFS.
type pointerError string

// Error implements error.
func (e pointerError) Error() string {
	return string(e) + " is a pointer of Git LFS, not the archive: run git lfs pull before render"
}

// unpack adds the files of an archive below a folder.
func (r *reader) unpack(folder string, content []byte) error {
	if manifest.IsPointer(content) {
		file := path.Join(r.root, strings.ReplaceAll(folder, archived, ".tgz"))
		return pointerError(strings.TrimPrefix(file, "/"))
	}
	unpacked, err := archive.LoadArchiveFiles(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("%s: %w", cmp.Or(strings.ReplaceAll(folder, archived, ".tgz"), "archive"), err)
	}
	for _, f := range unpacked {
		if err := r.add(path.Join(folder, f.Name), f.Data); err != nil {
			return err
		}
	}
	return nil
}

// info is a file or folder for the rules of .helmignore.
type info struct {
	fs.FileInfo
	isDir bool
}

func (i info) IsDir() bool { return i.isDir }

// The parts of the apiVersion of a custom kind.
var (
	customGroup = regexp.MustCompile(`[a-z0-9-]+(?:\.[a-z0-9-]+)+$`)
	versionName = regexp.MustCompile(`^v[0-9][a-z0-9]*`)
)

// customVersions returns the apiVersions of custom kinds in a template: one regular expression over all of it is slow.
func customVersions(template []byte) (versions []string) {
	for at := 0; ; {
		next := bytes.Index(template[at:], []byte("/v"))
		if next < 0 {
			return versions
		}
		at += next + 1
		group := customGroup.Find(template[max(0, at-101) : at-1])
		version := versionName.Find(template[at:])
		if group != nil && version != nil {
			versions = append(versions, string(group)+"/"+string(version))
		}
	}
}

// askedVersion matches the apiVersion, or the start of one, that a template asks for.
var askedVersion = regexp.MustCompile(`^\.Has \(?(?:printf )?"([^"]*)"`)

// asked returns the apiVersions of custom kinds that the templates may ask the cluster for: all in their text, if a
// template asks for a version that the text does not tell.
func (c *loaded) asked() (versions []string) {
	var templates [][]byte
	for _, of := range withDependencies(c.Chart) {
		for _, f := range of.Templates {
			templates = append(templates, f.Data)
		}
	}
	isAny := false
	for _, template := range templates {
		for _, asking := range bytes.Split(template, []byte(".APIVersions"))[1:] {
			literal := askedVersion.FindSubmatch(asking)
			isAny = isAny || literal == nil
			if literal != nil {
				versions = append(versions, customVersions(literal[1])...)
			}
		}
	}
	if isAny {
		for _, template := range templates {
			versions = append(versions, customVersions(template)...)
		}
	}
	slices.Sort(versions)
	return slices.Compact(versions)
}

// withDependencies returns a chart and the charts that it depends on, at any depth.
func withDependencies(c *chart.Chart) (all []*chart.Chart) {
	all = append(all, c)
	for _, d := range c.Dependencies() {
		all = append(all, withDependencies(d)...)
	}
	return all
}

// sortDependencies sorts the charts that a chart loads: Helm reads them from a map.
func sortDependencies(c *chart.Chart) {
	for _, of := range withDependencies(c) {
		dependencies := slices.Clone(of.Dependencies())
		slices.SortStableFunc(dependencies, func(a, b *chart.Chart) int {
			return cmp.Or(cmp.Compare(a.Name(), b.Name()), cmp.Compare(a.Metadata.Version, b.Metadata.Version))
		})
		of.SetDependencies(dependencies...)
	}
}

// nameTemplates names the templates of the chart and its dependencies as Helm does, aliases included.
func (c *loaded) nameTemplates() {
	for _, of := range withDependencies(c.Chart) {
		for _, f := range slices.Concat(of.Templates, of.Files) {
			c.templates[path.Join(of.ChartFullPath(), f.Name)] = c.sources[f]
		}
	}
}

// lackingError is about missing dependencies, which a controller may download.
type lackingError struct {
	charts     []string // with their versions
	notFetched error
}

// Error implements error.
func (e lackingError) Error() string {
	names := "lacks charts that it depends on, " + strings.Join(e.charts, ", ")
	if errors.Is(e.notFetched, fetched.ErrNotFetching) {
		return names + ": add --fetch, or run `helm dependency build` in its folder, and commit its charts/"
	}
	return names + ": not fetched: " + e.notFetched.Error()
}

// reasons returns the reason of each missing chart, as of a chart that is not here itself.
func (e lackingError) reasons() (all []string) {
	for _, name := range e.charts {
		all = append(all, Reason(name, e.notFetched))
	}
	return all
}

// missingIn returns the dependencies that a chart does not have.
func missingIn(c *chart.Chart) (missing []*chart.Dependency) {
	for _, required := range c.Metadata.Dependencies {
		isRequired := func(d *chart.Chart) bool { return d.Name() == required.Name }
		if !slices.ContainsFunc(c.Dependencies(), isRequired) {
			missing = append(missing, required)
		}
	}
	return missing
}

// fetch adds the missing dependencies of a chart, at the versions of Chart.lock, as `helm dependency build` does.
func (r *reader) fetch(c *chart.Chart) error {
	for _, d := range missingIn(c) {
		from := fetched.Source{Repository: strings.TrimRight(d.Repository, "/"), Chart: d.Name,
			Range: cmp.Or(d.Version, "*")}
		if c.Lock != nil {
			for _, l := range c.Lock.Dependencies {
				if l.Name == d.Name && l.Repository == d.Repository {
					from.Version = l.Version
					from.Range = ""
				}
			}
		}
		var err error
		if folder, isLocal := strings.CutPrefix(d.Repository, "file://"); isLocal && r.isBuilt {
			from.Chart = "" // its URL is the whole folder
			err = r.addLocal(folder, d.Name, cmp.Or(from.Version, from.Range))
		} else {
			err = r.addFetched(from)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
	}
	return nil
}

// addFetched adds a chart of a repository of charts.
func (r *reader) addFetched(from fetched.Source) error {
	files, err := r.files.Fetch(from)
	if err != nil {
		return err
	}
	content, err := r.files.ReadAny(files.Path)
	if err != nil {
		return err
	}
	folder := path.Join("charts", from.Chart+"-"+files.Resolved+archived)
	if r.has(folder) {
		return nil
	}
	return r.unpack(folder, content)
}

// has reports whether a folder is read already: of a chart with two aliases.
func (r *reader) has(folder string) bool {
	return slices.ContainsFunc(r.found, func(f *archive.BufferedFile) bool {
		return strings.HasPrefix(f.Name, folder+"/")
	})
}

// addLocal adds the chart in another folder of the repository, at a version or in a range.
func (r *reader) addLocal(folder, name, version string) error {
	within := path.Join("charts", name)
	root, isDir, err := r.files.Resolve(path.Join(r.root, folder))
	switch {
	case err != nil || r.has(within):
		return err
	case !isDir || path.IsAbs(folder) || fetched.Top(root) != fetched.Top(r.root):
		return errors.New("is no folder of the repository")
	}
	local := &reader{files: r.files, root: root, found: r.found, paths: r.paths, size: r.size}
	if err := local.readFolder("", ignore.Empty()); err != nil {
		return err
	}
	added := local.found[len(r.found):]
	c, err := loader.LoadFiles(added)
	if err != nil {
		return err
	}
	wanted, err := semver.NewConstraint(version)
	if err != nil {
		return err
	}
	is, err := semver.NewVersion(c.Metadata.Version)
	if err != nil || !wanted.Check(is) || c.Name() != name {
		return fmt.Errorf("is chart %s %s", c.Name(), c.Metadata.Version)
	}
	for _, f := range added {
		f.Name = path.Join(within, f.Name)
	}
	r.found = local.found
	r.size = local.size
	return nil
}

// checkChart returns an error for a chart that Helm does not install.
func checkChart(c *chart.Chart, notFetched error) error {
	if kind := c.Metadata.Type; kind != "" && kind != "application" {
		return fmt.Errorf("is a chart of type %s, which only other charts may use", kind)
	}
	var missing []string
	for _, required := range missingIn(c) {
		missing = append(missing, strings.TrimSpace(required.Name+" "+required.Version))
	}
	if len(missing) == 0 {
		return nil
	}
	return lackingError{missing, notFetched}
}
