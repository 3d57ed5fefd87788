-- +goose Up
-- Partitions, one for each day, are made and dropped by the store.
create table results (
  monitor bigint not null, slot bigint not null, location text not null, kind text not null,
  started bigint not null, status text not null, reason text not null, step text not null, message text not null,
  total_ms double precision not null, init_ms double precision, list_ms double precision, dns_ms double precision,
  tcp_ms double precision, tls_ms double precision, first_byte_ms double precision,
  tools integer, digest text not null, maintenance boolean not null,
  primary key (monitor, slot, location, kind)
) partition by range (slot);
create table results_default partition of results default;
alter table schedule set (fillfactor = 70);
