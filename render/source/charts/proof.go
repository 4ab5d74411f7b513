package charts

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// part is a template of the chart, a definition, a text that a template evaluates, or another file of the chart.
type part struct {
	name    string
	file    string // in the repository
	content [sha256.Size]byte
	chart   string // whose values it gets from Helm; none of a definition, which any part may call
	isFile  bool   // no template
	asks    bool   // by an action that ran
	isIdle  bool   // some of it did not run
	files   bool   // it may read other files of the chart
	changes bool   // it may change values that other templates read
	defines string // the name of the definition
	// calls are the names of the templates that it calls, and callsBeside the ends of their paths. With callsAny it may
	// call any one, and with evaluates texts, which may call any definition.
	calls, callsBeside  []string
	callsAny, evaluates bool
}

// question is what an action asks.
type question struct {
	asks   bool // the cluster, the clock or chance, so that a controller may install other objects
	ofStep bool // whether an installation or an upgrade makes the objects
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

// changers are the functions that change a mapping that they get.
var changers = []string{"set", "unset", "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite"}

// newPart records a part of the chart.
func (r *run) newPart(name, file string, content []byte) *part {
	if r.parts[name] == nil {
		r.parts[name] = &part{name: name, file: file, content: sha256.Sum256(content)}
	}
	return r.parts[name]
}

// note records that the current action names a function, a field or a text, which may be the name of a field.
func (w *rewriter) note(names ...string) {
	isIn := func(all []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(all, name) })
	}
	w.site.asks = w.site.asks || isIn(asking)
	w.site.ofStep = w.site.ofStep || isIn(ofStep)
	w.part.files = w.part.files || slices.Contains(names, "Files")
	w.part.changes = w.part.changes || isIn(changers)
}

// noteWhole records that the current action uses a value with all below.
func (w *rewriter) noteWhole(names []string) {
	last := ""
	if len(names) > 0 {
		last = names[len(names)-1]
	}
	w.site.asks = w.site.asks || last == "Capabilities" || last == "Release"
	w.site.ofStep = w.site.ofStep || last == "Release"
}

// AsksStep reports whether an action of the chart asked whether this is an installation or an upgrade.
func (s *Settings) AsksStep() bool {
	return slices.ContainsFunc(s.run.sites, func(at *site) bool { return at.isRun && at.ofStep })
}

// settle records which parts did not run as a whole.
func (r *run) settle() {
	for _, s := range r.sites {
		s.part.isIdle = s.part.isIdle || !s.isRun
		s.part.asks = s.part.asks || s.isRun && s.asks
	}
	for _, t := range r.texts {
		t.part.isIdle = t.part.isIdle || !t.isRun && strings.TrimSpace(t.content) != ""
	}
}

// isNotes reports whether a part decides nothing but the notes of a release.
func (p *part) isNotes() bool {
	return path.Base(p.file) == "NOTES.txt" && p.defines == "" && !p.changes
}

// ask records that an action asks: another answer may run other actions of the file that Helm executes.
func (r *run) ask(s *site) {
	executed := s.part
	if len(r.calls) > 0 {
		executed = r.calls[0].part
	}
	if !executed.isNotes() {
		r.asked.Insert(executed)
	}
}

// Unproven returns the files of a chart whose change, or the change of a value that they read, no rendering shows as a
// whole: actions that ran ask the cluster, the clock or chance, or may run by another answer. As long as nothing
// asks, the values alone decide what runs: then what did not run is unproven in a chart of the repository, whose
// values the next change sets, and not in an archive.
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
	askedBefore := was.run.askedParts()
	names := slices.Concat(slices.Collect(maps.Keys(s.run.parts)), slices.Collect(maps.Keys(was.run.parts)))
	for _, name := range names {
		is := s.run.parts[name]
		old := was.run.parts[name]
		if is != nil && old != nil && is.content == old.content {
			continue
		}
		if s.run.isUnproven(is, asked) || was.run.isUnproven(old, askedBefore) {
			files = append(files, strings.TrimPrefix(cmp.Or(is, old).file, "/"))
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// isUnproven reports whether the rendering may not show a change of a part as a whole, or of a file that a part may read.
func (r *run) isUnproven(p *part, asked sets.Set[*part]) bool {
	switch {
	case p == nil, p.isNotes():
		return false
	case p.isFile:
		return slices.ContainsFunc(slices.Collect(maps.Values(r.parts)), func(of *part) bool {
			return of.files && r.isUnproven(of, asked)
		})
	}
	return p.asks || p.isIdle && (asked.Has(p) || !strings.Contains(p.file, ".tgz"))
}

// askedParts returns the parts of which another answer may run more: the files in which an action asked, with all that
// they may call.
func (r *run) askedParts() sets.Set[*part] {
	asked := sets.Set[*part]{}
	rest := r.asked.UnsortedList()
	textsName := r.valuesNameTemplates()
	for len(rest) > 0 {
		p := rest[0]
		rest = rest[1:]
		if asked.Has(p) {
			continue
		}
		asked.Insert(p)
		for _, other := range r.parts {
			mayCall := p.changes || p.callsAny || p.evaluates && (other.defines != "" || textsName)
			isBeside := func(end string) bool { return strings.HasSuffix(other.name, end) }
			if mayCall || slices.Contains(p.calls, other.name) || slices.Contains(p.calls, other.defines) ||
				slices.ContainsFunc(p.callsBeside, isBeside) {
				rest = append(rest, other)
			}
		}
	}
	return asked
}

// valuesNameTemplates reports whether a text in the values may call a template by its path.
func (r *run) valuesNameTemplates() (may bool) {
	each(r.values, func(_ []string, value any) {
		text, _ := value.(string)
		may = may || strings.Contains(text, "{{") && strings.Contains(text, "emplate")
	})
	return may
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
