package source

import (
	"fmt"
	"testing"
)

func TestConflicts(t *testing.T) {
	for content, want := range map[string]string{
		"":                                      "",
		"a: b\n":                                "",
		"<<<<<<< a\n=======\n>>>>>>> b":         "1-3 whole",
		"<<<<<<< a\r\n=======\r\n>>>>>>> b\r\n": "1-3 whole",
		"a\n<<<<<<<\nb\n|||||||\n=======\n>>>>>>>\n":                           "2-6 whole",
		"<<<<<<< a\n=======\n>>>>>>> b\n\n<<<<<<< a\n=======\n":                "1-3 whole, 5-6",
		"<<<<<<< a\n<<<<<<< a\n=======\n=======\n>>>>>>> b\n":                  "1-1, 2-5 whole",
		"<<<<<<< a\n>>>>>>> b\n=======\n":                                      "1-2, 3-3",
		"=======\n>>>>>>> b\n":                                                 "1-1, 2-2",
		"||||||| a":                                                            "1-1",
		" <<<<<<< a\n\t=======\n# >>>>>>> b\n":                                 "",
		"<<<<<<<< a\n========\n>>>>>>>> b\n":                                   "",
		"<<<<<<<a\n=======b\n>>>>>>>c\n<<<<<< a\n====\n>>>>>> b":               "",
		"<<<<<<< a\n<<<<<<<<< b\n=========\n>>>>>>>>> c\n=======\n>>>>>>> d\n": "1-6 whole",
	} {
		got := ""
		for i, c := range conflicts([]byte(content)) {
			if i > 0 {
				got += ", "
			}
			got += fmt.Sprintf("%d-%d", c.line, c.last)
			if c.isWhole {
				got += " whole"
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s", content, got, want)
		}
	}
}
