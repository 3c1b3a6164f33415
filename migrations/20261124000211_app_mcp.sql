set local lock_timeout = '5s';

-- An MCP server whose tools the app lends, and the bearer token for it: sealed where LISTEN_SECRETS_KEY is set.
alter table apps add column mcp_url text, add column mcp_token text;
