package review

import kindat "example.com/gatehouse/kind/at"

// deadlines are changes of how late is too late for Ats that do not say so themselves.
func (w *world) deadlines() (effects []Effect) {
	for _, c := range w.Changes {
		if c.Before == nil || c.After == nil {
			continue
		}
		before, after := kindat.DefaultDeadline(c.Before), kindat.DefaultDeadline(c.After)
		if before == after {
			continue
		}
		e := Effect{Type: DeadlineChanged, Object: idOf(c.After)}
		e.What = say("an At without a starting deadline of its own starts %s instead of %s", atMostLate(after), atMostLate(before))
		if after == 0 {
			e.Risk = "a new cluster, or one restored from a backup, would run again whatever is past"
		}
		effects = append(effects, e)
	}
	return effects
}

func atMostLate(seconds int64) Sentence {
	if seconds == 0 {
		return "however late"
	}
	return say("at most %s late", count(seconds, "second"))
}
