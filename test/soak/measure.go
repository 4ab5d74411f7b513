package main

import (
	"bufio"
	"bytes"
	"context"
	"regexp"
	"slices"
	"strconv"
	"time"

	"k8s.io/client-go/kubernetes"
)

// measure says how far the soak is, and asks what it costs, until ctx is done.
func (s *soak) measure(ctx context.Context) {
	for i := 0; ; i++ {
		if i%3 == 0 {
			s.measureWrites(ctx)
		}
		s.printed.print(s.line)
		if !pause(ctx, 5*time.Second) {
			return
		}
	}
}

// writes are requests that wrote, or were to, by what became of them. A server that
// restarts counts from zero.
type writes struct {
	total, last map[string]float64
}

var requestLine = regexp.MustCompile(`^apiserver_request_total\{code="(\d).*resource="(ats|pods)",.*subresource="(status|)",.*verb="(APPLY|PATCH)".*\} (\S+)$`)

// measureWrites asks the API server how many statuses of Ats were written and how many
// gates opened: nobody but the controllers does either.
func (s *soak) measureWrites(ctx context.Context) {
	client, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	metrics, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return // it is away
	}
	s.writes.add(parseWrites(metrics))
}

func parseWrites(metrics []byte) map[string]float64 {
	sums := map[string]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(metrics)); lines.Scan(); {
		m := requestLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		code, request := m[1], m[2]+"/"+m[3]+" "+m[4]
		n, err := strconv.ParseFloat(m[5], 64)
		if err == nil && (request == "ats/status APPLY" || request == "pods/ PATCH") {
			if code != "2" {
				request += " refused"
			}
			sums[request] += n
		}
	}
	return sums
}

func (w *writes) add(now map[string]float64) {
	for request, n := range now {
		before, known := w.last[request]
		switch {
		case w.last == nil: // what was written before this soak
		case !known || n < before:
			w.total[request] += n
		default:
			w.total[request] += n - before
		}
	}
	if w.last == nil {
		w.total = map[string]float64{}
	}
	w.last = now
}

// percentile is the value that a part of all are not over.
func percentile(values []time.Duration, part float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(part*float64(len(sorted)-1))]
}
