package serve

import (
	"context"
	"fmt"
	"path"
	"slices"

	"holdfast/bot"
	"holdfast/bot/store"
	"holdfast/detect"
)

// act says whether an event asks for rounds. What bots do asks for none, this bot's own doings among them, unless it
// moves a branch or ends a pull request.
func (s *Server) act(ctx context.Context, d store.Delivery) (rescan bool, err error) {
	e := d.Event
	switch {
	case e.Kind == bot.EventPush:
		return true, nil
	case e.Sender.Bot && e.Kind != bot.EventPullRequest:
		return false, nil
	case s.options.Events != nil:
		rescan, err := s.handle(ctx, d)
		return rescan && (!e.Sender.Bot || e.Action == "closed"), err
	case e.Kind == bot.EventComment:
		return false, nil // nobody reads comments
	}
	return !e.Sender.Bot || e.Action == "closed", nil
}

// handle gives an event to whoever acts on it. Of several about one thread, one at a time is acted on, in whichever
// process; the others are tried again.
func (s *Server) handle(ctx context.Context, d store.Delivery) (rescan bool, err error) {
	e := d.Event
	if e.Number > 0 {
		release, err := s.worker.Lock(ctx, "thread "+detect.Digest(e.Repo, string(e.Thread), fmt.Sprint(e.Number))[:20])
		if err != nil {
			return false, err
		}
		defer release()
	}
	return s.options.Events.Handle(ctx, d)
}

// FilesOf gives the files that declare what each drift is about: where its object stands, and what the render changed
// it with. What Git does not declare would be declared below its Application's folder.
func FilesOf(scan detect.Scan) map[string][]string {
	folders := map[string]string{}
	for _, a := range scan.Applications {
		folders[a.Application.ID()] = a.Application.Source.Path
	}
	out := map[string][]string{}
	for _, f := range scan.Findings {
		if !f.Drift {
			continue
		}
		var files []string
		if f.Declared != nil {
			files = append(files, f.Declared.Origin.File)
			for _, t := range f.Declared.Origin.Transformers {
				files = append(files, t.File)
			}
		}
		if folder, known := folders[f.Cluster+"/"+f.Application]; known && f.Declared == nil {
			files = append(files, path.Join(folder, "new.yaml"))
		}
		out[f.ID] = distinct(files)
	}
	return out
}

// distinct gives the non-empty texts, sorted, each once.
func distinct(texts []string) []string {
	texts = slices.DeleteFunc(texts, func(s string) bool { return s == "" })
	slices.Sort(texts)
	return slices.Compact(texts)
}
