package review

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/test/changes"
)

// A comment is never too long, closes each fold, and counts omitted risks. Tables
// come before diffs.
func TestCommentsFit(t *testing.T) {
	r := &Review{}
	for i := range 12 {
		e := EnvironmentReview{Name: fmt.Sprintf("env-%d", i), Counts: Counts{compare.Added: i}}
		for j := range i {
			o := manifest.ID{Kind: "ConfigMap", Namespace: "n", Name: fmt.Sprintf("map-%d-%d", i, j)}
			effect := effect.Effect{Object: o, Effect: kind.Effect{What: kind.Say("happens %d", i*j)}}
			if j%3 == 0 {
				effect.Risk = "is bad"
			}
			e.Effects = append(e.Effects, effect)
			e.Changes = append(e.Changes, Change{Action: compare.Added, Object: o, Diff: strings.Repeat("+"+strings.Repeat("`", j)+"\n", i*j)})
		}
		r.Environments = append(r.Environments, e)
	}
	const command, risks = "render diff", 26
	all := r.Markdown(1<<30, command)
	if strings.Contains(all, command) || strings.Count(all, "<br>**is bad**") != risks {
		t.Error(all)
	}
	for limit := 600; limit < len(all); limit += 37 {
		comment := r.Markdown(limit, command)
		if len(comment) > limit {
			t.Fatalf("%d bytes of %d", len(comment), limit)
		}
		if !strings.HasPrefix(comment, Marker+"\n") || !strings.HasSuffix(comment, "`render diff -o json` all effects.\n") {
			t.Fatalf("at %d bytes: begins or ends otherwise:\n%s", limit, comment)
		}
		if opened, closed := strings.Count(comment, "<details>"), strings.Count(comment, "</details>"); opened != closed {
			t.Fatalf("at %d bytes: %d folds are opened, %d closed", limit, opened, closed)
		}
		lacks := risks - strings.Count(comment, "<br>**is bad**")
		if strings.Contains(comment, "It omits "+string(kind.Count(int64(lacks), "risk"))) != (lacks > 0) || lacks > 0 && strings.Contains(comment, "<details>") {
			t.Fatalf("at %d bytes: omits %d risks:\n%s", limit, lacks, comment)
		}
	}
}

// The errors of a change that does not render are there, or the command that shows them.
func TestFailureFits(t *testing.T) {
	var problems []manifest.Problem
	for i := range 100 {
		problems = append(problems, manifest.Problem{File: "a.yaml", Line: i, Message: "is wrong ```` `"})
	}
	all := (&Review{}).Failure(problems, 1<<20, "render diff")
	if strings.Contains(all, "shows all") || !strings.HasSuffix(all, "\na.yaml:99: is wrong ```` `\n`````\n") {
		t.Error(all)
	}
	frame := FrameReview{FrameChange: compare.FrameChange{File: ".sourceignore", Action: compare.Added, Risk: "is bad"}}
	if got := (&Review{Frame: []FrameReview{frame}}).Failure(problems, 1<<20, "render diff"); !strings.HasPrefix(got, Marker+"\n### ❌ Does not render: 100 errors\n") || !strings.Contains(got, "| `.sourceignore` | added<br>**is bad** |\n") {
		t.Error(got)
	}
	if got := (&Review{Frame: slices.Repeat([]FrameReview{frame}, 1000)}).Failure(problems, 8000, "render diff"); len(got) > 8000 || !strings.Contains(got, "It omits ") {
		t.Error(got)
	}
	if same := (&Review{}).Failure(problems, len(all), "render diff"); same != all {
		t.Error(same)
	}
	if cut := (&Review{}).Failure(problems, len(all)-1, "render diff"); !strings.HasSuffix(cut, "100 errors\n\n`render diff` shows all errors.\n") {
		t.Error(cut)
	}
}

