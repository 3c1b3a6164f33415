-- The list of the people whom a user knows, and the conversation that a user's capture is filling.
set local lock_timeout = '5s';

alter table people add constraint person_name_length check (char_length(name) between 1 and 100);
create index people_listed on people (user_id, created_at desc, person_id);
create index conversations_in_progress on conversations (user_id, created_at desc, conversation_id)
    where status = 'in_progress';
