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
	chart   string   // whose values it gets from Helm; none of a definition, which any part may call
	isFile  bool     // no template
	asks    question // by actions that ran
	isIdle  bool     // some of it did not run
	files   bool     // it may read other files of the chart
	changes bool     // it may change values that other templates read
	defines string   // the name of the definition
	// calls are the names of the templates that it calls, and callsBeside the ends of their paths. With callsAny it may
	// call any one, and with evaluates texts, which may call any definition.
	calls, callsBeside  []string
	callsAny, evaluates bool
}

// question is what actions ask of the world beside the values, which may answer a controller otherwise.
type question int

const (
	ofVersions question = 1 << iota // which Kubernetes and Helm, and which APIs
	ofStep                          // an installation or an upgrade
	ofChance                        // the clock or chance
	ofCluster                       // its objects, or the history of the release
	ofAny                           // anything, as an action uses the APIs otherwise than by Has
)

// asking are the functions, and the fields of .Release and .Capabilities, that ask.
var asking = func() map[string]question {
	all := map[string]question{
		"APIVersions": ofVersions, "HelmVersion": ofVersions, "KubeVersion": ofVersions,
		"IsInstall": ofStep, "IsUpgrade": ofStep,
		"lookup": ofCluster, "getHostByName": ofCluster, "Revision": ofCluster | ofStep,
	}
	for _, name := range []string{"now", "ago", "date", "dateInZone", "htmlDate", "htmlDateInZone",
		"randAlpha", "randAlphaNum", "randAscii", "randBytes", "randInt", "randNumeric", "shuffle", "uuidv4",
		"bcrypt", "htpasswd", "encryptAES", "genCA", "genCAWithKey", "genPrivateKey", "genSelfSignedCert",
		"genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey"} {
		all[name] = ofChance
	}
	return all
}()

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
	for _, name := range names {
		w.site.asks |= asking[name]
		if name == "APIVersions" && !w.isHas {
			w.site.asks |= ofAny
		}
		w.part.files = w.part.files || name == "Files"
		w.part.changes = w.part.changes || slices.Contains(changers, name)
	}
}

// noteWhole records that the current action uses a value with all below.
func (w *rewriter) noteWhole(names []string) {
	switch {
	case len(names) == 0:
	case names[len(names)-1] == "Capabilities":
		w.site.asks |= ofVersions
	case names[len(names)-1] == "Release":
		w.site.asks |= ofStep | ofCluster
	}
}

// AsksStep reports whether an action of the chart asked whether this is an installation or an upgrade.
func (s *Settings) AsksStep() bool {
	return slices.ContainsFunc(s.run.sites, func(at *site) bool { return at.isRun && at.asks&ofStep != 0 })
}

// settle records which parts did not run as a whole.
func (r *run) settle() {
	for _, s := range r.sites {
		s.part.isIdle = s.part.isIdle || !s.isRun
		if s.isRun {
			s.part.asks |= s.asks
		}
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
		r.asked[executed] |= s.asks
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
	const all = ofVersions | ofStep | ofChance | ofCluster | ofAny
	if files = s.unproven(was, all, all); len(files) > 0 {
		files = s.unproven(was, s.open(), was.open())
	}
	return files
}

// open returns the questions of a chart whose other answers may make other objects.
func (s *Settings) open() (open question) {
	var asks question
	for _, of := range s.run.asked {
		asks |= of
	}
	for _, of := range []question{ofVersions, ofStep, ofChance, ofCluster, ofAny} {
		if asks&of != 0 && s.trial.isOpen(of, s.run.apis, s.made) {
			open |= of
		}
	}
	return open
}

// unproven returns the files that are unproven as long as some questions are open, now and before.
func (s *Settings) unproven(was *Settings, open, openBefore question) (files []string) {
	values := changedKeys(nil, was.run.values, s.run.values)
	parts := s.run.changedParts(was.run)
	if len(values)+len(parts) == 0 {
		return nil
	}
	asked := s.run.askedParts(open)
	for _, c := range s.run.chains {
		mayBe := func(keys []string) bool { return s.run.mayBe(c, keys) }
		if !c.isRun && asked.Has(c.part) && slices.ContainsFunc(values, mayBe) {
			files = append(files, strings.TrimPrefix(c.part.file, "/"))
		}
	}
	askedBefore := was.run.askedParts(openBefore)
	for _, name := range parts {
		is := s.run.parts[name]
		old := was.run.parts[name]
		if s.run.isUnproven(is, open, asked) || was.run.isUnproven(old, openBefore, askedBefore) {
			files = append(files, strings.TrimPrefix(cmp.Or(is, old).file, "/"))
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// changedParts returns the names of the parts with another content.
func (r *run) changedParts(was *run) (names []string) {
	for name, is := range r.parts {
		if old := was.parts[name]; old == nil || is.content != old.content {
			names = append(names, name)
		}
	}
	for name := range was.parts {
		if r.parts[name] == nil {
			names = append(names, name)
		}
	}
	return names
}

// isUnproven reports whether the rendering may not show a change of a part as a whole, or of a file that a part may
// read.
func (r *run) isUnproven(p *part, open question, asked sets.Set[*part]) bool {
	switch {
	case p == nil, p.isNotes():
		return false
	case p.isFile:
		return slices.ContainsFunc(slices.Collect(maps.Values(r.parts)), func(of *part) bool {
			return of.files && r.isUnproven(of, open, asked)
		})
	}
	return p.asks&open != 0 || p.isIdle && (asked.Has(p) || !strings.Contains(p.file, ".tgz"))
}

// askedParts returns the parts of which another answer may run more: the files in which an action asked an
// open question, with all that they may call.
func (r *run) askedParts(open question) sets.Set[*part] {
	asked := sets.Set[*part]{}
	var rest []*part
	for p, asks := range r.asked {
		if asks&open != 0 {
			rest = append(rest, p)
		}
	}
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
