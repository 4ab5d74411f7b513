package effect

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
)

// TestEffectsAreInTheOrderOfAReview has the effects of one, in their order.
func TestEffectsAreInTheOrderOfAReview(t *testing.T) {
	of := func(what kind.Sentence, name string, e Effect) Effect {
		e.What = what
		e.Object = manifest.ID{Kind: "ConfigMap", Namespace: "shop", Name: name}
		return e
	}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ordered := []Effect{
		of("gives any right", "z", Effect{Rank: IsRisk, Severity: Utmost}),
		of("loses data", "z", Effect{Rank: IsRisk, Severity: Grave}),
		of("is refused", "z", Effect{Rank: IsKnown, Effect: kind.Effect{Type: ObjectRefused}}),
		of("is serious", "z", Effect{Rank: IsRisk, Severity: Serious}),
		of("is slight", "z", Effect{Rank: IsRisk, Severity: Slight}),
		of("is unknown", "a", Effect{Rank: IsUnknown}),
		of("is unknown, by name", "b", Effect{Rank: IsUnknown}),
		of("is known", "z", Effect{Rank: IsKnown}),
		of("is known, and later", "a", Effect{Rank: IsKnown, Effect: kind.Effect{Time: &noon}}),
		of("is a list", "a", Effect{Rank: IsKnown, Effect: kind.Effect{Type: RenderedFollow}}),
	}
	mixed := slices.Clone(ordered)
	slices.Reverse(mixed)
	slices.SortFunc(mixed, Compare)
	for i, e := range mixed {
		if e.What != ordered[i].What {
			t.Errorf("%d: %q, want %q", i, e.What, ordered[i].What)
		}
	}
}

// TestRisksAddUp adds a risk to an effect. The graver severity counts.
func TestRisksAddUp(t *testing.T) {
	for name, test := range map[string]struct {
		was      kind.Effect
		add      Severity
		risk     kind.Sentence
		severity Severity
	}{
		"to none":             {kind.Effect{}, Slight, "is bad", Slight},
		"to one":              {kind.Effect{Risk: "is old"}, Serious, "is old; is bad", Serious},
		"to a graver type":    {kind.Effect{Type: VolumesLost, Risk: "is old"}, Slight, "is old; is bad", Grave},
		"to a slighter type":  {kind.Effect{Type: ProbeRemoved, Risk: "is old"}, Utmost, "is old; is bad", Utmost},
		"its own type stands": {kind.Effect{Type: VolumesLost}, Slight, "is bad", Slight},
	} {
		e := Effect{Effect: test.was}
		e.AddRisk("is bad", test.add)
		if e.Risk != test.risk || e.Severity != test.severity {
			t.Errorf("%s: %q of severity %d, want %q of %d", name, e.Risk, e.Severity, test.risk, test.severity)
		}
	}
}

// TestJudgedEffectsHaveARank has effects as the rules find them.
func TestJudgedEffectsHaveARank(t *testing.T) {
	for name, test := range map[string]struct {
		found    Effect
		rank     Rank
		severity Severity
	}{
		"nobody ranks it":            {Effect{}, IsUnknown, 0},
		"a rule ranks it":            {Effect{Rank: IsKnown}, IsKnown, 0},
		"a risk is more than a rank": {Effect{Rank: IsKnown, Effect: kind.Effect{Risk: "is bad"}}, IsRisk, Serious},
		"a type has a severity":      {Effect{Effect: kind.Effect{Type: ConfigChanged, Risk: "is bad"}}, IsRisk, Slight},
		"an effect has its own":      {Effect{Severity: Utmost, Effect: kind.Effect{Type: ConfigChanged, Risk: "is bad"}}, IsRisk, Utmost},
	} {
		if got := test.found.Judged(); got.Rank != test.rank || got.Severity != test.severity {
			t.Errorf("%s: %s of severity %d", name, got.Rank, got.Severity)
		}
	}
}

