package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/mcpvigil/mcpvigil/probe"
)

// probe checks one monitor now and answers as blackbox_exporter does. Its target is the
// name of a monitor, never an address.
func (s *server) probe(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("target")
	if name == "" {
		writeText(w, http.StatusBadRequest, "name a monitor: /probe?target=NAME\n")
		return
	}
	m, _, _, err := s.find(r.Context(), name)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	ctx, cancel := scrapeTime(r)
	defer cancel()
	report, err := s.live.check(ctx, m.ID)
	if err != nil && (ctx.Err() == nil || r.Context().Err() != nil) {
		s.refuse(w, r, err)
		return
	}
	registry := prometheus.NewRegistry()
	answer(registry, report)
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// scrapeTime leaves Prometheus the time to read the answer.
func scrapeTime(r *http.Request) (context.Context, context.CancelFunc) {
	seconds, err := strconv.ParseFloat(r.Header.Get("X-Prometheus-Scrape-Timeout-Seconds"), 64)
	if err != nil || seconds <= 0 || seconds > liveLimit.Seconds() {
		return context.WithTimeout(r.Context(), liveLimit)
	}
	limit := time.Duration(seconds * float64(time.Second))
	return context.WithTimeout(r.Context(), max(limit/2, limit-500*time.Millisecond))
}

// answer fills the registry of one probe. A nil report is that of a check that did not
// end in time.
func answer(registry *prometheus.Registry, report *probe.Report) {
	gauge := func(name, help string, value float64, labels prometheus.Labels) {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels})
		g.Set(value)
		registry.MustRegister(g)
	}
	success := 0.0
	if report != nil && report.Passed() {
		success = 1
	}
	gauge("probe_success", "1 when the server is healthy or degraded.", success, nil)
	if report == nil {
		return
	}
	gauge("probe_duration_seconds", "How long the check took.", float64(report.TotalMs)/1000, nil)
	for _, status := range []probe.Status{probe.StatusHealthy, probe.StatusDegraded, probe.StatusUnhealthy, probe.StatusMisconfigured, probe.StatusUnknown} {
		value := 0.0
		if status == report.Status {
			value = 1
		}
		gauge("mcpvigil_status", "1 for the verdict of the check.", value, prometheus.Labels{"status": string(status)})
	}
	for _, step := range []struct{ step, name, help string }{
		{probe.StepInitialize, "mcp_init_ms", "Time of the handshake, in milliseconds."},
		{probe.StepTools, "mcp_list_ms", "Time to list every page of tools, in milliseconds."},
	} {
		if c := report.Result(step.step); c != nil && !c.Skipped {
			gauge(step.name, step.help, float64(c.DurationMs), nil)
		}
	}
	if report.Surface != nil && report.Surface.Tools != nil {
		gauge("mcp_tool_count", "Tools that the server listed.", float64(*report.Surface.Tools), nil)
	}
	if report.Certificate != nil && !report.Certificate.NotAfter.IsZero() {
		gauge("probe_ssl_earliest_cert_expiry", "When the certificate ends, as Unix time.", float64(report.Certificate.NotAfter.Unix()), nil)
	}
}
