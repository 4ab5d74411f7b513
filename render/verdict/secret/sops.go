package secret

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/manifest"
)

// SOPS encrypted a document if it has the metadata of SOPS with a MAC, and no readable value
// beside it. Metadata alone proves nothing: rules exempt values from encryption.
// https://getsops.io/docs/#encryption-protocol

const encryptedValue = `ENC\[AES256_GCM,data:[A-Za-z0-9+/=]*,iv:[A-Za-z0-9+/=]+,tag:[A-Za-z0-9+/=]+,type:(?:str|` +
	`int|float|bool|bytes|time|comment)\]`

var (
	encrypted        = regexp.MustCompile(`^` + encryptedValue + `$`)
	encryptedComment = regexp.MustCompile(`^[#;]+[ \t]*` + encryptedValue + `[ \t\r]*$`)
	metadataNames    = []string{"shamir_threshold", "key_groups", "kms", "gcp_kms", "hckms", "azure_kv", "hc_vault",
		"age", "pgp", "lastmodified", "mac", "mac_only_encrypted", "unencrypted_suffix", "encrypted_suffix",
		"unencrypted_regex", "encrypted_regex", "unencrypted_comment_regex", "encrypted_comment_regex", "version"}
)

// isMetadata reports whether a value is metadata of SOPS with a MAC. In formats without lists, the
// keys are paths: age__list_0__map_enc.
func isMetadata(value any) bool {
	metadata, _ := value.(map[string]any)
	for key := range metadata {
		if name, _, _ := strings.Cut(key, "__"); !slices.Contains(metadataNames, name) {
			return false
		}
	}
	mac, _ := metadata["mac"].(string)
	return encrypted.MatchString(mac)
}

// Metadata is the field with the metadata of SOPS.
const Metadata = "sops"

// IsEncrypted reports whether SOPS encrypted an object of a kind other than Secret. Flux decrypts each
// object with metadata of SOPS.
func IsEncrypted(u *unstructured.Unstructured) bool {
	return !manifest.IsSecret(u) && isMetadata(u.Object[Metadata])
}

// HasEncrypted reports whether content has an encrypted value.
func HasEncrypted(content any) bool {
	return manifest.Contains(content, func(_ string, value any) bool {
		text, _ := value.(string)
		return encrypted.MatchString(text)
	})
}

func mayBeEncrypted(text string) bool { return strings.Contains(text, "ENC[AES256_GCM,") }

// plainPaths returns the paths of the values that are neither encrypted nor empty.
func plainPaths(path string, value any) (paths []string) {
	switch value := value.(type) {
	case nil:
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			paths = append(paths, plainPaths(strings.TrimPrefix(path+"."+key, "."), value[key])...)
		}
	case []any:
		for i, item := range value {
			paths = append(paths, plainPaths(fmt.Sprintf("%s[%d]", path, i), item)...)
		}
	default:
		if text, isText := value.(string); !isText || text != "" && !encrypted.MatchString(text) {
			return []string{path}
		}
	}
	return paths
}

// leftPlain returns the error for values that SOPS did not encrypt.
func leftPlain(paths []string) string {
	return fmt.Sprintf("SOPS left %s in plain text: have the rule in .sops.yaml encrypt all values "+
		"(encrypted_regex: ^(data|stringData)$ for a manifest, none for a file), and encrypt again; what all may "+
		"read belongs in a ConfigMap",
		manifest.FirstOf(5, paths))
}

// fileFormat is a file format of SOPS.
type fileFormat struct {
	// suffixes are the suffixes of keys whose decrypted values Flux writes in the format.
	suffixes []string
	// marker is the text that Flux recognizes an encrypted value by:
	// https://github.com/fluxcd/kustomize-controller/blob/main/internal/decryptor/decryptor.go
	marker string
	// read returns the documents of a file, with their metadata under "sops". It returns none if
	// there is text beside keys and values, such as a comment that is not encrypted.
	read func(content string) (documents []map[string]any)
}

// fileFormats are the formats of SOPS. The last one is for keys with any other suffix.
var fileFormats = []fileFormat{
	{[]string{".yaml", ".yml"}, "mac: ENC[", readYAML},
	{[]string{".json", ".dockerconfigjson"}, `"mac": "ENC[`, readJSON},
	{[]string{".env"}, "sops_mac=ENC[", readDotenv},
	{[]string{".ini"}, "[sops]", readINI},
	{[]string{""}, `"mac": "ENC[`, readBinary},
}

