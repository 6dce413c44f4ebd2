package chart

import "runtime"

// maxFrames bounds how deep evaluations may stand in each other. One of tpl takes some 25 frames and a copy of all of
// the chart's templates, and the engine itself counts named templates only.
const maxFrames = 4096

// tooDeep says whether the limit is passed where it is called.
func tooDeep() bool {
	var frames [maxFrames]uintptr
	return runtime.Callers(0, frames[:]) == maxFrames
}
