/**
 * Directives and options of a Caddyfile that don't exist here, each with what to do instead. The error for each contains that text, so
 * validating a Caddyfile shows what to change. `docs/reference/caddy-words.md` is generated from these tables.
 */

/** Directives. Those that only have another name here are in `other-names.ts`. */
export const CADDY_DIRECTIVES: ReadonlyMap<string, string> = new Map([
  ['acme_server', "Sluice can't issue certificates for others; to use your own authority, set the global acme_directory"],
  ['bind', 'the listen address applies to all sites: set it with the global bind'],
  ['fs', 'virtual file systems are not supported'],
  ['intercept', 'write intercept in handle_errors to replace error pages, or use header to change headers'],
  ['invoke', 'named routes are not supported: put the lines into a snippet, (name) { … }, and write import name'],
  ['log_append', 'the fields of the access log are fixed'],
  ['log_name', 'write log with an output in the site'],
  ['log_skip', 'write log off in a site of its own'],
  ['map', 'variables are not supported: write a handle with a matcher for each case'],
  ['metrics', 'metrics are always on: GET /metrics of the Admin API, or --probe-listen'],
  ['php_fastcgi', 'FastCGI is not supported: run a web server with PHP (its own image, nginx or FrankenPHP) and write reverse_proxy'],
  ['push', 'browsers no longer support HTTP/2 push; send a Link header with header'],
  ['route', 'the order of directives is fixed; write handle { … }'],
  ['skip_log', 'write log off in a site of its own'],
  ['templates', 'templates are not supported'],
  ['tracing', 'tracing applies to all sites: set --otlp-endpoint'],
  ['vars', 'variables are not supported, except {$NAME} for the environment'],
]);

/** Global options. */
export const CADDY_GLOBALS: ReadonlyMap<string, string> = new Map([
  ['acme_dns', 'DNS checks are set up with flags: --acme-dns-server for RFC 2136, --acme-dns-hook for any other provider'],
  ['acme_eab', 'use the environment variable SLUICE_ACME_EAB=KID:KEY, or the flag --acme-eab'],
  ['admin', 'use the flag --admin-listen'],
  ['auto_https', 'to keep a site on HTTP, write tls off in it'],
  ['cert_issuer', 'all sites use one authority: acme_directory, or local_certs'],
  ['cert_lifetime', 'the authority decides'],
  ['debug', 'use the flag --log-level debug'],
  ['default_sni', 'a handshake without a server name is refused, never answered with another site’s certificate'],
  ['dns', 'DNS checks are set up with flags: --acme-dns-server for RFC 2136, --acme-dns-hook for any other provider'],
  ['ech', 'Encrypted ClientHello is not supported'],
  ['events', 'use GET /events of the Admin API'],
  ['fallback_sni', 'a handshake without a server name is refused, never answered with another site’s certificate'],
  ['filesystem', 'virtual file systems are not supported'],
  ['key_type', 'all keys are P-256'],
  ['log', 'the log is JSON on standard output; set its level with --log-level'],
  ['metrics', 'metrics are always on: GET /metrics of the Admin API, or --probe-listen'],
  ['ocsp_interval', 'OCSP stapling is not supported: authorities are replacing OCSP with short lifetimes and revocation lists'],
  ['ocsp_stapling', 'OCSP stapling is not supported: authorities are replacing OCSP with short lifetimes and revocation lists'],
  ['on_demand_tls', 'certificates are ordered for routed names when they are routed, not during handshakes'],
  ['order', 'the order of directives is fixed'],
  ['persist_config', 'the served routes are always saved in the state directory'],
  ['pki', 'the internal authority has no options: write local_certs, or tls internal in a site'],
  ['preferred_chains', 'the authority’s default chain is used'],
  ['renew_interval', 'certificates are renewed when their authority recommends it, otherwise after two thirds of their lifetime'],
  ['servers', 'write trusted_proxies without this block; timeouts are fixed, see docs/reference/connections.md'],
  ['shutdown_delay', '--shutdown-delay, a flag of the data plane; an upgrade needs none, since new connections go to the new process'],
  ['skip_install_trust', 'not needed: trust stores are never changed; GET /certificates/root returns the root'],
  ['storage', 'use the flags --cert-dir and --state-dir'],
  ['storage_clean_interval', 'not needed: only certificates of routed names are renewed'],
]);

const HEALTH = 'health checks send GET to the address of the target, with the domain as Host, and look at the status alone';
const BUFFERS = 'not needed: bodies are streamed in both directions';
const RETRIES = 'not needed: requests are retried whenever that is safe';

