package dashboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"holdfast/bot/serve"
	"holdfast/detect"
	"holdfast/gitops"
)

// browser is a real Chromium, and what it complains about.
type browser struct {
	context.Context
	mu         sync.Mutex
	complaints []string
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a browser")
	}
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Fatal("no Chromium: apt-get install -y chromium")
	}
	flags := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program), chromedp.DisableGPU)
	if os.Geteuid() == 0 {
		flags = append(flags, chromedp.NoSandbox) // Chromium refuses root its sandbox
	}
	allocator, end := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), flags...)
	t.Cleanup(end)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	b := &browser{Context: ctx}
	err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			b.complain("console: %s", e.Type)
		case *runtime.EventExceptionThrown:
			b.complain("exception: %s", e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			b.complain("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *browser) complain(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, fmt.Sprintf(format, args...))
}

func (b *browser) run(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// look is what a page looks like: the texts that a reader sees, and what is wrong with where they stand.
type look struct {
	Text   string
	Width  int // of what is laid out
	Ground string
	Faults []string
}

// measure runs in the page. Every run of text must lie inside the window, must not overlap another and must stand out
// against its ground by the ratio that WCAG 2.2 asks of small text (1.4.3, 4.5 to 1).
const measure = `(() => {
  const runs = [], faults = [];
  const rgb = text => { const c = text.match(/[\d.]+/g).map(Number); return c.length > 3 && c[3] === 0 ? null : c.slice(0, 3); };
  const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c) return c; } return [255, 255, 255]; };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; node = walker.nextNode();) {
    const text = node.textContent.trim(), e = node.parentElement;
    if (!text || e.closest('option') || !e.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const rects = [...range.getClientRects()].filter(r => r.width > 0.5 && r.height > 0.5 && r.right > 0);
    if (!rects.length) continue;
    const a = light(rgb(getComputedStyle(e).color)), b = light(ground(e)), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) faults.push('contrast ' + ratio.toFixed(2) + ' of ' + text.slice(0, 60));
    for (const r of rects) {
      if (r.right > innerWidth + 1) faults.push('beyond the window: ' + text.slice(0, 60));
      runs.push({ text, r });
    }
  }
  for (const e of document.querySelectorAll('input, select, button')) if (e.checkVisibility()) runs.push({ text: '<' + e.tagName + '>', r: e.getBoundingClientRect(), e });
  for (let i = 0; i < runs.length; i++) for (let j = i + 1; j < runs.length; j++) {
    const a = runs[i], b = runs[j];
    const wide = Math.min(a.r.right, b.r.right) - Math.max(a.r.left, b.r.left), high = Math.min(a.r.bottom, b.r.bottom) - Math.max(a.r.top, b.r.top);
    if (wide > 1 && high > 1 && a.text !== b.text && !(b.e && b.e.tagName === 'BUTTON' && b.e.textContent.trim() === a.text)) faults.push('overlap of ' + a.text.slice(0, 60) + ' and ' + b.text.slice(0, 60));
  }
  return JSON.stringify({ Text: document.body.innerText, Width: document.documentElement.scrollWidth, Ground: getComputedStyle(document.body).backgroundColor, Faults: faults });
})()`

func (b *browser) look(t *testing.T) look {
	t.Helper()
	answer, err := chromedp.Run(b, chromedp.Evaluate[string](measure))
	if err != nil {
		t.Fatal(err)
	}
	var out look
	if err := json.Unmarshal([]byte(answer), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func (b *browser) shoot(t *testing.T, name string) {
	t.Helper()
	picture, err := chromedp.Run(b, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), name+".png"), picture, 0o600); err != nil {
		t.Fatal(err)
	}
}

// crowded adds to the fleet what is long, foreign and hostile.
func crowded() []serve.Report {
	reports := fleet()
	north := &reports[0]
	for i, name := range []string{strings.Repeat("a-name-without-any-blank", 10), "מבחן-עברי", "日本語の名前", hostile} {
		north.Scan.Findings = append(north.Scan.Findings, detect.Finding{
			ID: fmt.Sprintf("0000000000c%d", i), Cluster: "north", Application: "team-" + name + "/" + name, Drift: true, Risk: detect.Medium, Cause: detect.CauseManual,
			Disposition: detect.AsIssue, Object: detect.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: name, Name: name}, Presence: detect.Both,
			Writer: &detect.Writer{User: name, Confidence: detect.ByManager, Time: now}, FirstSeen: now.Add(-time.Duration(i) * 100 * time.Hour),
			Fields: []detect.Field{{Path: gitops.Path{gitops.Field("data"), gitops.Field(name)}, Git: gitops.Present(name), Live: gitops.Present(strings.Repeat(name, 20)), Drift: true, Risk: detect.Medium, Reason: name}},
		})
	}
	for n := range 60 {
		north.Scan.Findings = append(north.Scan.Findings, detect.Finding{
			ID: fmt.Sprintf("00000000%04d", n), Cluster: "north", Application: "flux-system/shop", Drift: true, Risk: detect.Low, Cause: detect.CauseManual, Disposition: detect.Codify,
			Object: detect.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("settings-%d", n)}, FirstSeen: now.Add(-time.Duration(n) * time.Hour),
		})
	}
	return reports
}

