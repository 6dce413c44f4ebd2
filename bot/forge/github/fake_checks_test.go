package github_test

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"holdfast/bot"
)

type run struct {
	id int64
	runBody
	notes []note
}

type runBody struct {
	Name       string `json:"name"`
	HeadSHA    string `json:"head_sha"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"`
	ExternalID string `json:"external_id"`
	DetailsURL string `json:"details_url"`
	Output     struct {
		Title       string `json:"title"`
		Summary     string `json:"summary"`
		Annotations []note `json:"annotations"`
	} `json:"output"`
}

type note struct {
	Path    string `json:"path"`
	Start   int    `json:"start_line"`
	End     int    `json:"end_line"`
	Level   string `json:"annotation_level"`
	Message string `json:"message"`
}

type status struct {
	commit, state, description, url string
}

func (f *fake) checkRoutes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET " + repo + "/commits/{sha}/check-runs": f.listRuns,
		"POST " + repo + "/check-runs":              f.write(f.runsOfApps(f.makeRun)),
		"PATCH " + repo + "/check-runs/{id}":        f.write(f.runsOfApps(f.updateRun)),
		"POST " + repo + "/statuses/{sha}":          f.write(f.makeStatus),
	}
}

func (f *fake) runsOfApps(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if account(r.Header.Get("Authorization")) != "holdfast-app[bot]" {
			refuse(w, 403, "You must authenticate via a GitHub App.")
			return
		}
		handle(w, r)
	}
}

func (f *fake) listRuns(w http.ResponseWriter, r *http.Request) {
	sha, query := r.PathValue("sha"), r.URL.Query()
	if f.commits[sha] == nil {
		refuse(w, 422, "No commit found for SHA: "+sha)
		return
	}
	all := []any{}
	for _, c := range slices.Backward(f.runs) {
		if c.HeadSHA == sha && c.Name == query.Get("check_name") && query.Get("app_id") == "5" {
			all = append(all, c.view())
		}
	}
	if query.Get("filter") != "all" { // the latest of each name
		all = all[:min(len(all), 1)]
	}
	answer(w, 200, map[string]any{"total_count": len(all), "check_runs": all})
}

func (c *run) view() map[string]any {
	return map[string]any{
		"id": c.id, "name": c.Name, "head_sha": c.HeadSHA, "status": c.Status, "conclusion": c.Conclusion, "external_id": c.ExternalID,
		"output": map[string]any{"title": c.Output.Title, "summary": c.Output.Summary, "annotations_count": len(c.notes)},
	}
}

func (f *fake) makeRun(w http.ResponseWriter, r *http.Request) {
	c := &run{}
	decode(r, &c.runBody)
	if f.commits[c.HeadSHA] == nil {
		refuse(w, 422, "No commit found for SHA: "+c.HeadSHA)
		return
	}
	if c.accept(w, c.runBody) {
		c.id = f.id()
		f.runs = append(f.runs, c)
		answer(w, 201, c.view())
	}
}

func (f *fake) updateRun(w http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(f.runs, func(c *run) bool { return strconv.FormatInt(c.id, 10) == r.PathValue("id") })
	if i < 0 {
		refuse(w, 404, "Not Found")
		return
	}
	c, body := f.runs[i], f.runs[i].runBody
	body.Output.Annotations = nil
	decode(r, &body)
	if c.accept(w, body) {
		answer(w, 200, c.view())
	}
}

// accept takes a body over, or refuses what GitHub would; annotations are added to those that are there.
func (c *run) accept(w http.ResponseWriter, body runBody) bool {
	switch {
	case len(body.Output.Annotations) > 50:
		refuse(w, 422, "annotations exceeds a maximum quantity of 50")
		return false
	case utf8.RuneCountInString(body.Output.Summary) > 65_535 || utf8.RuneCountInString(body.Output.Title) > 255:
		refuse(w, 422, "output is too long")
		return false
	}
	c.runBody = body
	c.notes = append(c.notes, body.Output.Annotations...)
	return true
}

func (f *fake) makeStatus(w http.ResponseWriter, r *http.Request) {
	var in struct {
		State, Description, Context string
		TargetURL                   string `json:"target_url"`
	}
	decode(r, &in)
	sha := r.PathValue("sha")
	switch {
	case f.commits[sha] == nil:
		refuse(w, 422, "No commit found for SHA: "+sha)
	case utf8.RuneCountInString(in.Description) > 140 || in.Context != "holdfast":
		refuse(w, 422, "Validation Failed")
	default:
		f.statuses = append(f.statuses, &status{sha, in.State, in.Description, in.TargetURL})
		answer(w, 201, map[string]any{"state": in.State})
	}
}

// checks lists what people see, newest first.
func (f *fake) checks(sha string) []bot.Check {
	var out []bot.Check
	for _, c := range slices.Backward(f.runs) {
		if c.HeadSHA != sha {
			continue
		}
		check := bot.Check{Commit: sha, Verdict: bot.Verdict(c.Conclusion), Title: c.Output.Title, Summary: c.Output.Summary, URL: c.DetailsURL}
		if c.Status != "completed" {
			check.Verdict = bot.Pending
		}
		for _, n := range c.notes {
			check.Notes = append(check.Notes, bot.CheckNote{Path: n.Path, Line: n.Start, Message: n.Message})
		}
		out = append(out, check)
	}
	for _, s := range slices.Backward(f.statuses) {
		if s.commit == sha {
			out = append(out, bot.Check{Commit: sha, Verdict: bot.Verdict(cmp.Or(s.state, "?")), Title: s.description, URL: s.url})
		}
	}
	return out
}
