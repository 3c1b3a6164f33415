-- What is in a folder: its list, its count, and emptying it when it goes. And the starred ones, which are few.
set local lock_timeout = '5s';

create index conversations_in_folder on conversations (user_id, folder_id, created_at desc, conversation_id)
    include (status, discarded) where folder_id is not null;
create index conversations_starred on conversations (user_id, created_at desc, conversation_id)
    where status = 'completed' and not discarded and starred;
