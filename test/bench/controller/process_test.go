package controller

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/util/wait"
)

// process is a controller that runs.
type process struct {
	cmd     *exec.Cmd
	metrics string // its URL
}

// start starts a controller that is built with controller-runtime, and waits until it serves
// metrics. The controller ends with the benchmark.
func (b *bench) start(program, kubeconfig string) *process {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // finds a free port
	must(b, err)
	address := listener.Addr().String()
	must(b, listener.Close())
	cmd := exec.Command(program, "--kubeconfig", kubeconfig, "--metrics-bind-address="+address, "--metrics-secure=false", "--health-probe-bind-address=0", "--leader-elect=false")
	must(b, cmd.Start())
	b.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	p := &process{cmd: cmd, metrics: "http://" + address + "/metrics"}
	err = wait.PollUntilContextTimeout(b.Context(), 100*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		_, err := p.requests()
		return err == nil, nil
	})
	if err != nil {
		b.Fatalf("%s serves no metrics: %v", program, err)
	}
	time.Sleep(5 * time.Second) // its caches fill
	return p
}

// requestsSince returns a function that returns the requests that a process sent since, by method.
func (b *bench) requestsSince(p *process) func() map[string]float64 {
	b.Helper()
	before, err := p.requests()
	must(b, err)
	return func() map[string]float64 {
		b.Helper()
		after, err := p.requests()
		must(b, err)
		for method := range after {
			after[method] -= before[method]
		}
		return after
	}
}

// requests returns the requests that the process has sent to the API server, by method.
func (p *process) requests() (map[string]float64, error) {
	response, err := http.Get(p.metrics)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return nil, err
	}
	counts := map[string]float64{}
	for _, metric := range families["rest_client_requests_total"].GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == "method" {
				counts[label.GetValue()] += metric.GetCounter().GetValue()
			}
		}
	}
	return counts, nil
}

// memory returns the memory that the process has, and the most that it ever had, in MiB.
func (p *process) memory() (resident, peak float64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for field, value := range map[string]*float64{"VmRSS:": &resident, "VmHWM:": &peak} {
		_, after, _ := strings.Cut(string(status), field)
		if _, err := fmt.Sscan(after, value); err != nil {
			return 0, 0, fmt.Errorf("read %s of process %d: %w", field, p.cmd.Process.Pid, err)
		}
		*value /= 1024 // from KiB
	}
	return resident, peak, nil
}
