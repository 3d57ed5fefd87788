-- +goose Up
-- What people sign in with beside a password.
alter table accounts add column totp $BLOB;                       -- sealed secret of a code app; null: none
alter table accounts add column totp_step bigint not null default 0; -- that of the last code that was taken
alter table accounts add column recovery text not null default ''; -- hashes of unused codes, with spaces between them
alter table accounts add column subject text;                     -- issuer and subject of an OpenID provider
create unique index accounts_subject on accounts (subject);
create table passkeys (
  id $ID, account bigint not null references accounts (id) on delete cascade,
  credential text not null unique,        -- its id, base64url
  name text not null, data text not null, -- JSON of the library
  created_at bigint not null, used_at bigint
);
create index passkeys_account on passkeys (account);
-- What was asked of a browser and not answered yet. Each is used once.
create table challenges (
  hash text primary key,                  -- SHA-256 of what the browser gives back
  purpose text not null, data $BLOB not null, -- sealed
  expires_at bigint not null
);
create index challenges_purpose on challenges (purpose, expires_at);

-- Each row of the audit holds the hash of the one before it.
alter table audit add column hash text not null default '';

-- When a state was stored, so that what changed since can be asked for.
alter table states add column saved_at bigint not null default 0;
create index states_saved on states (saved_at, monitor);
create index monitors_updated on monitors (updated_at);

-- What one person accepted and a second one has to.
create table proposals (
  id $ID, monitor bigint not null references monitors (id) on delete cascade, account text not null,
  digest text not null, selection text not null, created_at bigint not null
);
create index proposals_monitor on proposals (monitor);
-- What a person looked at and does not approve.
create table rejections (
  id $ID, monitor bigint not null references monitors (id) on delete cascade, account text not null,
  digest text not null, changes text not null, reason text not null, created_at bigint not null
);
create index rejections_monitor on rejections (monitor, digest);

create table status_pages (
  slug text primary key, page text not null, password text not null default '', -- hash
  created_at bigint not null, updated_at bigint not null
);

-- What people do about incidents. Of the time of an acknowledgement it counts whether
-- there is one.
alter table incidents add column acknowledged_at bigint;
alter table incidents add column snoozed_until bigint;
alter table incidents add column assignee text not null default '';
update incidents set acknowledged_at = opened_at where incident like '%"acknowledged_at":"%';
create index incidents_resolved on incidents (resolved_at);
