package manifest

import (
	"encoding/json"
	"iter"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"example.com/gatehouse/render/decoding"
)

// Values yields content and every value inside it, parents first, each with its key in a mapping.
// The key of content itself, and of an item in a list, is empty.
func Values(content any) iter.Seq2[string, any] {
	return func(yield func(key string, value any) bool) { yieldAll("", content, yield) }
}

// yieldAll reports whether yield accepted value and all values inside it.
func yieldAll(key string, value any, yield func(key string, value any) bool) bool {
	if !yield(key, value) {
		return false
	}
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			if !yieldAll(key, item, yield) {
				return false
			}
		}
	case []any:
		for _, item := range value {
			if !yieldAll("", item, yield) {
				return false
			}
		}
	}
	return true
}

// Contains reports whether any of the Values of content matches.
func Contains(content any, matches func(key string, value any) bool) bool {
	for key, value := range Values(content) {
		if matches(key, value) {
			return true
		}
	}
	return false
}

// HasHugeQuantity reports whether content has a text that takes minutes to parse as a quantity.
func HasHugeQuantity(content any) bool {
	return Contains(content, func(_ string, value any) bool {
		text, _ := value.(string)
		return decoding.IsHugeQuantity(text)
	})
}

// JSON returns the JSON of a value of an object for people: without the escapes for HTML.
func JSON(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // it comes from YAML or JSON
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// IsNever reports whether a schedule of a CronJob has no date, such as 30 February. The controller reads it by the same
// library, which panics on a time zone alone: pkg/controller/cronjob/cronjob_controllerv2.go of Kubernetes.
func IsNever(schedule string) bool {
	if strings.Contains(schedule, "TZ=") && !strings.Contains(schedule, " ") {
		return false
	}
	parsed, err := cron.ParseStandard(schedule)
	beforeLeapYear := time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)
	return err == nil && parsed.Next(beforeLeapYear).IsZero()
}