func TestInARealBrowser(t *testing.T) {
	b := startBrowser(t)
	d := newDashboard(t, options(fixed(crowded()...)))
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)

	b.run(t, chromedp.Navigate(server.URL+"/drifts?risk=high"))
	if l := b.look(t); !strings.Contains(l.Text, "Access token") || strings.Contains(l.Text, "shop") {
		t.Fatalf("nobody has logged in, and the page says\n%s", l.Text)
	}
	b.shoot(t, "login")
	b.run(t,
		chromedp.SendKeys(chromedp.CSS(`input[name=token]`), token),
		chromedp.Submit(chromedp.CSS(`form.login`)),
		chromedp.WaitVisible(chromedp.CSS(`form.filter`)))
	if l := b.look(t); !strings.Contains(l.Text, "Deployment shop/web") || strings.Contains(l.Text, "Role shop/admin") {
		t.Fatalf("after the login, the page that was asked for says\n%s", l.Text)
	}

	pages := []struct {
		name, path string
		texts      []string
	}{
		{"overview", "/", []string{"Fleet", "Open drift by risk and age", "failing since 2h", "waiting for its first round", "Settled lately", "Service shop/old", "Log out"}},
		{"drifts", "/drifts", []string{"Open drift", "Role shop/admin", "alice@example.test", "pull request 12", "Page 1 of 2, 67 in all", "Next"}},
		{"drift", "/drift/0000000000a1", []string{"Deployment shop/web", "What changed", "spec.replicas", "- 3", "+ 5", "On the forge", "Proof", "History", "first seen, high risk"}},
		{"hostile", "/drift/0000000000c3", []string{`"><script>alert(1)</script>`, `\u202egnp.exe`}},
		{"applications", "/applications", []string{"flux-system/shop", "argocd/pay", "not assessed", "stalled"}},
	}
	grounds := map[string]string{}
	for _, width := range []int{390, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			for _, page := range pages {
				name := fmt.Sprintf("%s %s at %d", page.name, scheme, width)
				t.Run(name, func(t *testing.T) {
					media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
					if _, err := chromedp.Call(b, emulation.SetEmulatedMedia, media); err != nil {
						t.Fatal(err)
					}
					b.run(t, chromedp.EmulateViewport(int64(width), 900), chromedp.Navigate(server.URL+page.path))
					l := b.look(t)
					for _, text := range page.texts {
						if !strings.Contains(l.Text, text) {
							t.Errorf("a reader does not see %q in\n%s", text, l.Text)
						}
					}
					if l.Width > width {
						t.Errorf("the page is %d wide", l.Width)
					}
					for _, fault := range l.Faults[:min(len(l.Faults), 12)] {
						t.Error(fault)
					}
					grounds[scheme] = l.Ground
					b.shoot(t, strings.ReplaceAll(name, " ", "-"))
				})
			}
		}
	}
	if grounds["light"] == grounds["dark"] {
		t.Errorf("light and dark have the same ground %s", grounds["light"])
	}

	b.run(t, chromedp.Navigate(server.URL+"/drifts"), chromedp.Click(chromedp.CSS(`a[rel=next]`)), chromedp.WaitVisible(chromedp.CSS(`a[rel=prev]`)))
	if l := b.look(t); !strings.Contains(l.Text, "Page 2 of 2, 67 in all") {
		t.Errorf("the next page says\n%s", l.Text)
	}
	b.run(t, chromedp.Click(chromedp.CSS(`.who button`)), chromedp.WaitVisible(chromedp.CSS(`form.login`)), chromedp.Navigate(server.URL+"/"))
	if l := b.look(t); !strings.Contains(l.Text, "Access token") {
		t.Errorf("after the logout, the page says\n%s", l.Text)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, complaint := range b.complaints {
		t.Errorf("the browser complains: %s", complaint)
	}
}
