package controller

import (
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"example.com/gatehouse/controller/setup"
)

// NewBesideOthers is New for a process with several managers, whose controllers have the same
// names. The changes apply to the manager's options.
func NewBesideOthers(cfg *rest.Config, controllers []setup.Controller, options Options, changes ...func(*ctrl.Options)) (ctrl.Manager, error) {
	skip := func(o *ctrl.Options) { o.Controller.SkipNameValidation = ptr.To(true) }
	return New(cfg, controllers, options, append([]func(*ctrl.Options){skip}, changes...)...)
}
