package main

import (
	"bufio"
	"bytes"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
)

// memory is what a controller held at a moment, in MiB.
type memory struct {
	controller string
	at         moment
	mib        float64
}

// measure samples the memory of the controllers and what they asked of the API server.
func (s *soak) measure(ctx context.Context) {
	for i := 0; ; i++ {
		for _, c := range s.controllers {
			if mib, began := c.memory(); mib > 0 && s.clock.now()-began > 10*time.Second {
				s.mutex.Lock()
				s.memories = append(s.memories, memory{c.name, s.clock.now(), mib})
				s.mutex.Unlock()
			}
		}
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

// slope is by how much values rise an hour, by least squares.
func slope(samples []memory) float64 {
	var n, x, y, xx, xy float64
	for _, s := range samples {
		h := s.at.Hours()
		n, x, y, xx, xy = n+1, x+h, y+s.mib, xx+h*h, xy+h*s.mib
	}
	if d := n*xx - x*x; d > 0 {
		return (n*xy - x*y) / d
	}
	return 0
}

// chart draws values as bars, some of them as one where there are many.
func chart(samples []memory) string {
	const columns = 60
	bars := []rune("▁▂▃▄▅▆▇█")
	if len(samples) == 0 {
		return ""
	}
	byValue := func(a, b memory) int { return int(a.mib*1024) - int(b.mib*1024) }
	low, high := slices.MinFunc(samples, byValue).mib, slices.MaxFunc(samples, byValue).mib
	var b strings.Builder
	for i := range min(columns, len(samples)) {
		part := samples[i*len(samples)/min(columns, len(samples)) : (i+1)*len(samples)/min(columns, len(samples))]
		share := (slices.MaxFunc(part, byValue).mib - low) / max(high-low, 1)
		b.WriteRune(bars[int(share*float64(len(bars)-1))])
	}
	return b.String()
}

// percentile is the value that a part of all are not over.
func percentile[T float64 | time.Duration](values []T, part float64) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(part*float64(len(sorted)-1))]
}
