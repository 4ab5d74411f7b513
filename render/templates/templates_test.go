package templates

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

func textOf(text string) (string, error) { return NewMaker(template.New(""), nil).Make(text, nil) }

func TestFunctionsRefuseToMakeTooMuch(t *testing.T) {
	const (
		large   = `{{$s := repeat 100000 "a"}}`
		doubled = `{{$l := list 1}}{{range until 60}}{{$l = list $l $l}}{{end}}`
		cyclic  = `{{$d := dict}}{{$_ := set $d "a" $d}}`
	)
	for _, text := range []string{
		`{{repeat 10000000000000 "x" | len}}`, `{{until 10000000000000}}`, `{{until -10000000000000}}`,
		`{{untilStep 0 1000000000000 1}}`, `{{untilStep 0 9223372036854775807 4611686018427387904}}`,
		`{{seq 1000000000000}}`, `{{seq 1 1000000000000}}`, `{{seq 1 1 1000000000000}}`, `{{seq 0 4611686018427387904 9223372036854775806}}`,
		`{{indent 1000000000 "x"}}`, `{{"x" | nindent 1000000000}}`, `{{indent 10000 (repeat 10000 "\n")}}`,
		`{{printf (repeat 100 "%1000000d") 1}}`, `{{printf (repeat 100 "%*d") 1000000 1}}`, `{{printf "%1000000d" (until 100)}}`,
		`{{printf (repeat 100 "%.1000000f") 1.0}}`, large + `{{printf (repeat 1000 "%[1]s") $s}}`,
		large + `{{replace "a" $s $s}}`, large + `{{replace "" $s $s}}`, large + `{{join $s (until 1000)}}`, large + `{{wrapWith 1 $s $s}}`,
		large + `{{regexReplaceAll "a" $s $s}}`, large + `{{mustRegexReplaceAll "" $s $s}}`, large + `{{regexReplaceAllLiteral "a" $s $s}}`,
		large + `{{regexReplaceAll "(.*)" $s (repeat 1000 "$1")}}`,
		`{{$s := "x"}}{{range until 60}}{{$s = cat $s $s}}{{end}}`, `{{$s := "x"}}{{range until 60}}{{$s = print $s $s}}{{end}}`,
		`{{$s := "\""}}{{range until 60}}{{$s = quote $s}}{{end}}`, `{{$s := "x"}}{{range until 200}}{{$s = b64enc $s}}{{end}}`,
		`{{$s := "/"}}{{range until 200}}{{$s = urlquery $s $s}}{{end}}`, `{{$l := list 1}}{{range until 60}}{{$l = concat $l $l}}{{end}}`,
		doubled + `{{toString $l}}`, doubled + `{{toJson $l}}`, doubled + `{{deepCopy $l | len}}`, doubled + `{{printf "%v" $l}}`, doubled + `{{join "" $l}}`,
		cyclic + `{{toString $d}}`, cyclic + `{{merge (dict) $d | len}}`, `{{randAlphaNum 100000000000}}`,
		large + `{{range until 1000}}{{$s}}{{end}}`,
	} {
		if made, err := textOf(text); err == nil || !strings.Contains(err.Error(), ErrLarge.Error()) {
			t.Errorf("%s: %d bytes, %v", text, len(made), err)
		}
	}
}