func TestCommentWithoutChanges(t *testing.T) {
	unchanged := compare.Differences{}.With(compare.Facts{Name: "prod"})
	r := New(&compare.Diff{Environments: []*compare.Comparison{unchanged}}, time.Now())
	if got := r.Markdown(1000, ""); got != Marker+"\nNo change to any cluster.\n" {
		t.Error(got)
	}
	encoded, err := json.Marshal(r)
	if err != nil || string(encoded) != `{"environments":[]}` {
		t.Errorf("%s %v", encoded, err)
	}
	newer := compare.Differences{Kinds: gatehouse.All(), Kubernetes: &compare.KubernetesChange{}}.With(compare.Facts{Name: "prod"})
	r = New(&compare.Diff{Environments: []*compare.Comparison{newer}}, time.Now())
	if encoded, err := json.Marshal(r); err != nil || !strings.Contains(string(encoded), `"effects":[]`) {
		t.Errorf("%s %v", encoded, err)
	}
	r = New(&compare.Diff{Environments: []*compare.Comparison{unchanged}}, time.Now())
	r.Frame = around([]compare.FrameChange{{File: "a|`b`\n@c", Action: compare.Added, Risk: "is bad"}, {File: "b|c"}})
	const want = "⚠️ 1 risk, ``a\\|`b`\\n@c`` first; 2 files beside the environments.\n\n### Around the review · ⚠️ 1 risk\n\n| | File | What happens |\n|-|-|-|\n| ⚠️ | ``a\\|`b`\\n@c`` | added<br>**is bad** |\n\nNo environment shows a change.\n\n1 other file changed: `b\\|c`\n\n"
	if got := r.Markdown(1000, ""); got != Marker+"\n"+want {
		t.Error(got)
	}
	for want, c := range map[string]compare.FrameChange{
		"No environment shows a change.": {File: "values.txt"},
		"No change to any cluster.":      {File: "README.md", IsOrdinary: true},
	} {
		r.Frame = around([]compare.FrameChange{c})
		if got := r.Markdown(1000, ""); !strings.Contains(got, want) {
			t.Errorf("%s: want %s: %s", c.File, want, got)
		}
	}
}

