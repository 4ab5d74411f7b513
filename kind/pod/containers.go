package pod

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/kind"
)

// Program is a container as a reviewer sees it: the image and the commands that it runs.
type Program struct {
	corev1.Container
	Role string // init container, sidecar, container or ephemeral container
	List string // the field of the Pod spec: initContainers
}

// Programs returns all containers of Pods.
func Programs(spec *corev1.PodSpec) (programs []Program) {
	for _, c := range spec.InitContainers {
		role := "init container"
		if ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways {
			role = "sidecar"
		}
		programs = append(programs, Program{c, role, "initContainers"})
	}
	for _, c := range spec.Containers {
		programs = append(programs, Program{c, "container", "containers"})
	}
	for _, c := range spec.EphemeralContainers {
		programs = append(programs, Program{corev1.Container(c.EphemeralContainerCommon), "ephemeral container",
			"ephemeralContainers"})
	}
	return programs
}

// Named names the program: "sidecar proxy".
func (p Program) Named() kind.Sentence { return kind.Say(p.Role+" %s", p.Name) }

// Say describes the program: "container web runs image web:1: serve --fast".
func (p Program) Say() kind.Sentence {
	said := p.Named() + kind.Say(" runs image %s", p.Image) + p.SayCommand()
	for _, h := range p.Hooks() {
		said += "; " + h.Say()
	}
	return said
}

// SayCommand describes the command or arguments of the Pod spec, if any.
func (p Program) SayCommand() kind.Sentence {
	switch {
	case len(p.Command) > 0:
		return kind.Say(": %s", strings.Join(slices.Concat(p.Command, p.Args), " "))
	case len(p.Args) > 0:
		return kind.Say(" with arguments %s", strings.Join(p.Args, " "))
	}
	return ""
}

// Hook is a command that the kubelet runs in a container.
type Hook struct {
	Field   string // livenessProbe
	Command []string
}

// Say describes the hook: "runs cat /tmp/ready in its livenessProbe".
func (h Hook) Say() kind.Sentence {
	return kind.Say("runs %s in its %s", strings.Join(h.Command, " "), kind.Sentence(h.Field))
}

// Hooks returns the commands of the program's lifecycle hooks and probes.
func (p Program) Hooks() (hooks []Hook) {
	add := func(field string, exec *corev1.ExecAction) {
		if exec != nil {
			hooks = append(hooks, Hook{field, exec.Command})
		}
	}
	if p.Lifecycle != nil {
		add("postStart", ptr.Deref(p.Lifecycle.PostStart, corev1.LifecycleHandler{}).Exec)
		add("preStop", ptr.Deref(p.Lifecycle.PreStop, corev1.LifecycleHandler{}).Exec)
	}
	add("livenessProbe", ptr.Deref(p.LivenessProbe, corev1.Probe{}).Exec)
	add("readinessProbe", ptr.Deref(p.ReadinessProbe, corev1.Probe{}).Exec)
	add("startupProbe", ptr.Deref(p.StartupProbe, corev1.Probe{}).Exec)
	return hooks
}

// SayAll describes all programs of Pods.
func SayAll(spec *corev1.PodSpec) kind.Sentence {
	programs := Programs(spec)
	said := make([]string, 0, len(programs))
	for _, p := range programs {
		said = append(said, string(p.Say()))
	}
	return kind.Sentence(strings.Join(said, "; "))
}
