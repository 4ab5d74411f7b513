package gatehouse

import (
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/memcached"
)

// kubeletExpand expands a container's command and args as the kubelet does: it is Expand of
// k8s.io/kubernetes/third_party/forked/golang/expansion with one value for all variables.
func kubeletExpand(text, value string) string {
	var expanded strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		expanded.WriteString(before)
		if !found {
			return expanded.String()
		}
		_, rest, closed := strings.Cut(after, ")")
		switch first, size := utf8.DecodeRuneInString(after); {
		case size == 0:
			return expanded.String() + "$"
		case first == '$':
			expanded.WriteString("$")
			text = after[size:]
		case first == '(' && closed:
			expanded.WriteString(value)
			text = rest
		default:
			expanded.WriteString("$" + string(first))
			text = after[size:]
		}
	}
}

func TestKubeletExpandIsFaithful(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "$": "$", "a$": "a$", "$$": "$", "$$$": "$$", "$$$$": "$$", "$(A)": "X", "$$(A)": "$(A)", "$$$(A)": "$X", "$(": "$(", "$(A": "$(A",
		"$()": "X", "${A}": "${A}", "$A$(B)": "$AX", "$ü$(A)": "$üX", "($(A))": "(X)", "$((1+1))": "X)", "$(A)$(B)": "XX",
	} {
		if got := kubeletExpand(text, "X"); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// The shell and memcached get the texts of a spec byte for byte.
func TestTextsReachTheProgram(t *testing.T) {
	for _, text := range []string{
		"kill -TERM $$", `echo "$(CURRENCY)"`, "$", "$$", "$$$", "$$$$(A)", "$(", "$)", "$((1+1))", "${A}", "$'a'", "a$", "$\n$", "$\r\n", "\t$ ", "$ü$", "\\$(A)", "'$(A)'", "`$(A)`", "$\x00(A)",
	} {
		checkReaches(t, text)
	}
	texts := rapid.StringOf(rapid.SampledFrom([]rune("$$$(){}A \r\n\\\"'ü\u2028\U0001F600")))
	rapid.Check(t, func(t *rapid.T) { checkReaches(t, texts.Draw(t, "text")) })
}

func checkReaches(t rapid.TB, text string) {
	t.Helper()
	pod := podOf(t, expand(t, at.Kind, &cnatv1alpha1.At{Spec: cnatv1alpha1.AtSpec{Command: text}})[0])
	command := pod.Spec.Containers[0].Command
	if got := kubeletExpand(command[2], "; rm -rf /"); got != text || len(command) != 3 {
		t.Errorf("sh gets %q, want %q", got, text)
	}

	cache := &cachev1alpha1.Memcached{Spec: cachev1alpha1.MemcachedSpec{Args: []string{"-v", text}}}
	cache.Spec.MemoryLimit = ptr.To(resource.MustParse("64Mi"))
	args := podOf(t, expand(t, memcached.Kind, cache)[0]).Spec.Containers[0].Args
	if got := kubeletExpand(args[len(args)-1], "; rm -rf /"); got != text {
		t.Errorf("memcached gets %q, want %q", got, text)
	}
}