func TestTitlesSayWhatChanges(t *testing.T) {
	version := &compare.KubernetesChange{Before: "1.34", After: "1.35"}
	changed := Counts{compare.Changed: 2, compare.Added: 0}
	for want, environments := range map[string][]EnvironmentReview{
		"### `a`: 2 changed\n":                                            {{Name: "a", Counts: changed}},
		"### `a`: 2 changed, the whole environment\n":                     {{Name: "a", Counts: changed, IsGone: true}},
		"### `a`: for Kubernetes 1.35, before for Kubernetes 1.34\n":      {{Name: "a", Counts: Counts{}, Kubernetes: version}},
		"### `a`, `b`: for Kubernetes 1.35, before for Kubernetes 1.34\n": {{Name: "a", Kubernetes: version}, {Name: "b", Kubernetes: version}},
		"### `a`, `b`: 2 changed in each, for Kubernetes 1.35, before":    {{Name: "a", Counts: changed, Kubernetes: version}, {Name: "b", Counts: changed, Kubernetes: version}},
	} {
		if got := (&Review{Environments: environments}).Markdown(10000, ""); !strings.Contains(got, "\n\n"+want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// reviewOfSizes returns a review of ConfigMaps with a row and a diff of the given sizes. The last object has
// a risk.
func reviewOfSizes(environment string, rows, diffs []int) EnvironmentReview {
	e := EnvironmentReview{Name: environment, Counts: Counts{compare.Changed: len(rows)}}
	for i := range rows {
		o := manifest.ID{Kind: "ConfigMap", Namespace: "n", Name: fmt.Sprintf("map-%d", i)}
		effect := effect.Effect{Object: o, Effect: kind.Effect{What: kind.Sentence(strings.Repeat("x", rows[i])) + kind.Say(" %d", i)}}
		if i == len(rows)-1 {
			effect.Risk = "is bad"
		}
		e.Effects = append(e.Effects, effect)
		if diffs != nil {
			e.Changes = append(e.Changes, Change{Action: compare.Changed, Object: o, Diff: fmt.Sprintf("+%d ", i) + strings.Repeat("+\n", diffs[i])})
		}
	}
	return e
}

// The texts of a comment must be in this order.
func TestCutCommentsKeepTheHighestRanks(t *testing.T) {
	for name, test := range map[string]struct {
		environments  []EnvironmentReview
		has, lacks    []string
		frame, length int
	}{
		"a large diff": {
			environments: []EnvironmentReview{reviewOfSizes("prod", []int{9, 9, 9}, []int{5000, 20, 10})},
			has:          []string{"map-0", "map-1", "map-2", "2 of 3 diffs", "+2 +", "+1 +", "\nWithout a diff:\n\n- `ConfigMap n/map-0` (5000 lines)\n", "is cut. `cmd` shows"},
			lacks:        []string{"Without a row", "+0 +"},
		},
		"a large diff with a risk": {
			environments: []EnvironmentReview{reviewOfSizes("prod", []int{9, 9, 9}, []int{20, 10, 5000})},
			has:          []string{"2 of 3 diffs", "+1 +", "+0 +", "\nWithout a diff:\n\n- ⚠️ `ConfigMap n/map-2` (5000 lines)\n"},
		},
		"a large row": {
			environments: []EnvironmentReview{reviewOfSizes("prod", []int{9, 9000, 9}, []int{10, 5000, 10})},
			has:          []string{"`ConfigMap n/map-1` | an effect that is too long for this comment |", "**is bad**", "2 of 3 diffs", "+2 +", "+0 +", "\nWithout a diff:\n\n- `ConfigMap n/map-1` (5000 lines)\n"},
			lacks:        []string{"Without a row", "It omits"},
		},
		"a large row with a risk": {
			environments: []EnvironmentReview{reviewOfSizes("prod", []int{9, 9, 9000}, []int{10, 10, 10})},
			has:          []string{"map-0", "`ConfigMap n/map-2` | an effect that is too long for this comment<br>**is bad** |", "3 diffs"},
			lacks:        []string{"Without a row", "Without a diff", "It omits"},
		},
		"many rows": {
			environments: []EnvironmentReview{reviewOfSizes("prod", []int{3000, 3000, 3000, 3000}, []int{1, 1, 1, 1})},
			has:          []string{"map-0", "**is bad**", "\nWithout a row:\n\n- ❔ `ConfigMap n/map-1`\n- ❔ `ConfigMap n/map-2`\n", "\nWithout a diff:\n\n- 4 objects\n", "is cut. It omits 2 unknown effects. `cmd`"},
			lacks:        []string{"<details>"},
		},
		"many large diffs": { // every object is in the list, and makes room for itself
			environments: []EnvironmentReview{reviewOfSizes("prod", slices.Repeat([]int{1}, 60), slices.Repeat([]int{45}, 60))},
			has:          []string{"map-0", "map-58", "Without a diff:\n\n- `ConfigMap n/map-", "- `ConfigMap n/map-58` (45 lines)\n\nThis comment"},
			lacks:        []string{"Without a row", " more\n"},
		},
		"two environments": {
			environments: []EnvironmentReview{reviewOfSizes("dev", []int{9, 9}, []int{5000, 1}), reviewOfSizes("prod", []int{9, 9, 9}, []int{6000, 1, 2})},
			has: []string{
				"### `dev`", "### `prod`", "1 of 2 diffs", "+1 +", "2 of 3 diffs", "+2 +", "+1 +",
				"\nWithout a diff:\n\n- `ConfigMap n/map-0` of `dev` (5000 lines)\n- `ConfigMap n/map-0` of `prod` (6000 lines)\n",
			},
		},
		"backticks": {
			environments: []EnvironmentReview{{Name: "prod", Effects: []effect.Effect{}, Changes: []Change{
				{Object: manifest.ID{Kind: "A", Name: "a"}, Diff: strings.Repeat("`", 3000) + "\n"}, {Object: manifest.ID{Kind: "B", Name: "b"}, Diff: strings.Repeat("+\n", 2000)},
			}}},
			has:   []string{"1 of 2 diffs", "\nWithout a diff:\n\n- `A a` (1 line)\n"},
			lacks: []string{"It omits"},
		},
		"a flood of files": {
			environments: []EnvironmentReview{reviewOfSizes("prod", []int{9}, []int{1})},
			frame:        1000,
			has:          []string{"### Around the review · ⚠️ 1000 risks", "`file-0`", "Without a row:\n\n- ⚠️ `file-", " more\n", "It omits "},
			lacks:        []string{"<details>"},
		},
	} {
		r := &Review{Environments: test.environments}
		for i := range test.frame {
			file := compare.FrameChange{File: fmt.Sprintf("file-%d", i), Action: compare.Added, Risk: "is bad"}
			r.Frame = append(r.Frame, FrameReview{FrameChange: file})
		}
		const limit = 8000
		comment := r.Markdown(limit, "cmd")
		if len(comment) > limit || strings.Count(comment, "<details>") != strings.Count(comment, "</details>") {
			t.Errorf("%s: %d bytes: %s", name, len(comment), comment)
		}
		rest := comment
		for _, want := range test.has {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Errorf("%s: lacks %s in its place: %s", name, want, comment)
			}
			rest = after
		}
		for _, text := range test.lacks {
			if strings.Contains(comment, text) {
				t.Errorf("%s: has %s: %s", name, text, comment)
			}
		}
	}
}

// A cut comment keeps the risks of a row before its other effects.
func TestEffectsOnAnObjectShareARow(t *testing.T) {
	o := manifest.ID{Kind: "ConfigMap", Namespace: "n", Name: "a"}
	e := EnvironmentReview{Name: "prod", Counts: Counts{}}
	for _, found := range []kind.Effect{{What: "changes a", Risk: "is bad"}, {What: "changes b", Risk: "is worse"}, {What: kind.Sentence(strings.Repeat("x", 1000))}} {
		e.Effects = append(e.Effects, effect.Effect{Object: o, Effect: found})
	}
	const risks = "| ⚠️ | `ConfigMap n/a` | changes a<br>**is bad**<br>changes b<br>**is worse**"
	r := &Review{Environments: []EnvironmentReview{e}}
	if got := r.Markdown(5000, "cmd"); !strings.Contains(got, " · ⚠️ 2 risks\n") || !strings.Contains(got, risks+"<br>xxx") {
		t.Error(got)
	}
	if got := r.Markdown(1000, "cmd"); !strings.Contains(got, risks+" |\n") || !strings.Contains(got, "This comment is cut. It omits 1 unknown effect. `cmd`") || strings.Contains(got, "Without a row") {
		t.Error(got)
	}
}

// Namespaces with the name of the environment make no other rows. Others do.
func TestEnvironmentsThatDifferByNameShareATable(t *testing.T) {
	of := func(name, namespace string) EnvironmentReview {
		before := strings.ReplaceAll("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NS}, data: {host: a.NS.example.com}}", "NS", namespace)
		e := changes.Between(t, before, strings.Replace(before, "host: a", "host: b", 1)).With(compare.Facts{Name: name})
		return New(&compare.Diff{Environments: []*compare.Comparison{e}}, time.Time{}).Environments[0]
	}
	for _, test := range []struct {
		environments  []EnvironmentReview
		tables, diffs int
	}{
		{[]EnvironmentReview{of("eu", "eu"), of("us", "us"), of("clusters/asia", "asia")}, 1, 1},
		{[]EnvironmentReview{of("eu", "shop-eu"), of("us", "shop-us")}, 1, 1},
		{[]EnvironmentReview{of("eu", "shop"), of("us", "kube-system")}, 2, 2},
		{[]EnvironmentReview{of("eu", "europe"), of("us", "usrope")}, 2, 2},
	} {
		comment := (&Review{Environments: test.environments}).Markdown(10000, "cmd")
		if strings.Count(comment, "\n### ") != test.tables || strings.Count(comment, "```diff") != test.diffs {
			t.Errorf("not %d tables:\n%s", test.tables, comment)
		}
	}
}

// An environment under another name has a row that says so, and those of the objects that differ.
func TestMovedEnvironmentIsOneRow(t *testing.T) {
	const objects = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}\n---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: b, namespace: shop}}"
	const another = "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}"
	const stranger = "{apiVersion: v1, kind: ConfigMap, metadata: {name: d, namespace: shop}}"
	sync := func(path string) string {
		return "\n---\n{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: apps, namespace: flux-system}, spec: {path: " + path + "}}"
	}
	between := func(name, before, after string) *compare.Comparison {
		return changes.Between(t, before, after).With(compare.Facts{Name: name})
	}
	const risk = "<br>**what syncs `prod` finds nothing there any more** |"
	for name, test := range map[string]struct {
		all  []*compare.Comparison
		rows []string
	}{
		"equal":           {[]*compare.Comparison{between("prod", objects, ""), between("live", "", objects)}, []string{"| ⚠️ | `Environment live` | was `prod`; 0 objects differ" + risk}},
		"another object":  {[]*compare.Comparison{between("prod", objects, ""), between("live", "", objects+another)}, []string{"| ⚠️ | `Environment live` | was `prod`; 1 object differs" + risk, "`ConfigMap shop/c`"}},
		"into another":    {[]*compare.Comparison{between("prod", objects, ""), between("live", stranger, stranger+"\n---\n"+objects)}, []string{"| ⚠️ | `Environment live` | was `prod`; 0 objects differ" + risk}},
		"another folder":  {[]*compare.Comparison{between("prod", objects+sync("a"), ""), between("live", "", objects+sync("b"))}, []string{"| ⚠️ | `Environment live` | was `prod`; 0 objects differ" + risk}},
		"a copy":          {[]*compare.Comparison{between("prod", objects, objects), between("live", "", objects)}, []string{"`ConfigMap shop/a`", "`PersistentVolumeClaim shop/b`"}},
		"most is another": {[]*compare.Comparison{between("prod", objects+another, ""), between("live", "", stranger+another)}, []string{"`ConfigMap shop/d`", "`PersistentVolumeClaim shop/b`"}},
	} {
		comment := New(&compare.Diff{Environments: test.all}, time.Time{}).Markdown(10000, "cmd")
		for _, row := range test.rows {
			if !strings.Contains(comment, row) {
				t.Errorf("%s: no %s:\n%s", name, row, comment)
			}
		}
		if strings.Contains(strings.Join(test.rows, ""), "differ") && strings.Count(comment, "\n| ") != 1+len(test.rows) {
			t.Errorf("%s: not %d rows:\n%s", name, len(test.rows), comment)
		}
	}
}

