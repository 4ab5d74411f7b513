package text

import (
	"slices"
	"testing"
)

func TestConflictsReturnsFirstLines(t *testing.T) {
	for content, want := range map[string][]int{
		"":                                      nil,
		"a: b\n":                                nil,
		"<<<<<<< a\n=======\n>>>>>>> b":         {1},
		"<<<<<<< a\r\n=======\r\n>>>>>>> b\r\n": {1},
		"a\n<<<<<<<\nb\n|||||||\n=======\n>>>>>>>\n":                           {2},
		"<<<<<<< a\n=======\n>>>>>>> b\n\n<<<<<<< a\n=======\n>>>>>>> b\n":     {1, 5},
		"<<<<<<< a\n=======\n":                                                 nil,
		"<<<<<<< a\n>>>>>>> b\n=======\n":                                      nil,
		"\n=======\n>>>>>>> b\n":                                               nil,
		"||||||| a":                                                            nil,
		" <<<<<<< a\n\t=======\n# >>>>>>> b\n":                                 nil,
		"<<<<<<<< a\n========\n>>>>>>>> b\n":                                   nil,
		"<<<<<<<a\n=======b\n>>>>>>>c\n<<<<<< a\n====\n>>>>>> b":               nil,
		"<<<<<<< a\n<<<<<<<<< b\n=========\n>>>>>>>>> c\n=======\n>>>>>>> d\n": {1},
	} {
		if got := Conflicts([]byte(content)); !slices.Equal(got, want) {
			t.Errorf("%q: lines %v, want %v", content, got, want)
		}
	}
}
