package loop

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/seed-7a986423/autocode/feedback"
)

// SchemaNames lists what Schema knows.
func SchemaNames() []string {
	return []string{"verify", "spec", "plan", "snapshot", "config", "report"}
}

// Schema returns the JSON Schema of one of autocode's file formats. Every file of that format
// that autocode writes is valid against it.
func Schema(name string) ([]byte, error) {
	var value any
	switch name {
	case "verify":
		value = &Verdict{}
	case "spec":
		value = &Spec{}
	case "plan":
		value = &Plan{}
	case "snapshot":
		value = &Snapshot{}
	case "config":
		value = &repoConfig{}
	case "report":
		value = &feedback.Report{}
	default:
		return nil, fmt.Errorf("there is no schema %q; there are %s", name, strings.Join(SchemaNames(), ", "))
	}
	reflector := jsonschema.Reflector{ExpandedStruct: true, Anonymous: true, Mapper: mapEnum}
	schema := reflector.Reflect(value)
	schema.Title = "autocode " + name
	if name == "config" {
		// Every key of a repository's configuration may be left out.
		schema.Required = nil
		for _, d := range schema.Definitions {
			d.Required = nil
		}
	}
	nullable(schema)
	for _, d := range schema.Definitions {
		nullable(d)
	}
	return json.MarshalIndent(schema, "", "  ")
}

// nullable lets every list and map be null, since Go writes an empty one so (lists that readers
// rely on are filled by Settle), and the exit code of a report, which nobody may know.
func nullable(s *jsonschema.Schema) {
	if s.Properties == nil {
		return
	}
	for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
		if v := pair.Value; v.Type == "array" || pair.Key == "exit_code" || v.Type == "object" && v.AdditionalProperties != nil && v.Properties == nil {
			pair.Value = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{v, {Type: "null"}}}
		}
	}
}

// JSONSchemaExtend gives a stage its two forms: one that ran, and {"skipped": true, "reason"}.
func (Stage) JSONSchemaExtend(s *jsonschema.Schema) {
	ran := *s
	ran.Definitions = nil
	properties := jsonschema.NewProperties()
	properties.Set("skipped", &jsonschema.Schema{Const: true})
	properties.Set("reason", &jsonschema.Schema{Type: "string"})
	*s = jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "object", Properties: properties, Required: []string{"skipped", "reason"}, AdditionalProperties: jsonschema.FalseSchema},
		&ran,
	}}
	nullable(&ran)
	ran.Required = slices.DeleteFunc(ran.Required, func(name string) bool { return name != "pass" })
}

// mapEnum writes the typed strings of this package as enumerations. It returns nil for all other
// types, which are then reflected.
func mapEnum(t reflect.Type) *jsonschema.Schema {
	values, known := enums[t.String()]
	if !known {
		return nil
	}
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, v)
	}
	return s
}

// enums lists the values of the typed strings that appear in published formats.
var enums = map[string][]string{
	"loop.Kind":       names(KindBug, KindFeature, KindRefactor, KindTests, KindDependency, KindDocs),
	"loop.Zone":       names(ZoneGreen, ZoneAmber, ZoneRed),
	"loop.ProofKind":  names(ProofRedGreen, ProofGreenGreen, ProofReview, ProofNone),
	"loop.ProofState": names(ProofPass, ProofFail, ProofError, ProofMissing),
	"loop.Severity":   names(SeverityBlock, SeverityApprove, SeverityNote),
	"loop.Phase":      names(append(Phases(), "")...),
	"feedback.Class": names(feedback.ClassCode, feedback.ClassEnvironment, feedback.ClassTimeout, feedback.ClassOOM,
		feedback.ClassFlaky, feedback.ClassInfrastructure, feedback.ClassNone),
	"feedback.Status": names(feedback.StatusPass, feedback.StatusFail, feedback.StatusError),
}

func names[S ~string](values ...S) []string {
	list := make([]string, 0, len(values))
	for _, v := range values {
		list = append(list, string(v))
	}
	return list
}