// A hostile change has many objects, environments, or characters that get longer.
func TestLargeCommentsAreFast(t *testing.T) {
	const limit, most = 65536, 20 * time.Second // on a busy machine; else a tenth of a second
	sizes := slices.Repeat([]int{100}, 20000)
	large := reviewOfSizes("prod", sizes, sizes)
	unseen := reviewOfSizes("prod", sizes, sizes)
	for i := range unseen.Changes {
		unseen.Changes[i].Diff = strings.Repeat("\u200b", 100)
	}
	one := reviewOfSizes("prod", sizes, nil)
	for i := range one.Effects {
		one.Effects[i].Object = one.Effects[0].Object
	}
	var distinct, alike []EnvironmentReview
	for i := range 2000 {
		distinct = append(distinct, reviewOfSizes(fmt.Sprintf("distinct-%d", i), []int{i}, []int{1}))
		alike = append(alike, reviewOfSizes(fmt.Sprintf("alike-with-a-name-that-is-quite-long-%d", i), []int{1}, []int{1}))
	}
	for name, environments := range map[string][]EnvironmentReview{"objects": {large}, "one object": {one}, "invisible characters": {unseen}, "environments": distinct, "alike": alike} {
		start := time.Now()
		comment := (&Review{Environments: environments}).Markdown(limit, "cmd")
		if taken := time.Since(start); taken > most || len(comment) > limit || !strings.Contains(comment, "**is bad**") {
			t.Errorf("%s: %s, %d bytes", name, taken, len(comment))
		}
	}
}

