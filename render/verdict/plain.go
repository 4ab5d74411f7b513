package verdict

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/manifest"
)

// sopsRule matches what tells SOPS which values to encrypt, in the metadata of any format.
var sopsRule = regexp.MustCompile(`\b(?:sops_)?((?:un)?encrypted_(?:regex|suffix))"?[ \t]*[:=][ \t]*(.+)`)

// leftInPlain returns what is wrong with a field of a Secret whose manifest SOPS encrypted, but for some
// of the values; "" where SOPS encrypted all or none.
func leftInPlain(secret manifest.Object, name string) string {
	metadata, _ := secret.Object["sops"].(map[string]any)
	values, _ := secret.Object[name].(map[string]any)
	if !isSOPSMetadata(metadata) {
		return ""
	}
	values = maps.Clone(values)
	maps.DeleteFunc(values, func(_ string, value any) bool { return isReferenceIn(name, value, secret.GetAnnotations()) })
	for _, rule := range []string{"encrypted_regex", "unencrypted_regex", "encrypted_suffix", "unencrypted_suffix"} {
		if text, isSet := metadata[rule].(string); isSet {
			return byRule(rule, text, plainKeys("", values))
		}
	}
	return ""
}

// leftInFile returns the same of a file that SOPS encrypted, as a value of a Secret.
func leftInFile(content []byte) string {
	match := sopsRule.FindSubmatch(content)
	if match == nil {
		return ""
	}
	var values map[string]any
	if yaml.Unmarshal(content, &values) != nil {
		values = map[string]any{}
		readEntries(string(content), "=", func(key, value string) {
			if !strings.HasPrefix(key, "sops_") {
				values[key] = value
			}
		})
	}
	delete(values, "sops")
	return byRule(string(match[1]), strings.Trim(string(match[2]), `", `), plainKeys("", values))
}

func byRule(rule, text string, keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return fmt.Sprintf("SOPS left %s in plain text, by %s %s: change it in .sops.yaml, so that it encrypts all values (encrypted_regex: ^(data|stringData)$ for a manifest, none for a file), and encrypt again; what all may read belongs in a ConfigMap",
		manifest.FirstOf(5, keys), rule, text)
}

// plainKeys returns the paths of the values that are not encrypted.
func plainKeys(path string, value any) (keys []string) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			keys = append(keys, plainKeys(strings.TrimPrefix(path+"."+key, "."), value[key])...)
		}
	case []any:
		for i, item := range value {
			keys = append(keys, plainKeys(fmt.Sprintf("%s[%d]", path, i), item)...)
		}
	default:
		if !isEncrypted(value) {
			keys = append(keys, path)
		}
	}
	return keys
}
