package registry

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// patience is how long a function of a kind may take.
const patience = 10 * time.Second

// ErrHangs is the error of a function of a kind that did not return in time. Nothing can end such a
// function: it goes on until the program ends.
var ErrHangs = fmt.Errorf("does not return within %s: have it end, whatever the object says", patience)

// call calls a function of a kind, and calls it by its name in the error where the function panics
// or does not return in time.
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
			_ = err.Error() // which may panic as well
		}
		o.result, o.err = result, err
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.result, o.err
	case <-timer.C:
		return outcome{}.result, fmt.Errorf("%s %w", name, ErrHangs)
	}
}

// joined is the type of what errors.Join returns.
var joined = reflect.TypeOf(errors.Join(errors.ErrUnsupported))

// Errors returns the errors of which one is made by errors.Join, as an aggregate or by a list of
// field errors, each with the words that stand before all of them.
func Errors(err error) (all []error) {
	var parts []error
	prefix := ""
	switch e := err.(type) { //nolint:errorlint // it looks into each error by itself
	case nil:
		return nil
	case interface{ Errors() []error }:
		parts = e.Errors()
	case interface{ Unwrap() []error }:
		if parts = e.Unwrap(); reflect.TypeOf(err) != joined {
			return []error{err} // words with several errors in them
		}
	case interface{ Unwrap() error }:
		inner := Errors(e.Unwrap())
		before, isLast := strings.CutSuffix(err.Error(), fmt.Sprint(e.Unwrap()))
		if len(inner) < 2 || !isLast {
			return []error{err}
		}
		parts, prefix = inner, before
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
