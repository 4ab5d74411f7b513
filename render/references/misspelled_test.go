package references

import "testing"

func TestSeriesAreNoMisspellings(t *testing.T) {
	for _, test := range []struct {
		name, known string
		want        bool
	}{
		{"settngs", "settings", true},
		{"wbeserver", "webserver", true},
		{"g0", "go", true},
		{"red1s", "redls", true},
		{"configmap", "config-map", true},
		{"web-confg", "web-config", true},
		{"grafana-dashbordss", "grafana-dashboards", true},
		{"web-1", "web-2", false},
		{"web2", "web", false},
		{"cache-a", "cache-b", false},
		{"db-eu-west", "db-eu-east", false},
		{"api-http", "api-https", false},
		{"internal", "external", false},
		{"web-api", "web-app", false},
		{"web", "wab", false},
		{"settings", "settings-b", false},
		{"aplha-confg", "alpha-config", false},
	} {
		if got := Misspelled(test.name, []string{"other", test.known}) == test.known; got != test.want {
			t.Errorf("%s and %s: %t, want %t", test.name, test.known, got, test.want)
		}
	}
}
