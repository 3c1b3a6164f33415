-- users_forgetting_words has taken its place.
set local lock_timeout = '5s';

drop index users_forgetting;
