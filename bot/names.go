package bot

// FieldName names one field of a finding, as Record.About has it: twelve hex digits.
func FieldName(finding, path string) string { return Hash(finding, path)[:12] }
