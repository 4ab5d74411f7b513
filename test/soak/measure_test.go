package main

import (
	"maps"
	"testing"
)

func TestWrites(t *testing.T) {
	const line = `apiserver_request_total{code="200",component="apiserver",dry_run="",group="cnat.programming-kubernetes.info",resource="ats",scope="resource",subresource="status",verb="APPLY",version="v1alpha1"} `
	const conflict = `apiserver_request_total{code="409",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="",verb="PATCH",version="v1"} 3`
	const others = `apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="status",verb="PATCH",version="v1"} 70
apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="",verb="APPLY",version="v1"} 80
`
	var w writes
	for _, metrics := range []string{
		others + line + "100",                      // before
		others + line + "110\n" + conflict,         // 10 and 3 more
		others,                                     // restarted
		others + line + "2",                        // 2 more
		others + line + "1.2e+01\n" + conflict,     // 10 and 3 more
		others + line + "1.2e+01\n" + conflict[2:], // none
	} {
		w.add(parseWrites([]byte(metrics)))
	}
	if want := map[string]float64{"ats/status APPLY": 22, "pods/ PATCH refused": 6}; !maps.Equal(w.total, want) {
		t.Errorf("%v, want %v", w.total, want)
	}
}
