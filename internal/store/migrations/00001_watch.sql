-- +goose Up
-- Times are milliseconds of Unix time, UTC. JSON is text. $ID is the dialect's identity.
create table monitors (
  id $ID, name text not null unique, external_id text unique, source text not null,
  revision bigint not null, approvals bigint not null default 0, definition text not null, paused boolean not null default false,
  group_name text not null default '', search text not null default '', -- lower case: name, URL, tags, group
  headers $BLOB, -- sealed JSON object of name to value
  created_at bigint not null, updated_at bigint not null
);
create table monitor_tags (
  monitor bigint not null references monitors (id) on delete cascade, tag text not null,
  primary key (monitor, tag)
);
create index monitor_tags_tag on monitor_tags (tag);

-- One row for each monitor and location: the source of truth of when checks run.
create table schedule (
  monitor bigint not null references monitors (id) on delete cascade, location text not null,
  interval_ms bigint not null, offset_ms bigint not null, budget_ms bigint not null,
  next_due bigint not null,               -- next regular slot
  extra_due bigint, extra_kind text,      -- a confirming or a manual check
  due bigint,                             -- the earlier of both; null while paused
  busy_until bigint not null default 0,   -- a check is in flight,
  busy_slot bigint, busy_kind text,       -- this one
  primary key (monitor, location)
);
create index schedule_due on schedule (location, due) where due is not null;

create table states (
  monitor bigint primary key references monitors (id) on delete cascade,
  state text not null,                     -- watch.State
  availability text not null, surface text not null, posture text not null, check_status text not null,
  last_check bigint not null default 0
);
create index states_availability on states (availability);
create index states_surface on states (surface);
create index states_posture on states (posture);
-- The last report of each location.
create table reports (
  monitor bigint not null references monitors (id) on delete cascade, location text not null,
  at bigint not null, report $BLOB not null,
  primary key (monitor, location)
);

create table surfaces (
  digest text primary key, body $BLOB not null, -- gzip of surface.Save
  size bigint not null, created_at bigint not null
);
-- What a monitor saw, from when to when, by location.
create table sightings (
  id $ID, monitor bigint not null references monitors (id) on delete cascade, location text not null,
  digest text not null, first_at bigint not null, last_at bigint not null
);
create index sightings_monitor on sightings (monitor, first_at);
create index sightings_digest on sightings (digest);

create table approvals (
  id $ID, monitor bigint not null references monitors (id) on delete cascade,
  source text not null, approver text not null, reason text not null, digest text not null,
  baseline $BLOB not null,                -- gzip of a lockfile with one baseline
  created_at bigint not null, expires_at bigint, ended_at bigint, ended_by text
);
create index approvals_monitor on approvals (monitor) where ended_at is null;

create table events (
  id $ID, monitor bigint, at bigint not null, name text not null, axis text not null,
  text text not null, actor text not null, data text
);
create index events_monitor on events (monitor, id);
create index events_at on events (at);

create table incidents (
  id $ID, monitor bigint, axis text not null, location text not null, key text not null unique,
  incident text not null,                 -- watch.Incident
  opened_at bigint not null, resolved_at bigint, due bigint
);
create unique index incidents_open on incidents (coalesce(monitor, 0), axis, location) where resolved_at is null;
create index incidents_due on incidents (due) where due is not null;
create index incidents_monitor on incidents (monitor, id);

create table notifications (
  id $ID, key text not null unique, incident bigint not null, monitor bigint, channel text not null,
  phase text not null, at bigint not null, snapshot text not null,
  status text not null, attempts bigint not null default 0, sent_at bigint, error text not null default ''
);
create index notifications_incident on notifications (incident);
create table deliveries (
  id $ID, notification bigint not null, channel text not null, key text not null, attempt bigint not null,
  at bigint not null, ok boolean not null, detail text not null, duration_ms double precision not null
);
create index deliveries_channel on deliveries (channel, id);

create table channels (
  id $ID, name text not null unique, type text not null, source text not null, shown text not null,
  settings $BLOB not null,                -- sealed JSON object
  created_at bigint not null, updated_at bigint not null
);
create table escalations (name text primary key, source text not null, escalation text not null);
create table windows (id $ID, name text not null unique, source text not null, definition text not null, created_by text not null default '');

create table rollups (
  monitor bigint not null, period bigint not null, -- length in ms
  bucket bigint not null, checks bigint not null, up bigint not null, degraded bigint not null, down bigint not null,
  misconfigured bigint not null, unknown bigint not null, skipped bigint not null, maintenance bigint not null,
  tools bigint, stages text not null, -- JSON: stage -> {avg,p50,p95,p99,max}
  primary key (monitor, period, bucket)
) $NOROWID;

create table accounts (
  id $ID, name text not null unique, role text not null, password text not null, disabled boolean not null default false,
  created_at bigint not null, updated_at bigint not null
);
create table sessions (
  token text primary key,                 -- SHA-256 of the token, hexadecimal
  account bigint not null references accounts (id) on delete cascade,
  created_at bigint not null, seen_at bigint not null, expires_at bigint not null, address text not null, agent text not null
);
create table api_keys (
  id $ID, name text not null unique, hash text not null unique, role text not null, created_by text not null,
  created_at bigint not null, expires_at bigint, revoked_at bigint, used_at bigint
);
create table audit (id $ID, at bigint not null, actor text not null, action text not null, object text not null, detail text not null);
create table settings (name text primary key, value text not null);
