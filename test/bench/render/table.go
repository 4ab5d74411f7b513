//go:build linux

package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// column is a column of a table: what heads it, and how wide it is.
type column struct {
	head  string
	width int
}

// table prints a Markdown table whose columns line up. The first column is names,
// the others are numbers. Each row is printed at once, as the next takes a while.
type table []column

func newTable(columns ...column) table {
	for i := range columns {
		columns[i].width = max(columns[i].width, len(columns[i].head))
	}
	return columns
}

func (t table) printHeader() {
	heads, rules := make([]string, len(t)), make([]string, len(t))
	for i, c := range t {
		heads[i], rules[i] = c.head, strings.Repeat("-", c.width-1)+":"
	}
	rules[0] = strings.Repeat("-", t[0].width)
	fmt.Println()
	t.printRow(heads...)
	t.printRow(rules...)
}

func (t table) printRow(cells ...string) {
	fmt.Printf("| %-*s |", t[0].width, cells[0])
	for i, cell := range cells[1:] {
		fmt.Printf(" %*s |", t[i+1].width, cell)
	}
	fmt.Println()
}

// newCostTable has a row for each input. Each time is followed by the peak memory in
// MiB, and those of render by their ratio to that of kustomize.
func newCostTable(inputs []input) table {
	names := column{head: "input"}
	for _, in := range inputs {
		names.width = max(names.width, len(in.name))
	}
	seconds, mib, ratio := len("123.45 s"), column{"MiB", len("> 1234")}, column{"ratio", len("< 0.01")}
	return newTable(names,
		column{"kustomize build", seconds}, mib,
		column{"render", seconds}, ratio, mib,
		column{"render again", seconds}, ratio, mib)
}

// costRow is the cells of an input.
func costRow(name string, c costs) []string {
	return []string{
		name,
		formatTime(c.kustomize), formatMemory(c.kustomize),
		formatTime(c.render), formatRatio(c.render, c.kustomize), formatMemory(c.render),
		formatTime(c.again), formatRatio(c.again, c.kustomize), formatMemory(c.again),
	}
}

// none is the cell of what was not measured.
const none = "-"

// formatTime is a time in seconds: two digits behind the point, except for a limit.
func formatTime(c cost) string {
	switch {
	case c == cost{}:
		return none
	case c.cut:
		return fmt.Sprintf("> %g s", c.took.Seconds())
	}
	return fmt.Sprintf("%.2f s", c.took.Seconds())
}

func formatMemory(c cost) string {
	switch {
	case c == cost{}:
		return none
	case c.cut:
		return fmt.Sprintf("> %.0f", math.Floor(c.memory))
	}
	return fmt.Sprintf("%.0f", c.memory)
}

// formatRatio is how many times the time of kustomize render took. Where one of them
// was cut it is a bound, rounded to the side on which it holds.
func formatRatio(render, kustomize cost) string {
	ratio := 100 * float64(render.took) / float64(max(kustomize.took, time.Nanosecond))
	switch {
	case render == cost{}, render.cut && kustomize.cut:
		return none
	case kustomize.cut:
		return fmt.Sprintf("< %.2f", math.Ceil(ratio)/100)
	case render.cut:
		return fmt.Sprintf("> %.2f", math.Floor(ratio)/100)
	}
	return fmt.Sprintf("%.2f", ratio/100)
}
