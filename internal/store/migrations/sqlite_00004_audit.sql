-- +goose Up
-- The audit is only added to. Its oldest entries go once the setting audit_anchor, the
-- id and the hash of the last one that is dropped, says so.
create trigger audit_update before update on audit begin select raise(abort, 'the audit is not changed'); end;
create trigger audit_delete before delete on audit
  when old.id > coalesce((select cast(value as integer) from settings where name = 'audit_anchor'), 0)
  begin select raise(abort, 'the audit is not changed'); end;
