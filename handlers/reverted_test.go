package handlers

import "testing"

// TestRevertLines: only the line that GitHub's Revert button writes names what is reverted.
func TestRevertLines(t *testing.T) {
	for body, want := range map[string]string{
		"Reverts octo/shop#12":                 "12",
		"It broke.\r\n\r\nReverts #7\r\n":      "7",
		"This may be why it Reverts #7 or so.": "",
		"Reverts octo/shop#":                   "",
	} {
		got := ""
		if m := revertLine.FindStringSubmatch(body); m != nil {
			got = m[1]
		}
		if got != want {
			t.Errorf("%q reverts %q, want %q", body, got, want)
		}
	}
}
