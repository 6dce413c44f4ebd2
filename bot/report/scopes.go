package report

// The sections, in the order in which they stand.
const (
	SectionBrief      = "State Alignment Executive Brief"
	SectionMechanism  = "How Drift Is Detected and Corrected Here"
	SectionMatrix     = "Drift Source Vulnerability Matrix"
	SectionBottleneck = "Reconciliation Bottleneck Assessment"
	SectionDetection  = "Detection Interval"
	SectionCompliance = "Compliance Gap Analysis"
	SectionPlan       = "Remediation Action Plan"
	SectionReview     = "Self-Review"
)

// What each section says of the six variables: for whom its figures and judgements hold.
const (
	scopeMechanism = "What follows is about {engine} on {provider}, for {clusters} of the tier {tier} with a detection interval of {interval}; " +
		"what it leaves unrecorded is what {standards} will ask for."
	scopeMatrix = "Drift on {provider} with {engine}, over {clusters}. Levels of risk are those of the tier {tier}, controls those of {standards}; " +
		"what is shorter than the interval of {interval} a poll may miss."
	scopeBottleneck = "{engine} with {clusters} on {provider}, each Application due every {interval}. In the tier {tier} a queue that falls behind is drift that " +
		"{standards} count as undetected for as long."
	scopeDetection  = "Whether {interval} is soon enough for the tier {tier} and {standards}, with {engine} on {provider} and {clusters} to look at."
	scopeCompliance = "Control references of {standards} for the tier {tier}. Evidence is what Holdfast's ledger has of {clusters} on {provider}; " +
		"what {engine} itself keeps is events alone, whatever the interval of {interval}."
	scopePlan = "Settings that {engine} has natively, for {clusters} on {provider}, tier {tier}, with a detection interval of {interval} and the controls of {standards} in mind."
)
