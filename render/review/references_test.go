package review

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/references"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/test/changes"
)

func TestReviewNamesBrokenReferences(t *testing.T) {
	const (
		pod       = `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: ns}, spec: {containers: [{name: c, image: i, env: [{name: E, valueFrom: {configMapKeyRef: {name: CONFIG, key: host}}}]}]}}`
		config    = `{apiVersion: v1, kind: ConfigMap, metadata: {name: CONFIG, namespace: ns}, data: {KEY: x, other: x}}`
		route     = `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i, namespace: ns}, spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}}`
		backend   = `{apiVersion: v1, kind: Service, metadata: {name: s, namespace: ns}, spec: {selector: {a: b}, ports: [{port: PORT}]}}`
		service   = `{apiVersion: v1, kind: Service, metadata: {name: s, namespace: ns}, spec: {selector: {a: b}, ports: [{port: 80, targetPort: web}]}}`
		workload  = `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: ns, labels: {a: b}}, spec: {containers: [{name: c, image: i, ports: [{name: PORT, containerPort: 80}]}]}}`
		noTarget  = "Service ns/s: needs port web in spec.ports[0].targetPort (no container of Pod ns/a has a port web)"
		noKey     = "Pod ns/a: needs key host of ConfigMap ns/b (ConfigMap ns/b has no key host: no new Pod starts)"
		noPort    = "Ingress ns/i: needs port 80 of Service ns/s (Service ns/s has no port 80)"
		noService = "Ingress ns/i: names Service ns/s in spec.defaultBackend.service.name (Service ns/s is removed)"
	)
	with := func(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }
	for _, test := range []struct {
		name, before, after string
		want                []string
	}{
		{"a renamed key, and a new hash", with(pod, "CONFIG", "a") + "\n---\n" + with(config, "CONFIG", "a", "KEY", "host"),
			with(pod, "CONFIG", "b") + "\n---\n" + with(config, "CONFIG", "b", "KEY", "hots"), []string{noKey}},
		{"broken before", with(pod, "CONFIG", "a") + "\n---\n" + with(config, "CONFIG", "a", "KEY", "hots"),
			with(pod, "CONFIG", "b") + "\n---\n" + with(config, "CONFIG", "b", "KEY", "hots"), nil},
		{"a config elsewhere", with(pod, "CONFIG", "a") + "\n---\n" + with(config, "CONFIG", "a", "KEY", "host"),
			with(pod, "CONFIG", "b") + "\n---\n" + with(config, "CONFIG", "a", "KEY", "host"), nil},
		{"another port", route + "\n---\n" + with(backend, "PORT", "80"), route + "\n---\n" + with(backend, "PORT", "81"),
			[]string{noPort}},
		{"a renamed port of a container", service + "\n---\n" + with(workload, "PORT", "web"),
			service + "\n---\n" + with(workload, "PORT", "http"), []string{noTarget}},
		{"a port that was never there", service + "\n---\n" + with(workload, "PORT", "http"),
			service + "\n---\n" + with(workload, "PORT", "https"), nil},
		{"a removed Service", route + "\n---\n" + with(backend, "PORT", "80"), route, []string{noService}},
		{"a Service that was never there", route, route, nil},
		{"removed with its user", route + "\n---\n" + with(backend, "PORT", "80"), "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, e := range effects(changes.Between(t, test.before, test.after), time.Time{}) {
				if e.Type == effect.ReferenceBroken {
					got = append(got, e.Object.String()+": "+e.What.Plain()+" ("+e.Risk.Plain()+")")
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// A nameReference of a kustomization counts as the fields of the table.
func TestReviewNamesBrokenReferencesOfConfigurations(t *testing.T) {
	const widget = `{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: ns}, spec: {settings: s}}`
	e := changes.Between(t, widget+"\n---\n{apiVersion: v1, kind: Service, metadata: {name: s, namespace: ns}}", widget)
	e = e.With(compare.Facts{Name: e.Name, NameReferences: []references.Configured{{From: resid.Gvk{Kind: "Widget"}, To: resid.Gvk{Kind: "Service"}, Path: []string{"spec", "settings"}}}})
	want := "Widget ns/a: names Service ns/s in spec.settings | Service ns/s is removed"
	if got := changes.Lines(effects(e, time.Time{})); !slices.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
