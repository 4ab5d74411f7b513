package live

import (
	"encoding/base64"
	"strings"

	ssautils "github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// encrypted begins each value that SOPS encrypted.
const encrypted = "ENC[AES256_GCM,"

// readable is an object without what SOPS encrypted, which nobody reads here: of the values
// there are those that the cluster has. It is a copy.
func readable(wanted, found *unstructured.Unstructured) *unstructured.Unstructured {
	wanted = wanted.DeepCopy()
	if _, isEncrypted := wanted.Object["sops"]; !isEncrypted {
		return wanted
	}
	delete(wanted.Object, "sops")
	live := map[string]any{}
	if found != nil {
		live = found.Object
	}
	if ssautils.IsSecret(wanted) {
		texts, _ := wanted.Object["stringData"].(map[string]any)
		values, _ := wanted.Object["data"].(map[string]any)
		for key, value := range texts {
			if values == nil {
				values = map[string]any{}
			}
			if text, ok := value.(string); ok && !strings.HasPrefix(text, encrypted) {
				value = base64.StdEncoding.EncodeToString([]byte(text))
			}
			values[key] = value
		}
		delete(wanted.Object, "stringData")
		if values != nil {
			wanted.Object["data"] = values
		}
	}
	wanted.Object, _ = filledIn(wanted.Object, live).(map[string]any)
	return wanted
}

// filledIn is content with the values of a cluster for those that are encrypted.
func filledIn(content, live any) any {
	switch content := content.(type) {
	case map[string]any:
		fields, _ := live.(map[string]any)
		for key, value := range content {
			content[key] = filledIn(value, fields[key])
		}
	case []any:
		items, _ := live.([]any)
		for i := range content {
			var item any
			if i < len(items) {
				item = items[i]
			}
			content[i] = filledIn(content[i], item)
		}
	case string:
		if text, ok := live.(string); strings.HasPrefix(content, encrypted) && ok {
			return text
		}
		if strings.HasPrefix(content, encrypted) {
			return base64.StdEncoding.EncodeToString([]byte("***"))
		}
	}
	return content
}