const wrongFormat = "is not encrypted as Flux decrypts a key of this suffix (.yaml, .json, .env, .ini, else " +
	"binary): encrypt each of its values with SOPS, and keep the suffix of the file"

// fileProblem returns the problem of a file, in a key of a Secret, that SOPS did not encrypt or that
// Flux does not decrypt; empty for none.
func fileProblem(key, content string) string {
	format := fileFormats[slices.IndexFunc(fileFormats, func(format fileFormat) bool {
		return slices.ContainsFunc(format.suffixes, func(suffix string) bool { return strings.HasSuffix(key, suffix) })
	})]
	for _, other := range fileFormats { // Flux decrypts by any marker that it finds
		if strings.Contains(content, other.marker) != (other.marker == format.marker) {
			return wrongFormat
		}
	}
	documents := format.read(content)
	var plain []string
	for _, document := range documents {
		if !isMetadata(document["sops"]) {
			return wrongFormat
		}
		delete(document, "sops")
		plain = append(plain, plainPaths("", document)...)
	}
	switch {
	case len(documents) == 0:
		return wrongFormat
	case len(plain) > 0:
		return leftPlain(plain)
	}
	return ""
}

// besideYAML matches comments and directives. No encrypted value has a #.
var besideYAML = regexp.MustCompile(`(?m)^%.*|#.*`)

func readYAML(content string) (documents []map[string]any) {
	for _, text := range besideYAML.FindAllString(content, -1) {
		if !encryptedComment.MatchString(text) {
			return nil
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(content))
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return documents
		}
		var document map[string]any
		if err != nil || !isPlain(&node) || node.Decode(&document) != nil { // Decode refuses duplicate keys
			return nil
		}
		documents = append(documents, document)
	}
}

// isPlain reports whether a node has no anchors and tags, whose names are readable, no merges, which
// hide values, and only scalars as keys. It makes text of all keys: then 1 and 0x1 are different.
func isPlain(node *yaml.Node) bool {
	if node.Anchor != "" || node.Style&yaml.TaggedStyle != 0 || node.ShortTag() == "!!merge" {
		return false
	}
	for i, inner := range node.Content {
		isKey := node.Kind == yaml.MappingNode && i%2 == 0
		if isKey && inner.Kind != yaml.ScalarNode || !isPlain(inner) {
			return false
		}
		if isKey {
			inner.Tag = "!!str"
		}
	}
	return true
}

func readJSON(content string) []map[string]any {
	if !json.Valid([]byte(content)) {
		return nil
	}
	return readYAML(content)
}

// readBinary reads a file of no format, which SOPS encrypts as one value.
func readBinary(content string) []map[string]any {
	documents := readJSON(content)
	for _, document := range documents {
		if _, isText := document["data"].(string); !isText || len(document) != 2 {
			return nil
		}
	}
	return documents
}

func readDotenv(content string) []map[string]any { return readEntries(content, "=", "sops_") }

// multiline matches text of several lines, which SOPS writes in metadata alone.
var multiline = regexp.MustCompile(`(?s)""".*?"""`)

func readINI(content string) []map[string]any {
	return readEntries(multiline.ReplaceAllString(content, "text"), "=:", "")
}

var sectionHead = regexp.MustCompile(`^\[([^\[\]]+)\]$`)

// readEntries reads lines of a key, a separator and a value. A prefix of their keys, or the section
// sops, marks the metadata.
func readEntries(content, separators, prefix string) []map[string]any {
	document := map[string]any{}
	section := ""
	for line := range strings.SplitSeq(content, "\n") {
		line = strings.TrimSpace(line)
		if head := sectionHead.FindStringSubmatch(line); head != nil && prefix == "" {
			section = head[1]
			continue
		}
		end := strings.IndexAny(line, separators)
		switch {
		case line == "", encryptedComment.MatchString(line):
			continue
		case strings.ContainsAny(line[:1], "#;"), end < 0:
			return nil
		}
		name := section
		key := strings.TrimSpace(line[:end])
		if rest, isMetadata := strings.CutPrefix(key, prefix); isMetadata && prefix != "" {
			name = "sops"
			key = rest
		}
		entries, _ := document[name].(map[string]any)
		if entries == nil {
			entries = map[string]any{}
			document[name] = entries
		}
		if len(plainPaths("", entries[key])) == 0 { // a second value does not hide a plain one
			entries[key] = strings.TrimSpace(line[end+1:])
		}
	}
	return []map[string]any{document}
}
