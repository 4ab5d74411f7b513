package charts

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"

	"k8s.io/apimachinery/pkg/util/sets"
)

// part is a template of a chart, a text that a template evaluates, or another file of the chart.
type part struct {
	file    string // in the repository
	content [sha256.Size]byte
	asks    bool // the cluster, the clock or chance, so that a controller may install other objects
	isIdle  bool // some of it did not run
	ofStep  bool // it asks whether an installation or an upgrade makes the objects
	files   bool // it may read other files of the chart
	// defines and calls are the names of the definitions in it, and of the ones that it calls, any of all if callsAny.
	defines, calls []string
	callsAny       bool
}

// asking are the functions, and the fields of .Release and .Capabilities, whose results a controller may see otherwise.
var asking = []string{
	"lookup", "now", "ago", "date", "dateInZone", "htmlDate", "htmlDateInZone", "getHostByName",
	"randAlpha", "randAlphaNum", "randAscii", "randBytes", "randInt", "randNumeric", "shuffle", "uuidv4",
	"bcrypt", "htpasswd", "encryptAES", "genCA", "genCAWithKey", "genPrivateKey", "genSelfSignedCert",
	"genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey",
	"APIVersions", "HelmVersion", "KubeVersion", "IsInstall", "IsUpgrade", "Revision",
}

// ofStep are the fields of asking that differ between an installation and an upgrade.
var ofStep = []string{"IsInstall", "IsUpgrade", "Revision"}

// newPart records a part of the chart.
func (r *run) newPart(name, file string, content []byte) *part {
	if r.parts[name] == nil {
		r.parts[name] = &part{file: file, content: sha256.Sum256(content)}
	}
	return r.parts[name]
}

// written returns the text of templates, without comments.
func written(trees map[string]*parse.Tree) []byte {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(trees)) {
		fmt.Fprintf(&b, "%q %s\n", name, trees[name].Root)
	}
	return []byte(b.String())
}

// note records that a part names a function, a field or a text, which may be the name of a field.
func (p *part) note(names ...string) {
	isAsking := func(name string) bool { return slices.Contains(asking, name) }
	p.asks = p.asks || slices.ContainsFunc(names, isAsking)
	p.ofStep = p.ofStep || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(ofStep, name) })
	p.files = p.files || slices.Contains(names, "Files")
}

// noteWhole records that a part uses a value with all below.
func (p *part) noteWhole(names []string) {
	last := ""
	if len(names) > 0 {
		last = names[len(names)-1]
	}
	p.asks = p.asks || last == "Capabilities" || last == "Release"
	p.ofStep = p.ofStep || last == "Release"
}

// AsksStep reports whether a template of the chart asks whether this is an installation or an upgrade.
func (s *Settings) AsksStep() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(s.run.parts)), func(p *part) bool { return p.ofStep })
}

// settle records which parts did not run as a whole.
func (r *run) settle() {
	for _, s := range r.sites {
		s.part.isIdle = s.part.isIdle || !s.isRun
	}
	for _, t := range r.texts {
		t.part.isIdle = t.part.isIdle || !t.isRun && strings.TrimSpace(t.content) != ""
	}
	readsFiles := false
	for _, p := range r.parts {
		readsFiles = readsFiles || p.files && p.isIdle
	}
	for name, p := range r.parts {
		p.isIdle = p.isIdle || readsFiles && strings.HasPrefix(name, otherFile)
	}
}

// otherFile begins the name of a part that is no template.
const otherFile = "file "

// Unproven returns the files of a chart whose change, or the change of a value that they read, no rendering shows as a
// whole: they ask the cluster, the clock or chance, or did not run as a whole. Of an archive, only its author
// makes a part run, unless the chart asks.
func (s *Settings) Unproven(was *Settings) (files []string) {
	if s == nil || was == nil || s == was {
		return nil
	}
	changed := changedKeys(nil, was.run.values, s.run.values)
	asked := s.run.askedParts()
	for _, c := range s.run.chains {
		mayBe := func(keys []string) bool { return s.run.mayBe(c, keys) }
		if !c.isRun && asked.Has(c.part) && slices.ContainsFunc(changed, mayBe) {
			files = append(files, strings.TrimPrefix(c.part.file, "/"))
		}
	}
	files = append(files, s.unprovenParts(was)...)
	slices.Sort(files)
	return slices.Compact(files)
}

// askedParts returns the parts that ask, and those whose definitions they call, which may run by the answer.
func (r *run) askedParts() sets.Set[*part] {
	asked := sets.Set[*part]{}
	byName := map[string][]*part{}
	var rest []*part
	for _, p := range r.parts {
		for _, name := range p.defines {
			byName[name] = append(byName[name], p)
		}
		if p.asks {
			rest = append(rest, p)
		}
	}
	for len(rest) > 0 {
		p := rest[0]
		rest = rest[1:]
		if asked.Has(p) {
			continue
		}
		asked.Insert(p)
		for _, name := range p.calls {
			rest = append(rest, byName[name]...)
		}
		if p.callsAny {
			rest = slices.AppendSeq(rest, maps.Values(r.parts))
		}
	}
	return asked
}

// unprovenParts returns the changed files of a chart that ask, or did not run as a whole.
func (s *Settings) unprovenParts(was *Settings) (files []string) {
	asks := func(p *part) bool { return p.asks }
	asksAnywhere := slices.ContainsFunc(slices.Collect(maps.Values(s.run.parts)), asks)
	names := slices.Concat(slices.Collect(maps.Keys(s.run.parts)), slices.Collect(maps.Keys(was.run.parts)))
	for _, name := range names {
		is := s.run.parts[name]
		old := was.run.parts[name]
		if is != nil && old != nil && is.content == old.content {
			continue
		}
		for _, p := range []*part{is, old} {
			if p != nil && (p.asks || p.isIdle && (asksAnywhere || !strings.Contains(p.file, ".tgz"))) {
				files = append(files, strings.TrimPrefix(p.file, "/"))
			}
		}
	}
	return files
}

// changedKeys returns the keys of the values that differ.
func changedKeys(keys []string, was, is any) (all [][]string) {
	before, wasMap := plainMap(was).(map[string]any)
	after, isMap := plainMap(is).(map[string]any)
	switch {
	case wasMap || isMap:
		if wasMap != isMap {
			all = append(all, keys)
		}
		names := slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after)))
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			all = append(all, changedKeys(append(slices.Clip(keys), name), before[name], after[name])...)
		}
	case !reflect.DeepEqual(was, is):
		all = append(all, keys)
	}
	return all
}
