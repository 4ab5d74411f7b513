package main

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

// start starts a controller that is built with controller-runtime, and waits until
// it serves metrics.
func start(ctx context.Context, program string, args ...string) (*process, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, err
	}
	args = append(args, "--metrics-bind-address="+address, "--metrics-secure=false", "--health-probe-bind-address=0", "--leader-elect=false")
	p := &process{cmd: exec.CommandContext(ctx, program, args...), metrics: "http://" + address + "/metrics"} // #nosec G204 G702 -- what is measured
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		_, err := p.requests(ctx)
		return err == nil, nil
	})
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s serves no metrics: %w", program, err)
	}
	time.Sleep(5 * time.Second) // its caches fill
	return p, nil
}

func (p *process) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// requests are those that the process has sent to the API server, by method.
func (p *process) requests(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.metrics, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request) // #nosec G704 -- to this machine
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

// memory is what the process holds, and the most that it ever held, in MiB.
func (p *process) memory() (resident, peak float64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)) // #nosec G703 -- a number
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
