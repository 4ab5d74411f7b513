package pod

import "strings"

// Literal escapes a text for a container's command, args or env, so that the program gets it byte for
// byte. Kubernetes would expand $(NAME) and replace $$ by $, so that a variable could become part of a
// command.
func Literal(text string) string {
	return strings.ReplaceAll(text, "$", "$$")
}