// Objects that only their groups tell apart have rows and names of their own.
func TestCommentTellsGroupsApart(t *testing.T) {
	before := "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: ns}, spec: {ports: [{port: 80}]}}"
	other := "{apiVersion: serving.example.org/v1, kind: Service, metadata: {name: web, namespace: ns}, spec: {tag: a}}"
	alone := "{apiVersion: serving.example.org/v1, kind: Service, metadata: {name: api, namespace: ns}, spec: {tag: a}}"
	all := strings.Join([]string{before, other, alone}, "\n---\n")
	changed := strings.NewReplacer("80", "81", "tag: a", "tag: b").Replace(strings.Join([]string{before, other}, "\n---\n")) + "\n---\n" + strings.Replace(alone, "tag: a", "tag: c", 1)
	comment := New(&compare.Diff{Environments: []*compare.Comparison{changes.Between(t, all, changed)}}, time.Time{}).Markdown(10000, "")
	for _, row := range []string{"\n| ⚠️ | `Service ns/web` | changes `spec.ports", "\n| ❔ | `Service.serving.example.org ns/web` | changes `spec.tag`", "\n| ❔ | `Service ns/api` |"} {
		if !strings.Contains(comment, row) {
			t.Errorf("no row %q in\n%s", row, comment)
		}
	}
}

// Objects of manifests that no environment reads have their fields, risks and diffs, beside the risk of the file.
func TestAroundTellsTheFieldsOfObjects(t *testing.T) {
	source := func(name, url string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
			"metadata": map[string]any{"name": name, "namespace": "flux-system"},
			"spec":     map[string]any{"url": url},
		}}
	}
	changes := []compare.Change{{After: source("new", "a")}, {Before: source("app", "a"), After: source("app", "b")}, {Before: source("old", "b")}}
	frame := compare.FrameChange{File: "plain.yaml", Action: compare.Changed, Risk: "is bad"}
	frame.Objects = compare.Differences{Kinds: gatehouse.All(), Changes: changes}.With(compare.Facts{})
	comment := (&Review{Frame: around([]compare.FrameChange{frame})}).Markdown(10000, "cmd")
	for _, want := range []string{
		"### Around the review · ⚠️ 1 risk\n",
		"| ⚠️ | `plain.yaml` | changed<br>**is bad**<br>`GitRepository flux-system/new` is added with `spec.url`: `a`<br>",
		"<br>`GitRepository flux-system/app` changes `spec.url`: `a` → `b`<br>**it decides",
		"<br>`GitRepository flux-system/old` is removed",
		"\n\nNo environment shows a change.\n\n<details><summary>3 diffs</summary>\n",
	} {
		if !strings.Contains(comment, want) {
			t.Errorf("lacks %s: %s", want, comment)
		}
	}
}
