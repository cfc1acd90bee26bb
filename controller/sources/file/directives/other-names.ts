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
  ['static_response', 'respond'],
  ['try_files', 'file_server'],
]);

/** The same for globals. */
export const OTHER_GLOBALS: ReadonlyMap<string, string> = new Map([
  ['acme_ca', 'acme_directory'],
  ['default_bind', 'bind'],
  ['grace_period', 'drain_timeout'],
  ['listen', 'bind'],
  ['worker_connections', 'max_connections'],
]);
