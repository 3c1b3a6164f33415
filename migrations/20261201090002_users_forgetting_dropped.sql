-- no-transaction
drop index concurrently users_forgetting;
