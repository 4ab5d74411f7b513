package verdict

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/zone"
)

// FuzzSchedule compares render with the controller. Both accept the same schedules, except that the
// controller does not check time zones and their offsets.
func FuzzSchedule(f *testing.F) {
	for _, schedule := range []string{
		"2027-01-01T00:00:00Z", "2027-01-01T00:00:00.123+23:59", "2027-01-01T00:00:00-00:00", "2027-01-01T00:00:00.123456789-11:30",
		"2027-12-31T23:59:60Z", "2027-01-01t00:00:00z", "2027-01-01T00:00:00z", "2027-01-01 00:00:00Z", "2027-01-01T24:00:00Z", "2027-01-01T00:60:00Z", "2027-01-01T0:00:00Z",
		"2027-01-01T00:00:00", "2027-01-01T00:00:00,5Z", "2027-01-01T00:00:00.Z", "2027-01-01T00:00:00.1234567890Z", "2027-01-01T00:00:00+24:00", "2027-01-01T00:00:00+0100", "2027-01-01T00:00:00+01",
		"2027-02-29T00:00:00Z", "2028-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2027-00-01T00:00:00Z", "2027-04-31T00:00:00Z", "02027-01-01T00:00:00Z", " 2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z\n", "tomorrow", "",
		"0000-02-29T24:00:00-24:00", "0000-02-29T00:00:00Z", "0000-12-31T23:59:59-01:00", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.999999999Z", "0001-01-01T00:00:01Z", "0001-01-01T00:00:00-00:01",
		"0001-01-01T01:00:00+01:00", "0001-01-01T00:59:59+01:00", "0001-01-01T01:00:01+01:00", "0001-01-02T00:00:00+23:59", "0001-01-01Tx", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59-01:00",
		"9999-12-31T22:59:59.9-01:00", "9999-12-31T23:00:00-01:00", "9999-12-31T23:59:59+23:59", "9999-12-30T23:59:59-23:59", "9999-12-31T23:59:60Z", "10000-01-01T00:00:00Z", "9999-12-31Tx",
		"2027-03-28T06:00:00+02:00[Europe/Berlin]", "2027-03-28T06:00:00.5Z[Etc/GMT+3]", "2027-03-28T06:00:00Z[UTC]", "0000-12-31T23:59:59-01:00[Etc/GMT+1]", "2027-02-29T00:00:00Z[UTC]", "2027-03-28T06:00:00+02:00[!Europe/Berlin]",
		"2027-03-28T06:00:00+02:00[Europe/Berlin][u-ca=hebrew]", "2027-03-28T06:00:00+02:00[u-ca=hebrew]", "2027-03-28T06:00:00+02:00[+02:00]", "2027-03-28T06:00:00Z[]", "2027-03-28T06:00:00Z[Europe/]", "2027-03-28T06:00:00Z[UTC]]", "2027-03-28T06:00:00Z[UTC]\n", "2027-03-28T06:00:00Z[UTC", "2027-03-28T06:00:00ZUTC]",
	} {
		f.Add(schedule)
	}
	known, _ := embeddedKinds(gatehouse.All(), apiserver.Newest)
	kind := known[cnatv1alpha1.SchemeGroupVersion.WithKind(cnatv1alpha1.KindAt)]
	f.Fuzz(func(t *testing.T, schedule string) {
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "cnat.programming-kubernetes.info/v1alpha1", "kind": "At",
			"metadata": map[string]any{"name": "a"},
			"spec":     map[string]any{"schedule": schedule, "command": "date"},
		}}
		_, refused := kind.check(manifest.Object{Unstructured: o})
		_, err := at.Schedule(cnatv1alpha1.AtSpec{Schedule: schedule})
		if isRight := err == nil && zone.Check(schedule) == "" && len(schedule) <= 80; isRight != (len(refused) == 0) {
			t.Errorf("render says %v, the controller %v", refused, err)
		}
	})
}
