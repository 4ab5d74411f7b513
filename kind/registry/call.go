package registry

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// maxDuration is how long a function of a kind may take.
const maxDuration = 10 * time.Second

// ErrHangs reports that a function of a kind did not return in time. It goes on in the background until
// the program ends.
var ErrHangs = fmt.Errorf("does not return within %s: it must return for every valid object", maxDuration)

// call calls a function of a kind. If the function panics or hangs, the error has its name.
func call[T any](name string, function func() (T, error)) (T, error) {
	type outcome struct {
		result T
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: fmt.Errorf("%s ends its goroutine: have it return", name)}
		defer func() {
			if cause := recover(); cause != nil {
				o.err = fmt.Errorf("%s panics: %v", name, cause)
			}
			done <- o
		}()
		result, err := function()
		if err != nil {
			_ = err.Error() // may panic as well
		}
		o.result = result
		o.err = err
	}()
	timer := time.NewTimer(maxDuration)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.result, o.err
	case <-timer.C:
		return outcome{}.result, fmt.Errorf("%s %w", name, ErrHangs)
	}
}

// joined is the type of the result of errors.Join.
var joined = reflect.TypeOf(errors.Join(errors.ErrUnsupported))

// Errors splits an error of errors.Join, or an aggregate or list of field errors, into its parts. A
// prefix of all of them becomes the prefix of each.
func Errors(err error) (all []error) {
	var parts []error
	prefix := ""
	switch e := err.(type) { //nolint:errorlint // it looks into each error by itself
	case nil:
		return nil
	case interface{ Errors() []error }:
		parts = e.Errors()
	case interface{ Unwrap() []error }:
		if reflect.TypeOf(err) != joined {
			return []error{err} // a sentence with several errors in it
		}
		parts = e.Unwrap()
	case interface{ Unwrap() error }:
		inner := Errors(e.Unwrap())
		before, isLast := strings.CutSuffix(err.Error(), fmt.Sprint(e.Unwrap()))
		if len(inner) < 2 || !isLast {
			return []error{err}
		}
		parts = inner
		prefix = before
	default:
		return []error{err}
	}
	for _, part := range parts {
		for _, one := range Errors(part) {
			if prefix != "" {
				one = fmt.Errorf("%s%w", prefix, one)
			}
			all = append(all, one)
		}
	}
	return all
}
