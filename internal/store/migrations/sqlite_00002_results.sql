-- +goose Up
create table results (
  monitor integer not null, slot integer not null, location text not null, kind text not null,
  started integer not null, status text not null, reason text not null, step text not null, message text not null,
  total_ms real not null, init_ms real, list_ms real, dns_ms real, tcp_ms real, tls_ms real, first_byte_ms real,
  tools integer, digest text not null, maintenance integer not null,
  primary key (monitor, slot, location, kind)
) strict, without rowid;
