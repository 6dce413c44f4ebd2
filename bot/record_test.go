package bot

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	for _, r := range []Record{
		{},
		{Files: "ab12", Base: "c0ffee", Proof: "1d"},
		{FirstSeen: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC), About: map[string]string{"0a": "1b"}},
		{Files: "ab12", CloseAfterHeal: true, About: map[string]string{"0a": "1b", "0c": "1d"}},
	} {
		body := "text <!-- holdfast record files=ffff -->\n" + r.String() + "\n" + Marker("aa", "bb") + "\n"
		if diff := cmp.Diff(r, ParseRecord(body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", r, diff)
		}
	}
	if diff := cmp.Diff(Record{}, ParseRecord("none")); diff != "" {
		t.Error(diff)
	}
}
