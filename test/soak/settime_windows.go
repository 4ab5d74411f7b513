package main

import (
	"errors"
	"time"
)

func setTime(time.Time) error { return errors.ErrUnsupported }