func TestEqualEffectsOfAnObjectAreToldOnce(t *testing.T) {
	a := manifest.ID{Kind: "Pod", Name: "a"}
	b := manifest.ID{Kind: "Pod", Name: "b"}
	restarts := kind.Effect{Type: WorkloadRolled, What: "restarts"}
	grows := kind.Effect{Type: WorkloadScaled, What: "grows"}
	got := Once(slices.Concat(Of(a, restarts, grows, restarts), Of(b, restarts)))
	want := slices.Concat(Of(a, restarts, grows), Of(b, restarts))
	isSame := func(x, y Effect) bool { return x.Object == y.Object && x.What == y.What }
	if !slices.EqualFunc(got, want, isSame) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestListsCountWhatTheyOmit(t *testing.T) {
	for want, values := range map[kind.Sentence][]string{
		"":                        nil,
		"\x00a\x00":               {"a"},
		"\x00a\x00, \x00\"\"\x00": {"a", ""},
		"\x00a\x00, \x00b\x00, \x00c\x00, \x00d\x00 and 2 more": {"a", "b", "c", "d", "e", "f"},
	} {
		if got := Quote(values); got != want {
			t.Errorf("%q: %q, want %q", values, got, want)
		}
	}
}

func field(path string, before, after *string) compare.FieldChange {
	return compare.FieldChange{Path: path, Before: before, After: after}
}

func TestChangesOfFieldsSayBothValues(t *testing.T) {
	for want, f := range map[string]compare.FieldChange{
		"spec.a: 1 → 2":             field("spec.a", ptr.To("1"), ptr.To("2")),
		"spec.a: unset → 2":         field("spec.a", nil, ptr.To("2")),
		"spec.a: 1 → unset":         field("spec.a", ptr.To("1"), nil),
		`spec.a: "unset" → unset`:   field("spec.a", ptr.To(`"unset"`), nil),
		`spec.a: "a" → "\u0430"`:    field("spec.a", ptr.To("a"), ptr.To("\u0430")), // they look the same
		"spec.a[web].b: true → yes": field("spec.a[web].b", ptr.To("true"), ptr.To("yes")),
	} {
		if got := SayChange(f).Plain(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestManyFieldsAreCountedByBranch has four fields, and the number of them that may be told.
func TestManyFieldsAreCountedByBranch(t *testing.T) {
	fields := []compare.FieldChange{
		field("spec.a.b", nil, ptr.To("1")), field("spec.a.c", nil, ptr.To("2")),
		field("spec.d", nil, ptr.To("3")), field("status", nil, ptr.To("4")),
	}
	for most, want := range map[int]string{
		4: "spec.a.b: 1; spec.a.c: 2; spec.d: 3; status: 4",
		3: "spec.a (2 fields); spec.d: 3; status: 4",
		2: "spec (3 fields); status: 4",
	} {
		if got := SayFields(fields, most, sayValue).Plain(); got != want {
			t.Errorf("at most %d: %s, want %s", most, got, want)
		}
	}
}

// TestEffectClaimsItsFields has an added and a changed object.
func TestEffectClaimsItsFields(t *testing.T) {
	object := &unstructured.Unstructured{}
	added := []compare.FieldChange{field("data.a", nil, ptr.To("1"))}
	changed := []compare.FieldChange{field("data.a", ptr.To("1"), ptr.To("2")), field("data.b", nil, ptr.To("3"))}
	for want, test := range map[string]struct {
		change compare.Change
		fields []compare.FieldChange
	}{
		"is added":                {compare.Change{After: object}, nil},
		"is added with data.a: 1": {compare.Change{After: object}, added},
		"changes data.a: 1 → 2; data.b: unset → 3": {compare.Change{Before: object, After: object}, changed},
	} {
		e := OfFields(test.change, test.fields, nil)
		if e.What.Plain() != want || len(e.Fields) != len(test.fields) {
			t.Errorf("%q claims %q, want %q", e.What.Plain(), e.Fields, want)
		}
	}
}

// TestRiskyFieldsAreToldOneByOne has more fields of a new object than are told.
func TestRiskyFieldsAreToldOneByOne(t *testing.T) {
	var fields []compare.FieldChange
	for _, name := range "abcdefghijklmnopqrst" {
		fields = append(fields, field("data."+string(name), nil, ptr.To("1")))
	}
	e := OfFields(compare.Change{After: &unstructured.Unstructured{}}, fields, sets.New("data.k"))
	if got := e.What.Plain(); got != "is added with data.k: 1; data (19 fields)" {
		t.Error(got)
	}
}
