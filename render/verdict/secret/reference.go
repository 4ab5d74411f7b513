package secret

import (
	"encoding/base64"
	"regexp"
	"strings"
)

// A reference names a secret that is kept elsewhere. After render, a tool puts the secret in its
// place: Flux (https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution),
// argocd-vault-plugin, vals or 1Password.

// pathAnnotation tells argocd-vault-plugin where it finds keys like <key>.
const pathAnnotation = "avp.kubernetes.io/path"

const (
	variableName = `[_a-zA-Z][_a-zA-Z0-9]*`
	// The default of a variable is plain text, unless it is empty or a variable itself.
	variable = `\$\{` + variableName + `(?::?[-=](?:\$\{` + variableName + `\})?|[,^]{1,2}|:[0-9]+(?::[0-9]+)?)?\}`

	vaultPath = `<path:[^<>#\n]+#[^<>\n]+>`
	vaultKey  = `<[ \t]*[\w.-]+[ \t]*(?:\|[^<>\n]*)?>`
	valsRef   = `(?:secret)?ref\+[a-z0-9]+://[^\s"'+]+\+?`
	opItem    = `op://[^/\n"']+(?:/[^/\n"']+){1,2}/[^/\s"'{}]+`
	inPlace   = `\{\{[ \t]*` + opItem + `[ \t]*\}\}|` + opItem
)

var (
	references     = regexp.MustCompile(strings.Join([]string{inPlace, valsRef, vaultPath, variable}, "|"))
	wholeItem      = regexp.MustCompile(`^\s*op://[^/\n"']+(?:/[^/\n"']+){2,3}\s*$`) // its field may have spaces
	vaultKeys      = regexp.MustCompile(vaultKey)
	vaultPaths     = regexp.MustCompile(vaultPath)
	plainReference = regexp.MustCompile(`ref\+echo:`) // vals prints the rest

	// publicText matches text that may stand beside references, which are NULs here: a URL with a
	// reference as its password, names of values, and the word before a token.
	publicText = regexp.MustCompile(
		`[a-z][a-z0-9+.-]*://[^:@/\s]*:\x00@[\w.,:/\x00-]*(?:\?(?:[\w.-]+=(?:true|false|disable|require|` +
			`verify-\w+|[0-9]{1,4})&?)*)?|["']?[\w./-]+["']?[ \t]*[=:]\s*["']?[\x00\n{\[]|\bBearer \x00|` +
			`\x00\?(?:[\w.-]+=(?:true|false|[0-9]{1,4})&?)+$`)
	letters = regexp.MustCompile(`[\pL\pN]`)
)

// isReference reports whether all secret parts of a value are references.
func isReference(value string, annotations map[string]string) bool {
	if wholeItem.MatchString(value) {
		return true
	}
	rest := references.ReplaceAllString(value, "\x00")
	if annotations[pathAnnotation] != "" {
		rest = vaultKeys.ReplaceAllString(rest, "\x00")
	}
	return rest != value && !plainReference.MatchString(value) &&
		!letters.MatchString(publicText.ReplaceAllString(rest, ""))
}

// IsFilledIn reports whether argocd-vault-plugin changes a value of an object before a cluster gets it.
func IsFilledIn(value any, annotations map[string]string) bool {
	text, _ := value.(string)
	return vaultPaths.MatchString(text) || annotations[pathAnnotation] != "" && vaultKeys.MatchString(text)
}

// isReferenceIn reports whether a value in a field of a Secret is a reference. In data, a reference
// is in base64, or to base64.
func isReferenceIn(name string, value any, annotations map[string]string) bool {
	text, isText := value.(string)
	if decoded, err := base64.StdEncoding.DecodeString(text); name == "data" && err == nil {
		text = string(decoded)
	}
	return isText && isReference(text, annotations)
}
