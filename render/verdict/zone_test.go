package verdict

import (
	"archive/zip"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/zone"
)

// The rule in the definition and zone.Check agree about each zone all year. With other clocks for
// Berlin on the machine, the rule changes and zone.Check does not.
func TestZoneRuleEqualsCheckWithSameZones(t *testing.T) {
	names := installZones(t)
	known, _ := embeddedKinds(gatehouse.All(), apiserver.Newest)
	gvk := cnatv1alpha1.SchemeGroupVersion.WithKind(cnatv1alpha1.KindAt)
	kind := known[gvk]
	properties, err := apiextensions.GetSchemaForVersion(kind.definition, gvk.Version)
	if err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(properties.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	withRule := customresource.NewStrategy(nil, true, gvk, nil, nil, structural, nil, nil, nil)
	due := func(schedule string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind, "metadata": map[string]any{"name": "a", "namespace": "a"},
			"spec": map[string]any{"schedule": schedule, "command": "date"},
		}}
	}
	const berlin = "2027-01-01T00:00:00+01:00[Europe/Berlin]"
	if _, problems := kind.check(manifest.Object{Unstructured: due(berlin)}); len(problems) > 0 {
		t.Error(problems)
	}
	if errs := withRule.Validate(context.Background(), due(berlin)); !strings.Contains(fmt.Sprint(errs), zone.Rule) {
		t.Errorf("the rule does not read the zones of the machine: %v", errs)
	}
	for i, name := range append(names, "Europe/Nowhere") {
		location, err := time.LoadLocation(name)
		if err != nil {
			location = time.UTC
		}
		for month := range 12 {
			local := time.Date(2027, time.Month(month+1), i%28+1, i%24, i%60, i%60, 0, location)
			for _, offset := range []string{local.Format("-07:00"), "+01:00", "-10:00", "+14:00", "Z", "-00:00"} {
				schedule := local.Format("2006-01-02T15:04:05") + offset + "[" + name + "]"
				errs, problem := withRule.Validate(context.Background(), due(schedule)), zone.Check(schedule)
				if (len(errs) == 0) != (problem == "") {
					t.Errorf("%s: the rule says %v, render %q", schedule, errs, problem)
				}
			}
		}
	}
}

// installZones installs the zones of render as zones of the machine, with the clocks of Tokyo for
// Europe/Berlin. It returns the names of the other zones.
func installZones(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("zone/*.zip")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	zones, err := zip.OpenReader(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = zones.Close() }()
	machine := t.TempDir()
	if err := os.CopyFS(machine, zones); err != nil {
		t.Fatal(err)
	}
	tokyo, err := fs.ReadFile(zones, "Asia/Tokyo")
	if err == nil {
		err = os.WriteFile(filepath.Join(machine, "Europe", "Berlin"), tokyo, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("ZONEINFO", machine)
	for _, f := range zones.File {
		if f.Name != "Europe/Berlin" {
			names = append(names, f.Name)
		}
	}
	return names
}