// Where a function makes no more than it may, it makes what sprig and Go make.
func TestFunctionsReturnWhatSprigReturns(t *testing.T) {
	plain := template.New("").Funcs(sprig.TxtFuncMap())
	for _, text := range []string{
		`{{repeat 3 "ab"}}`, `{{until 3}} {{until -3}} {{untilStep 0 10 3}} {{untilStep 3 0 -1}} {{untilStep 0 10 0}}`,
		`{{seq 3}} {{seq 2 4}} {{seq 0 2 6}} {{seq 4 2}} {{seq}}`, `{{indent 2 "a\nb"}}{{nindent 2 "a\nb"}}`,
		`{{printf "%5d|%-5s|%*d|%[2]s|%.3f|100%%|%d" 1 "a" 7 2 1.5}}`, `{{printf "%99999999d" 1}}`, `{{printf "plain"}}`,
		`{{replace "a" "bb" "banana"}}{{replace "" "-" "abc"}}{{replace "a" "" "banana"}}`, `{{join "," (list 1 "a" nil)}}{{join "," "a"}}`,
		`{{wrapWith 3 "\n" "a long text"}}{{wrap 3 "a long text"}}`, `{{regexReplaceAll "(a)(n)" "banana" "$2$1"}}{{regexReplaceAllLiteral "a" "banana" "$1"}}`,
		`{{mustRegexReplaceAll "(" "a" "b"}}`, `{{regexReplaceAll "a*" "baac" "-"}}`, `{{repeat -1 "a"}}`, `{{substr 5 2 "abc"}}`, `{{substr 0 2 "abc"}}{{trunc 2 "abc"}}{{abbrev 5 "abcdefg"}}`,
		`{{quote "a" 1 nil}}{{squote 2}}{{cat 1 nil "a"}}`, `{{toJson (dict "a" (list 1 nil))}}{{html "<a>"}}{{js "'"}}{{urlquery "a b"}}{{print 1 2 "a"}}{{println 1}}`,
		`{{derivePassword 1 "long" "a" "b" "c"}}`, `{{merge (dict "a" 1) (dict "a" 2 "b" 3)}}{{deepCopy (list 1 2)}}{{splitList "" "abc"}}{{split "," "a,b"}}`,
		`{{add 1 2}}{{kindOf 1}}{{typeOf "a"}}{{ternary 1 2 true}}{{default 1 0}}{{slice (list 1 2 3) 1}}{{first (list)}}`, `{{fail "no"}}`, `{{dig "a" "b" 1 (dict)}}`,
	} {
		var want bytes.Buffer
		wrong := template.Must(template.Must(plain.Clone()).Parse(text)).Execute(&want, nil)
		got, err := textOf(text)
		if (err == nil) != (wrong == nil) || err != nil && err.Error() != wrong.Error() || err == nil && got != want.String() {
			t.Errorf("%s: %q %v, want %q %v", text, got, err, &want, wrong)
		}
	}
}

func TestATextThatAnotherRunMakesOtherwiseIsAnError(t *testing.T) {
	for _, call := range []string{"now", `randAlpha 3`, "uuidv4", `genCA "a" 1`, `date "2006" ""`, `printf "%p" "a"`} {
		if made, err := textOf("{{" + call + "}}"); !errors.Is(err, ErrChanging) {
			t.Errorf("%s: %q, %v", call, made, err)
		}
	}
	m := NewMaker(template.New(""), nil)
	_, _ = m.Make("{{now}}", nil)
	if made, err := m.Make(`{{define "a"}}b{{end}}c`, nil); made != "c" || err != nil {
		t.Errorf("after another text: %q, %v", made, err)
	}
	if _, err := m.Make(`{{template "a"}}`, nil); err == nil {
		t.Error("a text knows the templates of another one")
	}
}

func TestNoFunctionReachesTheWorld(t *testing.T) {
	for _, call := range []string{`env "HOME"`, `expandenv "a"`, `getHostByName "a"`} {
		if made, err := textOf("{{" + call + "}}"); err == nil || !strings.Contains(err.Error(), "not defined") {
			t.Errorf("%s: %q, %v", call, made, err)
		}
	}
}

// A tool has its own functions, options and delimiters, and the same bounds.
func TestMakerIsThatOfItsTool(t *testing.T) {
	m := NewMaker(template.New("").Delims("<<", ">>").Option("missingkey=error"), template.FuncMap{"toYaml": ToYAML})
	for text, want := range map[string]string{
		`<< .a | toYaml >>{{ .a }}`:    "b: 1{{ .a }}",
		`<< .b >>`:                     `map has no entry for key "b"`,
		`<< repeat 1000000000 "ab" >>`: ErrLarge.Error(),
		`<< toYaml .large >>`:          ErrLarge.Error(),
	} {
		made, err := m.Make(text, map[string]any{"a": map[string]any{"b": 1}, "large": strings.Repeat("a", Most)})
		if got := fmt.Sprint(made, err); !strings.Contains(got, want) {
			t.Errorf("%s: %.200s, want %s", text, got, want)
		}
	}
}
