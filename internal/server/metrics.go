package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/mcpvigil/mcpvigil/internal/engine"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const collectLimit = 20 * time.Second

// newRegistry holds all metrics of this process.
func (s *server) newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&monitorCollector{newMonitorMetrics(), s},
		&engineCollector{newEngineMetrics(), s},
	)
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "mcpvigil_build_info", Help: "The version that runs; always 1.", ConstLabels: prometheus.Labels{"version": s.Version},
	})
	info.Set(1)
	r.MustRegister(info)
	if s.PolicyReports != nil {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "mcpvigil_csp_reports_total", Help: "Reports of browsers that the policy of a page kept something from happening.",
		}, func() float64 { return float64(s.PolicyReports()) }))
	}
	return r
}

func (s *server) metrics(w http.ResponseWriter, r *http.Request) {
	promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2, Timeout: collectLimit + 10*time.Second}).ServeHTTP(w, r)
}

// monitorCollector gives the series of each monitor, from its stored state. A monitor
// that is paused has the one that says so.
type monitorCollector struct {
	monitorMetrics
	s *server
}

// monitorMetrics are the metrics with series of their own for each monitor.
type monitorMetrics struct {
	toolCount, initMs, listMs, checkMs, stateOf, checkOf, ageOf, pausedOf, openOf, certificate, credential, collected *prometheus.Desc
}

func newMonitorMetrics() monitorMetrics {
	of := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"monitor"}, more...), nil)
	}
	return monitorMetrics{
		toolCount:   of("mcp_tool_count", "Tools that the server listed."),
		initMs:      of("mcp_init_ms", "Time of the handshake in the last check that passed, in milliseconds."),
		listMs:      of("mcp_list_ms", "Time to list every page of tools in the last check that passed, in milliseconds."),
		checkMs:     of("mcpvigil_monitor_response_ms", "Time of the whole last check that passed, in milliseconds."),
		stateOf:     of("mcpvigil_monitor_state", "1 for the state that an axis of the monitor has.", "axis", "state"),
		checkOf:     of("mcpvigil_monitor_check", "1 for the status of the monitor's check: pass, fail or unknown.", "status"),
		ageOf:       of("mcpvigil_monitor_last_check_age_seconds", "Time since the last check."),
		pausedOf:    of("mcpvigil_monitor_paused", "1 for a monitor that is paused."),
		openOf:      of("mcpvigil_monitor_open", "Changes and findings that fail until a person decides.", "kind"),
		certificate: of("mcpvigil_monitor_certificate_end_seconds", "When the certificate that ends first does, as Unix time."),
		credential:  of("mcpvigil_monitor_credential_end_seconds", "When the credential ends, as Unix time, where that is known."),
		collected:   prometheus.NewDesc("mcpvigil_monitors_collected", "1 when the monitors could be read for this answer.", nil, nil),
	}
}

// Describe sends every descriptor.
func (c *monitorCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.toolCount, c.initMs, c.listMs, c.checkMs, c.stateOf, c.checkOf, c.ageOf, c.pausedOf, c.openOf, c.certificate, c.credential, c.collected,
	} {
		ch <- d
	}
}

// Collect sends the series of all monitors.
func (c *monitorCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectLimit)
	defer cancel()
	names := map[string]int{}
	now := c.s.Now()
	err := c.s.each(ctx, store.MonitorFilter{}, func(m *watch.Monitor, st *watch.State) {
		// Different names may read the same once they are safe.
		name := plain.Line(m.Definition.Name, 200)
		if names[name]++; names[name] > 1 {
			name += " (" + strconv.FormatInt(m.ID, 10) + ")"
		}
		c.monitor(ch, name, m, st, now)
	})
	read := 1.0
	if err != nil {
		read = 0
		c.s.Logger.ErrorContext(ctx, "metrics of monitors could not be read", "error", err)
	}
	ch <- prometheus.MustNewConstMetric(c.collected, prometheus.GaugeValue, read)
}

