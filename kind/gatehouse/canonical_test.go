package gatehouse

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/canonical"
	"example.com/gatehouse/kind/memcached"
)

const plainAt = `{schedule: "2027-01-01T00:00:00Z", command: date, image: "busybox:1.37", restartPolicy: OnFailure`

// Each line has spellings of one spec.
func TestSpellingsOfSpecShareDigest(t *testing.T) {
	checkDigests(t, [][]string{
		{``, `, env: []`, `, envFrom: []`, `, resources: {}`, `, resources: {limits: {}}`, `, resources: {limits: {}, requests: {}, claims: []}`, `, serviceAccountName: ""`, `, suspend: false`},
		{`, resources: {limits: {memory: 1Gi}}`, `, resources: {limits: {memory: 1Gi}, requests: {}}`, `, resources: {limits: {memory: 1073741824}}`, `, resources: {limits: {memory: "1024Mi"}}`, `, resources: {limits: {memory: "1073741824000m"}}`},
		{`, resources: {requests: {cpu: 500m}}`, `, resources: {requests: {cpu: 0.5}}`, `, resources: {requests: {cpu: ".5"}}`, `, resources: {requests: {cpu: "+500m"}}`, `, resources: {requests: {cpu: 5E-1}}`},
		{`, resources: {requests: {cpu: 1000}}`, `, resources: {requests: {cpu: 1k}}`, `, resources: {requests: {cpu: "1E3"}}`, `, resources: {requests: {cpu: "1000000m"}}`},
		{`, resources: {limits: {memory: 64M}}`, `, resources: {limits: {memory: 62500Ki}}`, `, resources: {limits: {memory: 64e6}}`},
		{`, resources: {limits: {cpu: 0}}`, `, resources: {limits: {cpu: "0Gi"}}`, `, resources: {limits: {cpu: "0m"}}`},
		{
			`, env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory}}}]`,
			`, env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 0}}}]`,
			`, env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: "1"}}}]`,
			`, env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1000m}}}]`,
		},
		{
			`, env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}]`,
			`, env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1048576}}}]`,
		},
		{`, env: [{name: A}]`, `, env: [{name: A, value: ""}]`},
		{`, env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]`, `, env: [{name: A, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}}]`},
		{`, env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: k}}}]`, `, env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: k, optional: false}}}]`},
		{`, env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: k, optional: true}}}]`},
		{`, env: [{name: A, valueFrom: {configMapKeyRef: {name: a, key: k}}}]`, `, env: [{name: A, valueFrom: {configMapKeyRef: {name: a, key: k, optional: false}}}]`},
		{`, env: [{name: A, valueFrom: {fileKeyRef: {volumeName: a, path: p, key: k}}}]`, `, env: [{name: A, valueFrom: {fileKeyRef: {volumeName: a, path: p, key: k, optional: false}}}]`},
		{`, envFrom: [{secretRef: {name: a}}]`, `, envFrom: [{prefix: "", secretRef: {name: a, optional: false}}]`},
		{`, envFrom: [{configMapRef: {name: a}}]`, `, envFrom: [{configMapRef: {name: a, optional: false}}]`},
		{`, envFrom: [{configMapRef: {name: a, optional: true}}]`},
		{`, env: [{name: A, value: a}, {name: B, value: b}]`},
		{`, env: [{name: B, value: b}, {name: A, value: a}]`}, // the order matters: a value may refer to another
	}, func(spelling string) string { return at.Digest(atSpec(t, plainAt+spelling+"}")) })
	checkDigests(t, [][]string{
		{`{}`, `{args: []}`, `{memoryLimit: 67108864}`, `{memoryLimit: 65536Ki}`, `{memoryLimit: "0.0625Gi"}`, `{resources: {limits: {}}}`},
		{`{memoryLimit: 64M}`, `{memoryLimit: 64000000}`, `{memoryLimit: 64e6}`},
		{`{resources: {requests: {cpu: 1}}}`, `{resources: {requests: {cpu: 1000m}, limits: {}}}`},
		{`{exporter: {}}`},
	}, func(spelling string) string { return memcached.Digest(memcachedSpec(t, spelling)) })
}

// With another offset or time zone for the same instant, the Pod stays, and a run does not happen again.
func TestSpellingsOfScheduleShareDigest(t *testing.T) {
	checkDigests(t, [][]string{
		{"2027-01-01T00:00:00Z", "2027-01-01T00:00:00.000Z", "2027-01-01T01:00:00+01:00", "2027-01-01T01:00:00+01:00[Europe/Berlin]", "2027-01-01T01:00:00+01:00[Europe/Paris]", "2026-12-31T19:00:00-05:00[America/New_York]", "2027-01-01T00:00:00Z[Asia/Tokyo]"},
		{"2027-01-01T01:00:00Z", "2027-01-01T01:00:00Z[Europe/Berlin]"},
	}, func(schedule string) string { return at.Digest(atSpec(t, `{schedule: "`+schedule+`", command: date}`)) })
}

// checkDigests checks that all spellings of a line have the same digest, and each line another.
func checkDigests(t *testing.T, lines [][]string, digest func(string) string) {
	t.Helper()
	seen := map[string]string{}
	for _, spellings := range lines {
		first := digest(spellings[0])
		if other, ok := seen[first]; ok {
			t.Errorf("%s and %s have one digest", other, spellings[0])
		}
		seen[first] = spellings[0]
		for _, spelling := range spellings {
			if digest(spelling) != first {
				t.Errorf("%s and %s have two digests", spellings[0], spelling)
			}
		}
	}
}

