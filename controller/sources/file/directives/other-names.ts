/** Directives that people who come from elsewhere write, and what they are called here. */
export const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ['abort', 'respond'],
  ['add_header', 'header'],
  ['auth_basic', 'basic_auth'],
  ['basicauth', 'basic_auth'],
  ['error', 'respond'],
  ['gzip', 'encode'],
  ['include', 'import'],
  ['limit_req', 'rate_limit'],
  ['location', 'handle'],
  ['proxy', 'reverse_proxy'],
  ['proxy_pass', 'reverse_proxy'],
  ['ratelimit', 'rate_limit'],
  ['redirect', 'redir'],
  ['return', 'respond'],
  ['rewrite', 'handle_path'],
  ['route', 'handle'],
  ['static_response', 'respond'],
  ['try_files', 'file_server'],
  ['uri', 'handle_path'],
]);

/** The same for globals. */
export const OTHER_GLOBALS: ReadonlyMap<string, string> = new Map([
  ['acme_ca', 'acme_directory'],
  ['default_bind', 'bind'],
  ['grace_period', 'drain_timeout'],
  ['listen', 'bind'],
  ['worker_connections', 'max_connections'],
]);

/** Globals of others that are said in another way here. */
export const GLOBALS_ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ['admin', 'where the Admin API listens is a flag, --admin-listen'],
  ['auto_https', 'a site stays on HTTP with "tls off" inside it'],
  ['debug', 'how much is logged is a flag, --log-level debug'],
  ['order', 'the order of directives is always the same'],
  ['servers', 'write trusted_proxies without a block around it'],
]);