func (c *monitorCollector) monitor(ch chan<- prometheus.Metric, name string, m *watch.Monitor, st *watch.State, now time.Time) {
	send := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{name}, labels...)...)
	}
	v := watch.Current(m, st, now)
	if v.Paused {
		send(c.pausedOf, 1)
		return
	}
	send(c.stateOf, 1, string(watch.Availability), v.Availability.State)
	send(c.stateOf, 1, string(watch.Surface), v.Surface.State)
	send(c.stateOf, 1, string(watch.Posture), v.Posture.State)
	send(c.checkOf, 1, v.Check)
	if st == nil {
		return
	}
	if !st.LastCheck.IsZero() {
		send(c.ageOf, now.Sub(st.LastCheck).Seconds())
	}
	send(c.openOf, float64(st.OpenChanges), "changes")
	send(c.openOf, float64(st.OpenFindings), "findings")
	for d, at := range map[*prometheus.Desc]time.Time{c.certificate: st.CertificateEnds, c.credential: st.CredentialEnds} {
		if !at.IsZero() {
			send(d, float64(at.Unix()))
		}
	}
	if v.Stale {
		return // what was measured then says nothing about now
	}
	if st.Tools != nil {
		send(c.toolCount, float64(*st.Tools))
	}
	if st.Timing.Total > 0 {
		send(c.checkMs, st.Timing.Total)
	}
	for d, ms := range map[*prometheus.Desc]*float64{c.initMs: st.Timing.Init, c.listMs: st.Timing.List} {
		if ms != nil {
			send(d, *ms)
		}
	}
}

// engineCollector gives the health of the watch itself.
type engineCollector struct {
	engineMetrics
	s *server
}

// engineMetrics are the metrics of the watch as a whole.
type engineMetrics struct {
	checksTotal, skippedTotal, listingsTotal, startLag, checkSeconds, batchRows,
	batchSeconds, storeRetries, storeFailures, dispatchedTotal, dispatchFailures, deliveriesTotal,
	panicsTotal, running, waiting, queued, dueChecks, dueLag,
	monitorsCount, openIncidents, notifications, oldestPending, databaseBytes *prometheus.Desc
}

func newEngineMetrics() engineMetrics {
	own := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("mcpvigil_"+name, help, labels, nil)
	}
	return engineMetrics{
		checksTotal:      own("checks_total", "Finished checks of this process, by the status of their report.", "status"),
		skippedTotal:     own("checks_skipped_total", "Slots in which no check ran."),
		listingsTotal:    own("confirming_listings_total", "Fresh listings that were needed to confirm a change."),
		startLag:         own("check_start_lag_seconds", "How long after its slot a check started."),
		checkSeconds:     own("check_seconds", "How long checks took."),
		batchRows:        own("sink_batch_results", "How many results one transaction stored."),
		batchSeconds:     own("sink_batch_seconds", "How long the transaction of a batch took."),
		storeRetries:     own("store_retries_total", "Transactions that were tried again."),
		storeFailures:    own("store_failures_total", "Results that could not be stored."),
		dispatchedTotal:  own("dispatched_jobs_total", "Jobs that this process put into queues."),
		dispatchFailures: own("dispatch_failures_total", "Rounds of the dispatcher that failed."),
		deliveriesTotal:  own("deliveries_total", "Attempts to deliver a notification.", "outcome"),
		panicsTotal:      own("panics_total", "Panics that were caught."),
		running:          own("checks_running", "Checks in flight in this process."),
		waiting:          own("sink_waiting_results", "Results that wait to be stored in this process."),
		queued:           own("queue_jobs", "Jobs that wait in a queue, in the whole database.", "queue"),
		dueChecks:        own("due_checks", "Checks that are due and not yet claimed, in the whole database."),
		dueLag:           own("due_lag_seconds", "How late the latest of the due checks is."),
		monitorsCount:    own("monitors", "Monitors, in the whole database.", "paused"),
		openIncidents:    own("open_incidents", "Open incidents, by axis.", "axis"),
		notifications:    own("notifications", "Notifications that are pending or have failed.", "status"),
		oldestPending:    own("notification_oldest_pending_seconds", "How long the oldest pending notification waits."),
		databaseBytes:    own("database_bytes", "Size of the database."),
	}
}

