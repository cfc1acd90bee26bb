const VARIABLES = 'variables are not supported: write a handle with a matcher for each case';
const FAST_CGI = 'FastCGI is not supported: run a web server with PHP (its own image, nginx or FrankenPHP) and write reverse_proxy';
const PYTHON = 'only HTTP is spoken to upstreams: let the app server listen for HTTP (gunicorn, uvicorn) and write reverse_proxy';
const CERTIFICATE = 'write tls <certificate> <key> with both files, or only the global email for automatic certificates';
const UNCHANGED = 'responses of upstreams are forwarded unchanged, apart from header';
const TIMEOUTS = 'these timeouts are fixed, see docs/reference/connections.md';
const STREAMED = 'not needed: bodies are streamed in both directions';
const IN_BLOCK = (what: string, of: string): string => `write ${what} in the block of ${of}`;

/**
 * Directives of nginx that don't exist here, each with what to do instead, as in `docs/from-nginx.md`. Those that only have another name
 * here are in `other-names.ts`.
 */
export const NGINX_DIRECTIVES: ReadonlyMap<string, string> = new Map([
  ['server', 'a site is written example.com { … }, and the targets of a pool are written in one reverse_proxy'],
  ['server_name', 'the names of a site come before its block: example.com, www.example.com { … }'],
  ['listen', 'ports are set with the globals http_port and https_port; example.com:8443 { … } is served on one of them'],
  ['upstream', 'write all targets in one line: reverse_proxy 10.0.0.5:3000 10.0.0.6:3000'],
  ['location', 'write handle /api/* { … }; without the *, only /api/ itself matches'],
  ['alias', 'write handle_path /files/* { … } with root <directory> and file_server in it'],
  ['index', IN_BLOCK('index <file>', 'file_server')],
  ['gzip_static', IN_BLOCK('precompressed gzip', 'file_server')],
  ['return', 'write redir [<from>] <to> [<status>] for a redirect, and respond <status> [<body>] for anything else'],
  ['if', 'write a matcher, as in @post method POST, and handle @post { … }'],
  ['set', VARIABLES],
  ['geo', VARIABLES],
  ['ssl_certificate', CERTIFICATE],
  ['ssl_certificate_key', CERTIFICATE],
  ...['ssl_protocols', 'ssl_ciphers', 'ssl_session_cache', 'ssl_session_timeout', 'ssl_prefer_server_ciphers', 'ssl_dhparam'].map(
    (name) => [name, 'these settings of TLS are fixed, see docs/https.md'] as const,
  ),
  ...['ssl_client_certificate', 'ssl_verify_client'].map((name) => [name, IN_BLOCK('client_ca ca.pem', 'tls')] as const),
  ['http2', 'not needed: HTTP/2 is always offered over HTTPS'],
  ['proxy_connect_timeout', IN_BLOCK('dial_timeout <duration>', 'transport')],
  ['proxy_read_timeout', IN_BLOCK('response_header_timeout <duration> and read_timeout <duration>', 'transport')],
  ...['proxy_send_timeout', 'send_timeout', 'client_body_timeout', 'client_header_timeout', 'keepalive_timeout'].map(
    (name) => [name, TIMEOUTS] as const,
  ),
  ...['proxy_buffering', 'proxy_request_buffering', 'proxy_buffers', 'proxy_buffer_size'].map((name) => [name, STREAMED] as const),
  ['proxy_http_version', 'not needed: connections to upstreams are used again, and WebSockets need no settings'],
  ['keepalive', 'not needed: connections to upstreams are used again'],
  [
    'proxy_next_upstream',
    `${IN_BLOCK('lb_retry_status <status>', 'reverse_proxy')}; after errors, requests are retried where that is safe`,
  ],
  ['proxy_next_upstream_tries', IN_BLOCK('lb_retries <n>', 'reverse_proxy')],
  ['health_check', 'write health_uri <path>'],
  ['proxy_hide_header', 'write header -<Name>'],
  ...['proxy_redirect', 'proxy_cookie_path', 'proxy_cookie_domain', 'sub_filter'].map((name) => [name, UNCHANGED] as const),
  ['proxy_intercept_errors', IN_BLOCK('intercept', 'handle_errors')],
  ['proxy_method', 'write method <METHOD>'],
  ['proxy_cache_path', 'write the global cache <size>, and cache <duration> in the site'],
  ['proxy_cache_valid', 'write cache <duration> in the site'],
  ['proxy_cache_key', IN_BLOCK('key', 'cache')],
  ['proxy_cache_use_stale', IN_BLOCK('stale_while_revalidate or stale_if_error', 'cache')],
  ...['proxy_cache_bypass', 'proxy_no_cache'].map((name) => [name, IN_BLOCK('bypass @<matcher>', 'cache')] as const),
  ...['proxy_ssl_verify', 'proxy_ssl_name', 'proxy_ssl_trusted_certificate'].map(
    (name) => [name, IN_BLOCK('insecure, tls_server_name <name> or ca ca.pem', 'transport')] as const,
  ),
  ['expires', 'write header Cache-Control max-age=<seconds>'],
  ...['fastcgi_pass', 'fastcgi_param', 'fastcgi_index', 'fastcgi_split_path_info'].map((name) => [name, FAST_CGI] as const),
  ...['uwsgi_pass', 'scgi_pass'].map((name) => [name, PYTHON] as const),
  ['grpc_pass', 'write reverse_proxy, and transport h2c next to it'],
  ['auth_basic_user_file', `${IN_BLOCK('the users', 'basic_auth')}, with hashes from sluice hash-password`],
  ['auth_request_set', IN_BLOCK('copy_headers <Name> …', 'forward_auth')],
  ['satisfy', 'write a handle with a matcher for remote_ip before the block that needs a password'],
  ['limit_req_zone', 'write rate_limit <n>/s in the site'],
  ...['limit_conn', 'limit_conn_zone'].map((name) => [name, 'use the global max_connections_per_address'] as const),
  ...['set_real_ip_from', 'real_ip_header', 'real_ip_recursive'].map((name) => [name, 'use the global trusted_proxies'] as const),
  ['resolver', 'not needed: host names are resolved again automatically'],
  ['stub_status', 'metrics are always on: GET /metrics of the Admin API, or --probe-listen'],
  ['error_log', 'the log is JSON on standard output; set its level with --log-level'],
  ['least_conn', 'write lb_policy least_conn'],
  ['ip_hash', 'write lb_policy client_ip_hash'],
  ['hash', 'write lb_policy uri_hash, or header <name>, query <name> or cookie instead of uri_hash'],
  ['random', 'write lb_policy random_choose 2'],
  ['sticky', 'write lb_policy cookie'],
  ['split_clients', 'write split <weight> { … } for each group, and split_by address'],
  ['server_tokens', 'not needed: the proxy sends no Server header of its own'],
  ['worker_processes', 'use the flag --workers; by default there is one worker for each core'],
]);

/** What to write instead of a directive of nginx, whose lines end with a semicolon. */
export const insteadOfNginx = (name: string): string | undefined => NGINX_DIRECTIVES.get(name.replace(/;$/, ''));
