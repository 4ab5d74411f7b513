package render

import (
	"slices"
	"testing"
)

// The tools that install a cluster write its version into files of their own.
func TestVersionsOfClustersAreRead(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		want    []string
	}{
		"kubeadm":          {"{apiVersion: kubeadm.k8s.io/v1beta4, kind: ClusterConfiguration, kubernetesVersion: v1.35.2}", []string{"1.35"}},
		"talhelper":        {"clusterName: main\nkubernetesVersion: v1.36.4\n", []string{"1.36"}},
		"machine of Talos": {"machine: {kubelet: {image: 'ghcr.io/siderolabs/kubelet:v1.36.4'}}\n---\ncluster: {apiServer: {image: 'registry.k8s.io/kube-apiserver:v1.36.4'}}", []string{"1.36", "1.36"}},
		"its template":     {"machine:\n  kubelet:\n    image: ghcr.io/siderolabs/kubelet:v1.36.4\n  name: {{ name }}\n", []string{"1.36"}},
		"Ansible":          {"k3s_release_version: v1.34.1+k3s1\n", []string{"1.34"}},
		"Plan":             {"{apiVersion: upgrade.cattle.io/v1, kind: Plan, spec: {version: v1.35.1+k3s1, upgrade: {image: rancher/k3s-upgrade}}}", []string{"1.35"}},
		"topology":         {"{apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, spec: {topology: {version: v1.34.0}}}", []string{"1.34"}},
		"control plane":    {"{apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, spec: {version: v1.34.0}}", []string{"1.34"}},
		"another version":  {"{apiVersion: v1, kind: ConfigMap, data: {version: v1.34.0, kubernetesVersion: stable}}", nil},
		"a variable":       {"kubernetesVersion: ${KUBERNETES_VERSION}\n", nil},
	} {
		if got := versionsIn([]byte(test.content)); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// A flag of kube-apiserver has the form of each tool that starts it.
func TestEnabledVersionsAreRead(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		want    []string
	}{
		"Talos":       {"cluster:\n  apiServer:\n    extraArgs:\n      runtime-config: admissionregistration.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=false\n", []string{"admissionregistration.k8s.io/v1beta1"}},
		"kubeadm":     {"extraArgs:\n- name: runtime-config\n  value: \"resource.k8s.io/v1beta2=true\"\n", []string{"resource.k8s.io/v1beta2"}},
		"k3s":         {"kube-apiserver-arg:\n- runtime-config=resource.k8s.io/v1beta2\n", []string{"resource.k8s.io/v1beta2"}},
		"a comment":   {"# runtime-config: resource.k8s.io/v1beta2=true\n", nil},
		"a parameter": {"runtime-config: ${CONFIG}\n", nil},
	} {
		if got := enabledIn([]byte(test.content)); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
