// Command controller opens the gates of Ats that are due, and reports the status
// of Ats and Memcacheds.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"example.com/gatehouse/controller"
)

func main() {
	if err := command().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "controller:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	options, goFlags := controller.Options{}, flag.NewFlagSet("", flag.ContinueOnError)
	logging := zap.Options{TimeEncoder: zapcore.RFC3339NanoTimeEncoder}
	cmd := &cobra.Command{
		Use:           "controller",
		Short:         "Open the gates of Ats that are due, report the status of Ats and Memcacheds",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			logger := zap.New(zap.UseFlagOptions(&logging))
			ctrl.SetLogger(logger)
			klog.SetLogger(logger) // what client-go says, of leader election for one
			return run(cmd.Context(), options)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.LeaderElect, "leader-elect", false, "let one of several replicas act, the others stand by")
	flags.StringVar(&options.LeaderElectNamespace, "leader-election-namespace", "", "`namespace` of the Lease (default that of the controller's own Pod)")
	flags.StringVar(&options.MetricsAddress, "metrics-bind-address", ":8443", "`host:port` that serves metrics; 0 for none")
	flags.BoolVar(&options.MetricsSecure, "metrics-secure", true, "serve metrics over HTTPS, to those whom the API server authorizes")
	flags.StringVar(&options.ProbeAddress, "health-probe-bind-address", ":8081", "`host:port` that serves /healthz and /readyz; 0 for none")
	flags.BoolVar(&options.EnableHTTP2, "enable-http2", false, "serve metrics over HTTP/2 too")
	flags.StringSliceVar(&options.Namespaces, "namespaces", nil, "watch these `namespaces` only")
	flags.IntVar(&options.Concurrency, "concurrency", 20, "reconcile this many objects of a kind at a time")
	flags.DurationVar(&options.Grace, "grace-period", 2*time.Minute, "how long what was rendered from a spec may be missing before its object is stalled")
	ctrlconfig.RegisterFlags(goFlags)
	logging.BindFlags(goFlags)
	flags.AddGoFlagSet(goFlags)
	return cmd
}

func run(ctx context.Context, options controller.Options) error {
	cfg, err := ctrlconfig.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := controller.New(ctx, cfg, options)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}