/** Options in the block of `reverse_proxy`. */
export const CADDY_REVERSE_PROXY: ReadonlyMap<string, string> = new Map([
  ['dynamic', 'host names are resolved again automatically; containers are discovered by their labels'],
  ...['lb_try_interval', 'lb_retry_match'].map((name) => [name, RETRIES] as const),
  ...[
    'health_upstream',
    'health_port',
    'health_method',
    'health_request_body',
    'health_body',
    'health_follow_redirects',
    'health_headers',
  ].map((name) => [name, HEALTH] as const),
  ['unhealthy_latency', 'slow responses do not take a target out of rotation: set response_header_timeout in the block of transport'],
  ['unhealthy_request_count', 'write max_in_flight <n>, and queue <n> if more requests may wait'],
  ...['flush_interval', 'request_buffers', 'response_buffers'].map((name) => [name, BUFFERS] as const),
  ['stream_timeout', 'tunnels have no timeout'],
  ['stream_close_delay', 'not needed: tunnels survive all changes except the removal of their own target'],
  ['stream_logs', 'the access log has a line when the response has ended'],
  ['trusted_proxies', 'it applies to all sites: use the global trusted_proxies'],
  ['method', 'write method next to reverse_proxy: method GET'],
  ['rewrite', 'write rewrite next to reverse_proxy: rewrite /new'],
  ['replace_status', 'responses of upstreams are forwarded unchanged'],
  ['handle_response', 'write handle_errors with intercept for error pages; forward_auth has handle_response for redirects'],
  ['copy_response', 'responses of upstreams are forwarded unchanged'],
  ['copy_response_headers', 'responses of upstreams are forwarded unchanged'],
]);

/** Options in the block of `transport http`. */
export const CADDY_TRANSPORT: ReadonlyMap<string, string> = new Map([
  ...['read_buffer', 'write_buffer'].map((name) => [name, BUFFERS] as const),
  ['write_timeout', 'an upstream that reads nothing for a minute is given up'],
  ['dial_fallback_delay', 'the addresses of a name are used in turn, and another one is tried if one refuses'],
  ['expect_continue_timeout', 'the client waits for the response of the target'],
  ['resolvers', 'names are resolved by the system'],
  ['tls', 'write reverse_proxy https://host:port'],
  ['tls_insecure_skip_verify', 'write insecure'],
  ['tls_trusted_ca_certs', 'write ca ca.pem'],
  ['tls_trust_pool', 'write ca ca.pem'],
  ['tls_curves', 'the defaults of the TLS library are used'],
  ['max_response_header', 'write max_response_header_size'],
  ['tls_timeout', 'write dial_timeout, which includes the handshake'],
  ['tls_renegotiation', 'renegotiation is never used'],
  ['tls_except_ports', 'write one pool with https:// and another without'],
  ...['keepalive', 'keepalive_interval', 'keepalive_idle_conns', 'keepalive_idle_conns_per_host', 'max_conns_per_host'].map(
    (name) => [name, 'not needed: connections are kept as long as they are useful'] as const,
  ),
  ['versions', 'write transport h2 or transport h2c; the default is HTTP/1.1'],
  ['compression', 'the client’s Accept-Encoding is forwarded unchanged'],
  ['proxy_protocol', 'the PROXY protocol is supported from clients (--proxy-protocol), not to upstreams'],
  ['forward_proxy_url', 'Sluice connects to upstreams directly'],
  ['network_proxy', 'Sluice connects to upstreams directly'],
  ['local_address', 'the system chooses the source address'],
]);

/** Options in the block of `tls`. */
export const CADDY_TLS: ReadonlyMap<string, string> = new Map([
  ['protocols', 'TLS 1.2 and 1.3 are always enabled'],
  ['ciphers', 'cipher suites are fixed: see docs/https.md'],
  ['curves', 'the defaults of the TLS library are used'],
  ['alpn', 'HTTP/2 and HTTP/1.1 are always offered'],
  ['load', 'put the files into the certificate directory (--cert-dir)'],
  ['ca', 'all sites use one authority: the global acme_directory'],
  ['ca_root', 'use the global acme_ca_root'],
  ['key_type', 'all keys are P-256'],
  ...['dns', 'dns_ttl', 'dns_challenge_override_domain', 'propagation_delay', 'propagation_timeout', 'resolvers'].map(
    (name) => [name, 'DNS checks are set up with flags: --acme-dns-server for RFC 2136, --acme-dns-hook for any other provider'] as const,
  ),
  ['eab', 'use the environment variable SLUICE_ACME_EAB=KID:KEY, or the flag --acme-eab'],
  ['on_demand', 'certificates are ordered for routed names when they are routed, not during handshakes'],
  ['client_auth', 'write client_ca ca.pem; a certificate is then required and verified'],
  ['issuer', 'all sites use one authority: the global acme_directory, or local_certs'],
  ['get_certificate', 'certificates come from an authority, from files, or from POST /certificates'],
  ['insecure_secrets_log', 'session keys are not logged'],
  ['reuse_private_keys', 'each certificate has its own key'],
  ['force_automate', 'with an e-mail address, every eligible site gets a certificate'],
  ['renewal_window_ratio', 'certificates are renewed when their authority recommends it, otherwise after two thirds of their lifetime'],
]);
