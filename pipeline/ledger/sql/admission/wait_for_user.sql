-- Waits for the lock of one user that a batch found locked.
select from users where user_id = $1 for share
