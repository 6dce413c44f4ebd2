package access

import (
	"maps"
	"slices"
)

// power is what an identity can change by its own rights.
type power struct {
	// everything says that it may do all that the API server offers, so that the targets are the least of it.
	everything  bool
	count       int
	sensitivity int
	objects     set
	// steps count the ways to whoever has the power, so that of equal ones the nearest is told.
	steps int
}

// above orders powers: who can do everything first, then who can change more, then what opens more.
func (p power) above(o power) bool {
	switch {
	case p.everything != o.everything:
		return p.everything
	case p.count != o.count:
		return p.count > o.count
	}
	if p.sensitivity != o.sensitivity {
		return p.sensitivity > o.sensitivity
	}
	return p.steps < o.steps
}

// by is the power from one edge further away.
func (p power) by(e edge) power {
	if e.way != "" {
		p.steps++
	}
	return p
}

// adds says whether p can change something that o cannot.
func (p power) adds(o power) bool {
	return !o.everything && (p.everything || !p.objects.within(o.objects))
}

func (p *power) join(o power) {
	p.everything = p.everything || o.everything
	p.sensitivity = max(p.sensitivity, o.sensitivity)
	p.objects.join(o.objects)
	p.count = p.objects.len()
}

// node is an identity, or a pool of identities any of whom can be had at once: the service accounts of a namespace,
// say. Pools keep the edges few where many may become many.
type node struct {
	subject Subject // of an identity
	pool    string  // what a pool or a role is called
	own     power
	out     []edge

	// best is the greatest power that is within reach, and next the edge that leads to it; -1 where it is the
	// node's own.
	best  power
	next  int
	index int // of Tarjan's algorithm, from 1
	low   int
	stack bool
}

func (n *node) String() string {
	if n.pool != "" {
		return n.pool
	}
	return n.subject.String()
}

// edge is one way to become another. A way that is empty is membership, or the choice of one of a pool.
type edge struct {
	to    int
	way   Way
	grant Grant
	by    Request
}

// graph says who can become whom.
type graph struct {
	nodes    []*node
	subjects map[Subject]int
	pools    map[string]int
	done     int // Tarjan's counter
	open     []int
}

func (g *graph) subject(s Subject) int {
	if i, ok := g.subjects[s]; ok {
		return i
	}
	g.subjects[s] = len(g.nodes)
	g.nodes = append(g.nodes, &node{subject: s, next: -1})
	return g.subjects[s]
}

// pool gives a pool by name; fill is called when it is new.
func (g *graph) pool(name string, fill func(pool int)) int {
	if i, ok := g.pools[name]; ok {
		return i
	}
	i := len(g.nodes)
	g.pools[name] = i
	g.nodes = append(g.nodes, &node{pool: name, next: -1})
	fill(i)
	return i
}

func (g *graph) connect(from, to int, way Way, grant Grant, by Request) {
	if from != to {
		g.nodes[from].out = append(g.nodes[from].out, edge{to, way, grant, by})
	}
}

// solve finds what each node can reach at best, in time linear in nodes and edges: components of nodes that can become
// each other share the best of them and of what they lead to (Tarjan's algorithm gives components after those that they
// lead to).
func (g *graph) solve() {
	for i := range g.nodes {
		if g.nodes[i].index == 0 {
			g.visit(i)
		}
	}
}

func (g *graph) visit(i int) {
	n := g.nodes[i]
	g.done++
	n.index, n.low, n.stack = g.done, g.done, true
	g.open = append(g.open, i)
	for _, e := range n.out {
		to := g.nodes[e.to]
		if to.index == 0 {
			g.visit(e.to)
			n.low = min(n.low, to.low)
		} else if to.stack {
			n.low = min(n.low, to.index)
		}
	}
	if n.low != n.index {
		return
	}
	at := slices.Index(g.open, i)
	component := slices.Clone(g.open[at:])
	g.open = g.open[:at]
	g.settle(component)
}

// settle gives all nodes of a component the best power, and the edges that lead to it by the fewest steps.
func (g *graph) settle(component []int) {
	inside := make(map[int]bool, len(component))
	for _, i := range component {
		inside[i] = true
		g.nodes[i].stack = false
	}
	holder, exit := component[0], -1
	best := g.nodes[holder].own
	for _, i := range slices.Sorted(maps.Keys(inside)) {
		if own := g.nodes[i].own; own.above(best) {
			best, holder, exit = own, i, -1
		}
	}
	for _, i := range slices.Sorted(maps.Keys(inside)) {
		for k, e := range g.nodes[i].out {
			if inside[e.to] {
				continue
			}
			if further := g.nodes[e.to].best.by(e); further.above(best) {
				best, holder, exit = further, i, k
			}
		}
	}
	into := map[int][]int{} // edges inside, turned round
	for _, i := range component {
		for _, e := range g.nodes[i].out {
			if inside[e.to] {
				into[e.to] = append(into[e.to], i)
			}
		}
	}
	g.nodes[holder].best, g.nodes[holder].next = best, exit
	reached := map[int]bool{holder: true}
	for queue := []int{holder}; len(queue) > 0; queue = queue[1:] {
		for _, i := range into[queue[0]] {
			if reached[i] {
				continue
			}
			reached[i] = true
			n := g.nodes[i]
			n.next = slices.IndexFunc(n.out, func(e edge) bool { return e.to == queue[0] })
			n.best = g.nodes[queue[0]].best.by(n.out[n.next])
			queue = append(queue, i)
		}
	}
}

// final follows the best edges from a node to the one whose own power it is, and gives the steps that are ways.
func (g *graph) final(i int) (end int, steps []edge) {
	for n := g.nodes[i]; n.next >= 0; n = g.nodes[i] {
		e := n.out[n.next]
		if e.way != "" {
			steps = append(steps, e)
		}
		i = e.to
	}
	return i, steps
}