// The digests of two quantities are equal exactly if the quantities are.
func TestSpellingsOfQuantityShareDigest(t *testing.T) {
	digest := func(quantity string) string {
		return at.Digest(atSpec(t, plainAt+`, resources: {limits: {memory: "`+quantity+`"}}}`))
	}
	factors := rapid.SampledFrom([]int64{1, 10, 1000, 1e6, 1e9, 1e12, 1024, 1 << 20, 1 << 30, 125 << 10, 1 << 40})
	values := rapid.Custom(func(t *rapid.T) int64 {
		return rapid.OneOf(rapid.Int64Range(0, 2048), rapid.Int64Range(0, 1e6)).Draw(t, "count") * factors.Draw(t, "factor")
	})
	rapid.Check(t, func(t *rapid.T) {
		milli := values.Draw(t, "milli")
		other := values.Draw(t, "other")
		spellings := spell(milli)
		for _, spelling := range spellings {
			if digest(spelling) != digest(spellings[0]) {
				t.Fatalf("%s and %s have two digests", spellings[0], spelling)
			}
		}
		if (digest(spell(other)[0]) == digest(spellings[0])) != (milli == other) {
			t.Fatalf("%dm and %dm have one digest", milli, other)
		}
	})
}

// Every quantity has a canonical spelling with the same value and the same canonical spelling.
func TestCanonicalQuantityKeepsValue(t *testing.T) {
	texts := rapid.StringMatching(`[+-]?[0-9]{0,30}(\.[0-9]{0,12})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "quantity")
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			t.Skip()
		}
		spelled := canonical.Quantity(quantity)
		if spelled.Cmp(quantity) != 0 {
			t.Fatalf("%s is %s", text, spelled.String())
		}
		if again := canonical.Quantity(spelled); again.String() != spelled.String() {
			t.Fatalf("%s is %s and %s", text, spelled.String(), again.String())
		}
	})
}

// spell returns the spellings of a number of thousandths with every suffix.
func spell(milli int64) (spellings []string) {
	units := map[string]*big.Rat{"": big.NewRat(1, 1), "m": big.NewRat(1, 1000), "E-3": big.NewRat(1, 1000)}
	for i, prefix := range []string{"k", "M", "G", "T"} {
		units[prefix] = new(big.Rat).SetInt64(int64(math.Pow10(3 * (i + 1))))
		units[fmt.Sprint("e", 3*(i+1))] = units[prefix]
		units[strings.ToUpper(prefix)+"i"] = new(big.Rat).SetInt64(1 << (10 * (i + 1)))
	}
	for _, suffix := range slices.Sorted(maps.Keys(units)) {
		number := new(big.Rat).Quo(big.NewRat(milli, 1000), units[suffix]).FloatString(50)
		spellings = append(spellings, strings.TrimSuffix(strings.TrimRight(number, "0"), ".")+suffix)
	}
	return spellings
}

// Recorded starts of usual spellings stay valid in a new version.
func TestDigestsStay(t *testing.T) {
	for spec, want := range map[string]string{
		`}`: "sha256:00517056b6b328208ed46d1fd1ccc5724c3813d11a1043aa0c31be968e81b25e",
		`, resources: {requests: {cpu: 100m, memory: 32Mi}, limits: {memory: 32Mi}}}`:                                                                                          "sha256:7f23f2cb831cc0edd0015b444d37712536a8e6ce9b536b7a458f29076d499d81",
		`, resources: {requests: {cpu: 0.5, memory: 512M}, limits: {cpu: 2, memory: 1.5Gi}}, env: [{name: A, value: b}], envFrom: [{configMapRef: {name: a}}], suspend: true}`: "sha256:1607c24fd343478eb8cd81b93b3be556e04f70c46854c7f891b7aa79d255e6d2",
	} {
		if got := at.Digest(atSpec(t, plainAt+spec)); got != want {
			t.Errorf("%s: digest %s, want %s", spec, got, want)
		}
	}
	for spec, want := range map[string]string{
		`{}`: "sha256:45d4b8bfff7b721d7e3c69c0955cff9b3b99d47dcbed90a711cd19d3a8622020",
		`{size: 3, memoryLimit: 1500M, args: [-v], exporter: {image: a, port: 9150}, resources: {requests: {cpu: 500m}}}`: "sha256:1a624eab9bdfcc9f45ae791579a5d7cf2e8284d92874a2196f1a6ba5d0da5448",
	} {
		if got := memcached.Digest(memcachedSpec(t, spec)); got != want {
			t.Errorf("%s: digest %s, want %s", spec, got, want)
		}
	}
	for _, suffix := range []string{"m", "", "Ki", "Mi", "Gi", "Ti", "M", "G", "T"} {
		for count := range 1024 {
			usual := resource.MustParse(fmt.Sprint(count, suffix))
			want, _ := usual.MarshalJSON()
			if got, _ := canonical.Quantity(usual).MarshalJSON(); string(got) != string(want) {
				t.Errorf("%d%s is %s in a digest", count, suffix, got)
			}
		}
	}
}
