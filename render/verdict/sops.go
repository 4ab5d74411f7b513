package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/manifest"
)

// What SOPS encrypted has metadata with a MAC, and not one value beside it that can be
// read. Metadata alone proves nothing: SOPS leaves out what it is told to.
// https://getsops.io/docs/#encryption-protocol

const encryptedValue = `ENC\[AES256_GCM,data:[A-Za-z0-9+/=]*,iv:[A-Za-z0-9+/=]+,tag:[A-Za-z0-9+/=]+,type:(?:str|int|float|bool|bytes|time|comment)\]`

var (
	encrypted        = regexp.MustCompile(`^` + encryptedValue + `$`)
	encryptedComment = regexp.MustCompile(`^[#;]+[ \t]*` + encryptedValue + `[ \t\r]*$`)
	sopsMetadata     = []string{"shamir_threshold", "key_groups", "kms", "gcp_kms", "hckms", "azure_kv", "hc_vault", "age", "pgp", "lastmodified", "mac", "mac_only_encrypted", "unencrypted_suffix", "encrypted_suffix", "unencrypted_regex", "encrypted_regex", "unencrypted_comment_regex", "encrypted_comment_regex", "version"}
)

// isSOPSMetadata reports whether values are metadata of SOPS that has a MAC. Formats without
// lists have the names of values in a list: age__list_0__map_enc.
func isSOPSMetadata(values map[string]any) bool {
	for key := range values {
		if name, _, _ := strings.Cut(key, "__"); !slices.Contains(sopsMetadata, name) {
			return false
		}
	}
	mac, _ := values["mac"].(string)
	return encrypted.MatchString(mac)
}

// isEncrypted reports whether each text in a value is encrypted or empty, and nothing else is in
// it but nulls.
func isEncrypted(value any) bool {
	return !manifest.Contains(value, func(_ string, inner any) bool {
		switch inner := inner.(type) {
		case nil, map[string]any, []any:
			return false
		case string:
			return inner != "" && !encrypted.MatchString(inner)
		}
		return true
	})
}

// sopsFormat is a format in which SOPS writes files.
type sopsFormat struct {
	// suffixes are those of the keys of a Secret whose values Flux writes in the format
	// when it has decrypted them.
	suffixes []string
	// marker is by what Flux knows that a value is encrypted, in the format:
	// https://github.com/fluxcd/kustomize-controller/blob/main/internal/decryptor/decryptor.go
	marker string
	// isEncrypted reports whether SOPS encrypted all of a file.
	isEncrypted func(content []byte) bool
}

// sopsFormats are the formats of SOPS; the last is that of the keys with any other
// suffix.
var sopsFormats = []sopsFormat{
	{[]string{".yaml", ".yml"}, "mac: ENC[", isEncryptedYAML},
	{[]string{".json", ".dockerconfigjson"}, `"mac": "ENC[`, isEncryptedJSON},
	{[]string{".env"}, "sops_mac=ENC[", isEncryptedDotenv},
	{[]string{".ini"}, "[sops]", isEncryptedINI},
	{[]string{""}, `"mac": "ENC[`, isEncryptedBinary},
}

// isEncryptedFile reports whether the value of a key of a Secret is a file that SOPS
// encrypted and that Flux decrypts.
func isEncryptedFile(key string, content []byte) bool {
	i := slices.IndexFunc(sopsFormats, func(format sopsFormat) bool {
		return slices.ContainsFunc(format.suffixes, func(suffix string) bool { return strings.HasSuffix(key, suffix) })
	})
	for _, other := range sopsFormats {
		// Of several formats that a value is marked with, Flux takes any.
		if bytes.Contains(content, []byte(other.marker)) != (other.marker == sopsFormats[i].marker) {
			return false
		}
	}
	return sopsFormats[i].isEncrypted(content)
}

// isMarked reports whether something of a value may be encrypted.
func isMarked(content []byte) bool { return bytes.Contains(content, []byte("ENC[AES256_GCM,")) }

var (
	yamlComment   = regexp.MustCompile(`#.*`)
	yamlDirective = regexp.MustCompile(`(?m)^%`)
)

func isEncryptedYAML(content []byte) bool {
	if yamlDirective.Match(content) {
		return false
	}
	for _, comment := range yamlComment.FindAll(content, -1) { // no encrypted value has a #
		if !encryptedComment.Match(comment) {
			return false
		}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for documents := 0; ; documents++ {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents > 0
		}
		if err != nil || !isEncryptedDocument(&document) {
			return false
		}
	}
}

// isEncryptedDocument reports whether all of a document is encrypted but its metadata.
func isEncryptedDocument(document *yaml.Node) bool {
	var values map[string]any
	if !isPlain(document) || document.Decode(&values) != nil { // as it does not where a key is there twice
		return false
	}
	metadata, _ := values["sops"].(map[string]any)
	delete(values, "sops")
	return isSOPSMetadata(metadata) && isEncrypted(values)
}

// isPlain reports whether a node has no anchors and tags, whose names anybody can read, and
// nothing that hides a value behind another: neither merges nor, as it makes text of all keys, two
// keys of one value, such as 1 and 0x1.
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

func isEncryptedJSON(content []byte) bool {
	return json.Valid(content) && isEncryptedYAML(content)
}

// isEncryptedBinary reports whether SOPS encrypted a file of no format: as one value of
// JSON.
func isEncryptedBinary(content []byte) bool {
	var file map[string]any
	_ = json.Unmarshal(content, &file)
	_, isText := file["data"].(string)
	return isText && len(file) == 2 && isEncryptedJSON(content)
}

func isEncryptedDotenv(content []byte) bool {
	var values []any
	metadata := map[string]any{}
	isRead := readEntries(string(content), "=", func(key, value string) {
		if name, ok := strings.CutPrefix(key, "sops_"); ok {
			metadata[name] = value
		} else {
			values = append(values, value)
		}
	})
	return isRead && isSOPSMetadata(metadata) && isEncrypted(values)
}

var (
	// sopsSection matches the head of the section of metadata, which SOPS writes last.
	sopsSection = regexp.MustCompile(`(?m)^[ \t]*\[sops\][ \t\r]*$`)
	iniSection  = regexp.MustCompile(`(?m)^[ \t]*\[[^\[\]\n]+\][ \t\r]*$`)
	iniLines    = regexp.MustCompile(`(?s)""".*?"""`)
)

func isEncryptedINI(content []byte) bool {
	parts := sopsSection.Split(string(content), 2)
	if len(parts) < 2 {
		return false
	}
	var values []any
	metadata := map[string]any{}
	return readEntries(iniSection.ReplaceAllString(parts[0], ""), "=:", func(_, value string) { values = append(values, value) }) &&
		readEntries(iniLines.ReplaceAllString(parts[1], ""), "=:", func(key, value string) { metadata[key] = value }) &&
		isSOPSMetadata(metadata) && isEncrypted(values)
}

// readEntries calls use for the key and the value of each line of text. It returns false where
// a line is neither an entry nor an encrypted comment.
func readEntries(text, separators string, use func(key, value string)) bool {
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		end := strings.IndexAny(line, separators)
		switch {
		case line == "", encryptedComment.MatchString(line):
		case strings.ContainsAny(line[:1], "#;"), end < 0:
			return false
		default:
			use(strings.TrimSpace(line[:end]), strings.TrimSpace(line[end+1:]))
		}
	}
	return true
}
