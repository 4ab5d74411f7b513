package controller

import (
	"context"

	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// NewBesideOthers is New for a process that runs several managers, whose controllers
// have the same names. Each change is made to the manager's options.
func NewBesideOthers(ctx context.Context, cfg *rest.Config, options Options, changes ...func(*ctrl.Options)) (ctrl.Manager, error) {
	managerOptions := managerOptions(options)
	managerOptions.Controller.SkipNameValidation = ptr.To(true)
	for _, change := range changes {
		change(&managerOptions)
	}
	return newManager(ctx, cfg, options, managerOptions)
}
