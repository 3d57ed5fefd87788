-- +goose Up
-- The audit is only added to. Its oldest entries go once the setting audit_anchor, the
-- id and the hash of the last one that is dropped, says so.
create function audit_unchanged() returns trigger language plpgsql as $fn$
begin
  if tg_op = 'DELETE' then
    if old.id <= coalesce((select split_part(value, ' ', 1)::bigint from settings where name = 'audit_anchor'), 0) then
      return old;
    end if;
  end if;
  raise exception 'the audit is not changed';
end
$fn$;
create trigger audit_rows before update or delete on audit for each row execute function audit_unchanged();
create trigger audit_truncate before truncate on audit for each statement execute function audit_unchanged();
