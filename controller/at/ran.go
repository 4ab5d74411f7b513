package at

import (
	"slices"
	"strings"
	"time"

	"example.com/gatehouse/kind/condition"
)

// longestRan is the number of earlier specs in a status. For older ones it has a bound.
const longestRan = 32

// remember adds an earlier spec to the front of ran. Entries that it pushes out move the bound.
func (s *snapshot) remember(digest string, scheduled time.Time) {
	ran := slices.DeleteFunc(slices.Clone(s.ran), func(entry string) bool { return digestOf(entry) == digest })
	ran = slices.Insert(ran, 0, digest+"@"+scheduled.UTC().Format(time.RFC3339))
	for _, entry := range ran[min(len(ran), longestRan):] {
		due := s.scheduleOf(entry)
		if s.forgotten == nil || s.forgotten.Time.Before(due) {
			s.forgotten = wholeSeconds(due)
		}
	}
	s.ran = ran[:min(len(ran), longestRan)]
}

// isForgotten reports whether the current spec is due by the latest schedule of the entries that were
// pushed out.
func (s *snapshot) isForgotten() bool {
	return s.forgotten != nil && !s.at.due.Truncate(time.Second).After(s.forgotten.Time)
}

// ranBefore reports whether the status names the current spec among earlier ones.
func (s *snapshot) ranBefore() bool { return slices.ContainsFunc(s.ran, s.isCurrent) }

// isRanForeign reports whether another client wrote ran. Once that is reported, the controller owns the list.
func (s *snapshot) isRanForeign() bool {
	isReported := condition.FindReady(s.at.Status.Conditions).Reason == ReasonStatusOverwritten
	return isReported || s.at.isRanForeign
}

func (s *snapshot) hasRan(digest string) bool {
	return slices.ContainsFunc(s.ran, func(entry string) bool { return digestOf(entry) == digest })
}

func digestOf(entry string) string {
	digest, _, _ := strings.Cut(entry, "@")
	return digest
}

// scheduleOf returns the schedule in an entry of ran. Earlier versions wrote entries without one: their
// commands were due by now.
func (s *snapshot) scheduleOf(entry string) time.Time {
	_, schedule, _ := strings.Cut(entry, "@")
	due, err := time.Parse(time.RFC3339, schedule)
	if err != nil {
		return s.now
	}
	return due
}
