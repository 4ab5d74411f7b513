package selector

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func parse(t *testing.T, text string) Selector {
	t.Helper()
	parsed, err := metav1.ParseToLabelSelector(text)
	if err != nil {
		t.Fatal(err)
	}
	s, ok := Read(parsed)
	if !ok {
		t.Fatalf("%s is not valid", text)
	}
	return s
}

// TestSelectorCoversThoseThatRequireMore has selectors by their text. The empty one selects everything.
func TestSelectorCoversThoseThatRequireMore(t *testing.T) {
	for _, test := range []struct {
		wide, narrow string
		isCovered    bool
	}{
		{"", "app=web", true},
		{"app=web", "", false},
		{"app=web", "app=web", true},
		{"app=web", "tier=front,app=web", true},
		{"tier=front,app=web", "app=web", false},
		{"app=web", "app=api", false},
		{"!legacy", "app=web,!legacy", true},
		{"app in (web,api)", "app in (api,web)", true},
		{"app in (web,api)", "app=web", false}, // it does, and no text says so
	} {
		wide := parse(t, test.wide)
		narrow := parse(t, test.narrow)
		if got := wide.Covers(&narrow); got != test.isCovered {
			t.Errorf("%q covers %q: %t", test.wide, test.narrow, got)
		}
	}
}

// TestSelectorCostsByItsRequirements has selectors in the order of their cost.
func TestSelectorCostsByItsRequirements(t *testing.T) {
	cost := 0
	for _, text := range []string{"", "app", "app,tier=front", "app in (a,b,c,d),tier=front"} {
		s := parse(t, text)
		if s.Cost <= cost {
			t.Errorf("%q costs %d, the one before %d", text, s.Cost, cost)
		}
		cost = s.Cost
	}
}

func TestInvalidSelectorIsNotRead(t *testing.T) {
	if s, ok := Read(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "not a value"}}); ok {
		t.Errorf("%v", s)
	}
}

// TestBudgetRefusesWhatItLacks spends steps one after the other. A refused number takes none.
func TestBudgetRefusesWhatItLacks(t *testing.T) {
	b := Budget{Steps: 10}
	for _, test := range []struct {
		steps      int
		isSpent    bool
		left       int
		isExceeded bool
	}{
		{4, true, 6, false},
		{6, true, 0, false},
		{0, true, 0, false},
		{1, false, 0, true},
		{0, true, 0, true}, // it stays exceeded
	} {
		if got := b.Spend(test.steps); got != test.isSpent || b.Steps != test.left || b.IsExceeded != test.isExceeded {
			t.Errorf("%d steps: %t, then %+v", test.steps, got, b)
		}
	}
}
