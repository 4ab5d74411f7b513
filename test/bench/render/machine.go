//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// describeMachine says what the numbers were measured on and with.
func (b *bench) describeMachine(ctx context.Context) (string, error) {
	model, err := procField("/proc/cpuinfo", "model name")
	if err != nil {
		return "", err
	}
	total, err := procField("/proc/meminfo", "MemTotal")
	if err != nil {
		return "", err
	}
	kib, err := strconv.ParseFloat(strings.TrimSuffix(total, " kB"), 64)
	if err != nil {
		return "", fmt.Errorf("parse MemTotal of /proc/meminfo: %w", err)
	}
	version, err := exec.CommandContext(ctx, b.kustomize, "version").Output() // #nosec G204 -- what is compared
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", b.kustomize, err)
	}
	return fmt.Sprintf("%s, %d cores, %.1f GiB of memory;\n%s, kustomize %s.", model, runtime.NumCPU(), kib/(1<<20),
		strings.Replace(runtime.Version(), "go", "Go ", 1), strings.TrimSpace(string(version))), nil
}

// procField is the value of the first line "name: value" of a file in /proc.
func procField(file, name string) (string, error) {
	content, err := os.ReadFile(file) // #nosec G304 -- in /proc
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	for line := range strings.Lines(string(content)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == name {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("%s has no %s", file, name)
}
