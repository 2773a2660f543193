package feedback

import "strings"

// readSarif reads the Static Analysis Results Interchange Format, version 2.1.0 (OASIS).
func readSarif(s *sink, text []byte) bool {
	type message struct{ Text, Markdown string }
	var d struct {
		Runs []struct {
			Tool struct {
				Driver struct {
					Name  string
					Rules []struct {
						ID                   string
						DefaultConfiguration struct{ Level string }
						ShortDescription     message
					}
				}
			}
			Results []struct {
				RuleID    string
				RuleIndex *int
				Level     string
				Kind      string
				Message   message
				Baseline  string `json:"baselineState"`
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
				Suppressions []struct{ Status string }
			}
		}
	}
	if !decode(text, &d) || len(d.Runs) == 0 {
		return false
	}
	for _, run := range d.Runs {
		level, short := map[string]string{}, map[string]string{}
		for _, r := range run.Tool.Driver.Rules {
			level[r.ID], short[r.ID] = r.DefaultConfiguration.Level, r.ShortDescription.Text
		}
		for _, r := range run.Results {
			if r.RuleID == "" && r.RuleIndex != nil && *r.RuleIndex >= 0 && *r.RuleIndex < len(run.Tool.Driver.Rules) {
				r.RuleID = run.Tool.Driver.Rules[*r.RuleIndex].ID
			}
			if r.Level == "" {
				r.Level = level[r.RuleID]
			}
			switch {
			case r.Level == "note", r.Level == "none", r.Baseline == "absent", len(r.Suppressions) > 0 && r.Suppressions[0].Status != "rejected":
				continue
			case r.Kind == "pass", r.Kind == "notApplicable", r.Kind == "informational", r.Kind == "open":
				continue
			}
			if r.Message.Text == "" {
				r.Message.Text = short[r.RuleID]
			}
			file, at := "", 0
			if len(r.Locations) > 0 {
				p := r.Locations[0].PhysicalLocation
				file, at = p.ArtifactLocation.URI, p.Region.StartLine
			}
			kind := KindLint
			if tool := strings.ToLower(run.Tool.Driver.Name); strings.Contains(tool, "trivy") || strings.Contains(tool, "govulncheck") || strings.Contains(tool, "grype") || strings.Contains(tool, "gitleaks") {
				kind = KindSecurity
			}
			s.finding(kind, r.RuleID, file, at, r.Message.Text)
		}
	}
	return true
}
