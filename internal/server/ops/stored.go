package ops

import "github.com/mcpvigil/mcpvigil/internal/store"

// What is stored is shown as it is, and selected, under names of this package: who calls
// it has no need of package store.

// AuditFilter selects entries of the audit.
type AuditFilter = store.AuditFilter

// EventFilter selects events.
type EventFilter = store.EventFilter

// IncidentFilter selects incidents.
type IncidentFilter = store.IncidentFilter

// MonitorFilter selects monitors.
type MonitorFilter = store.MonitorFilter

// ResultFilter selects results of checks.
type ResultFilter = store.ResultFilter

// Counts are how many checks ended how.
type Counts = store.Counts

// Day is a day of a monitor in short.
type Day = store.Day

// Retention says for how long what is kept.
type Retention = store.Retention

// Stage is how long a stage of checks took.
type Stage = store.Stage

// StoredReport is the last report from a location.
type StoredReport = store.StoredReport

// Uptime is how much of a time a server worked.
type Uptime = store.Uptime

// The periods that results are summed up over.
const (
	FiveMinutes = store.FiveMinutes
	Hourly      = store.Hourly
	Daily       = store.Daily
)

// The stages of a check, by which Stage is found.
const (
	StageTotal     = store.StageTotal
	StageInit      = store.StageInit
	StageList      = store.StageList
	StageDNS       = store.StageDNS
	StageTCP       = store.StageTCP
	StageTLS       = store.StageTLS
	StageFirstByte = store.StageFirstByte
)

// SQLite is the dialect of a database in a file, and Forever a time for which what is
// stored is kept without an end.
const (
	SQLite  = store.SQLite
	Forever = store.Forever
)
