// Command render writes the manifests of environments; `render --help` says how.
package main

import (
	"example.com/gatehouse/cmd/render/command"
	"example.com/gatehouse/kind/gatehouse"
)

func main() { command.Main(gatehouse.Kinds...) }