// Describe sends every descriptor.
func (c *engineCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.checksTotal, c.skippedTotal, c.listingsTotal, c.startLag, c.checkSeconds, c.batchRows, c.batchSeconds, c.storeRetries, c.storeFailures,
		c.dispatchedTotal, c.dispatchFailures, c.deliveriesTotal, c.panicsTotal, c.running, c.waiting, c.queued,
		c.dueChecks, c.dueLag, c.monitorsCount, c.openIncidents, c.notifications, c.oldestPending, c.databaseBytes,
	} {
		ch <- d
	}
}

// Collect sends the counters of this process and the numbers of the database.
func (c *engineCollector) Collect(ch chan<- prometheus.Metric) {
	m := c.s.Engine.Metrics()
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for status, n := range m.Checks {
		counter(c.checksTotal, n, status)
	}
	counter(c.skippedTotal, m.Skipped)
	counter(c.listingsTotal, m.Listings)
	counter(c.storeRetries, m.StoreRetries)
	counter(c.storeFailures, m.StoreFailures)
	counter(c.dispatchedTotal, m.Dispatched)
	counter(c.dispatchFailures, m.DispatchFailures)
	counter(c.deliveriesTotal, m.Sent, "sent")
	counter(c.deliveriesTotal, m.SendFailures, "failed")
	counter(c.panicsTotal, m.Panics)
	for d, h := range map[*prometheus.Desc]engine.Histogram{c.startLag: m.StartLag, c.checkSeconds: m.CheckSeconds, c.batchRows: m.BatchRows, c.batchSeconds: m.BatchSeconds} {
		ch <- histogram(d, h)
	}
	gauge(c.running, float64(m.Running))
	gauge(c.waiting, float64(m.Waiting))
	for queue, n := range m.Queued {
		gauge(c.queued, float64(n), queue)
	}
	c.stats(gauge)
}

func (c *engineCollector) stats(gauge func(d *prometheus.Desc, v float64, labels ...string)) {
	ctx, cancel := context.WithTimeout(context.Background(), collectLimit)
	defer cancel()
	var st store.Stats
	err := c.s.Store.View(ctx, func(t *store.Tx) (err error) {
		st, err = t.Stats(ctx, c.s.Now())
		return err
	})
	if err != nil {
		c.s.Logger.ErrorContext(ctx, "numbers of the database could not be read", "error", err)
		return
	}
	gauge(c.dueChecks, float64(st.Due))
	gauge(c.dueLag, st.Lag.Seconds())
	gauge(c.monitorsCount, float64(st.Monitors-st.Paused), "false")
	gauge(c.monitorsCount, float64(st.Paused), "true")
	for axis, n := range st.OpenIncidents {
		gauge(c.openIncidents, float64(n), string(axis))
	}
	gauge(c.notifications, float64(st.Pending), watch.Pending)
	gauge(c.notifications, float64(st.Failed), watch.Failed)
	gauge(c.oldestPending, st.OldestPending.Seconds())
	gauge(c.databaseBytes, float64(st.Bytes))
}

// histogram turns counts of single buckets into those that Prometheus adds up.
func histogram(d *prometheus.Desc, h engine.Histogram) prometheus.Metric {
	buckets := map[float64]uint64{}
	var sum uint64
	for i, bound := range h.Bounds {
		if i < len(h.Counts) {
			sum += h.Counts[i]
		}
		buckets[bound] = sum
	}
	return prometheus.MustNewConstHistogram(d, h.Count, h.Sum, buckets)
}
