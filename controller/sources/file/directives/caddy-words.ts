/**
 * Words of a Caddyfile that mean nothing here, and what to do instead. They are answered where they stand, so that a file
 * that is moved over says by itself what to change. `docs/from-caddy.md` lists the same words; a test compares them.
 */

/** Directives. Those that only have another name here are in `other-names.ts`. */
export const CADDY_DIRECTIVES: ReadonlyMap<string, string> = new Map([
  ['acme_server', 'issuing certificates for others is not here; name your own authority with the global acme_directory'],
  ['bind', 'the address to listen on holds for all sites: it is the global bind'],
  ['fs', 'there are no virtual file systems'],
  ['handle_errors', 'pages for errors are not available yet; an upstream’s own pages pass as they are'],
  ['intercept', 'an upstream’s answers pass as they are; its headers are changed with header'],
  ['invoke', 'there are no named routes: put the lines into a snippet, (name) { … }, and write import name'],
  ['log_append', 'there is no access log yet'],
  ['log_name', 'there is no access log yet'],
  ['log_skip', 'there is no access log yet'],
  ['map', 'there are no variables: write a handle with a matcher for each case'],
  ['method', 'the method is passed on as it came'],
  ['metrics', 'every site is counted already: GET /metrics of the Admin API, or --probe-listen'],
  ['php_fastcgi', 'FastCGI is not spoken: put a web server beside PHP (its own image, nginx or FrankenPHP) and write reverse_proxy'],
  ['push', 'browsers have given up HTTP/2 push; send a Link header with header'],
  [
    'request_header',
    'changing what the upstream is sent is not available yet; X-Forwarded-*, X-Real-IP and X-Request-ID are set by themselves',
  ],
  ['rewrite', 'changing the path is not available yet but for taking off a prefix: handle_path /api/* { … }'],
  ['route', 'directives have one order here; write handle { … }'],
  ['skip_log', 'there is no access log yet'],
  ['templates', 'answers of upstreams are not changed'],
  ['tracing', 'tracing is not available yet; each request carries an X-Request-ID'],
  ['uri', 'changing the path is not available yet but for taking off a prefix: handle_path /api/* { … }'],
  ['vars', 'there are no variables at run time; {$NAME} stands for one of the environment'],
]);

/** Global options. */
export const CADDY_GLOBALS: ReadonlyMap<string, string> = new Map([
  ['acme_dns', 'DNS checks are flags: --acme-dns-server for RFC 2136, --acme-dns-hook for any other provider'],
  ['acme_eab', 'it is a flag, --acme-eab KID:KEY, better SLUICE_ACME_EAB in the environment'],
  ['admin', 'where the Admin API listens is a flag, --admin-listen'],
  ['auto_https', 'a site stays on HTTP with "tls off" inside it'],
  ['cert_issuer', 'one authority holds for all sites: acme_directory, or local_certs'],
  ['cert_lifetime', 'it is for the authority to say'],
  ['debug', 'how much is logged is a flag, --log-level debug'],
  ['default_sni', 'a handshake without a name is refused, instead of being shown another site’s certificate'],
  ['dns', 'DNS checks are flags: --acme-dns-server for RFC 2136, --acme-dns-hook for any other provider'],
  ['ech', 'Encrypted ClientHello is not here'],
  ['events', 'GET /events of the Admin API tells what happens'],
  ['fallback_sni', 'a handshake without a name is refused, instead of being shown another site’s certificate'],
  ['filesystem', 'there are no virtual file systems'],
  ['key_type', 'keys are P-256'],
  ['log', 'the log goes to standard output as JSON; how much is a flag, --log-level'],
  ['metrics', 'they are on: GET /metrics of the Admin API, or --probe-listen'],
  ['ocsp_interval', 'OCSP answers are not stapled: revocation is left to short lives and to the browsers’ lists'],
  ['ocsp_stapling', 'OCSP answers are not stapled: revocation is left to short lives and to the browsers’ lists'],
  ['on_demand_tls', 'certificates are ordered for routed names, not for whatever a handshake asks for'],
  ['order', 'the order of directives is always the same'],
  ['persist_config', 'what is served is kept in the state directory, always'],
  ['pki', 'the internal authority has nothing to choose: local_certs, or "tls internal" in a site'],
  ['preferred_chains', 'the chain is the one that the authority sends'],
  ['renew_interval', 'certificates are renewed when their authority advises it, else after two thirds of their life'],
  ['servers', 'write trusted_proxies without a block around it; time limits are fixed, see the reference of connections'],
  ['shutdown_delay', 'nothing is needed: new connections go to the successor, see drain_timeout'],
  ['skip_install_trust', 'no trust store is touched; GET /certificates/root answers the root'],
  ['storage', 'certificates and state are in directories: the flags --cert-dir and --state-dir'],
  ['storage_clean_interval', 'nothing is needed: what is not routed is not renewed'],
]);

const CHOICE = 'how a target is chosen is not available yet: they take turns';
const HEALTH = 'checks are not available yet in the file; a target that fails leaves the rotation by itself';
const PASSIVE = 'nothing is needed: a target that fails leaves the rotation by itself';
const BUFFERS = 'nothing is needed: bodies stream both ways';
const RETRIES = 'nothing is needed: what can be sent again safely is';

/** What stands in the block of a `reverse_proxy`. */
export const CADDY_REVERSE_PROXY: ReadonlyMap<string, string> = new Map([
  ['to', 'the targets stand beside reverse_proxy: reverse_proxy host:port host:port'],
  ['dynamic', 'a name is looked up again by itself; containers are discovered by their labels'],
  ...['lb_policy'].map((name) => [name, CHOICE] as const),
  ...['lb_retries', 'lb_try_interval', 'lb_retry_match'].map((name) => [name, RETRIES] as const),
  ['lb_try_duration', 'write hold 10s beside reverse_proxy: requests wait that long for a target'],
  ...[
    'health_uri',
    'health_upstream',
    'health_port',
    'health_interval',
    'health_passes',
    'health_fails',
    'health_timeout',
    'health_method',
    'health_status',
    'health_request_body',
    'health_body',
    'health_follow_redirects',
    'health_headers',
  ].map((name) => [name, HEALTH] as const),
  ...['fail_duration', 'max_fails', 'unhealthy_status', 'unhealthy_latency', 'unhealthy_request_count'].map(
    (name) => [name, PASSIVE] as const,
  ),
  ...['flush_interval', 'request_buffers', 'response_buffers'].map((name) => [name, BUFFERS] as const),
  ['stream_timeout', 'a tunnel has no time limit'],
  ['stream_close_delay', 'nothing is needed: tunnels outlive every change but the removal of their own target'],
  ['stream_logs', 'there is no access log yet'],
  ['trusted_proxies', 'it holds for all sites: the global trusted_proxies'],
  ['header_up', 'changing what the upstream is sent is not available yet; Host stays as it came, and X-Forwarded-* are set'],
  ['header_down', 'write header beside reverse_proxy: header X-A b, header -X-A'],
  ['method', 'the method is passed on as it came'],
  ['rewrite', 'changing the path is not available yet but for taking off a prefix: handle_path /api/* { … }'],
  ['replace_status', 'an upstream’s answers pass as they are'],
  ['handle_response', 'an upstream’s answers pass as they are'],
  ['copy_response', 'an upstream’s answers pass as they are'],
  ['copy_response_headers', 'an upstream’s answers pass as they are'],
  ['transport', 'it stands beside reverse_proxy: transport { … }, or transport h2c'],
]);

/** What stands in the block of a `transport http`. */
export const CADDY_TRANSPORT: ReadonlyMap<string, string> = new Map([
  ...['read_buffer', 'write_buffer'].map((name) => [name, BUFFERS] as const),
  ['write_timeout', 'a target that takes nothing for a minute is given up'],
  ['dial_fallback_delay', 'the addresses of a name take turns, and another is tried where one refuses'],
  ['expect_continue_timeout', 'the client waits for the target’s own answer'],
  ['resolvers', 'names are looked up as the system does'],
  ['tls', 'write reverse_proxy https://host:port'],
  ['tls_client_auth', 'a client certificate towards upstreams is not here yet'],
  ['tls_insecure_skip_verify', 'write insecure'],
  ['tls_trusted_ca_certs', 'write ca ca.pem'],
  ['tls_trust_pool', 'write ca ca.pem'],
  ['tls_curves', 'curves are those of the TLS library'],
  ['max_response_header', 'write max_response_header_size'],
  ['tls_timeout', 'write dial_timeout: it counts the handshake too'],
  ['tls_renegotiation', 'it is never done'],
  ['tls_except_ports', 'write one pool with https:// and another without'],
  ...['keepalive', 'keepalive_interval', 'keepalive_idle_conns', 'keepalive_idle_conns_per_host', 'max_conns_per_host'].map(
    (name) => [name, 'nothing is needed: connections are kept as long as they are of use'] as const,
  ),
  ['versions', 'write transport h2, transport h2c, or neither for HTTP/1.1'],
  ['compression', 'the client’s Accept-Encoding is passed on as it came'],
  ['proxy_protocol', 'the PROXY protocol is understood from clients (--proxy-protocol), not sent to upstreams'],
  ['forward_proxy_url', 'upstreams are connected to directly'],
  ['network_proxy', 'upstreams are connected to directly'],
  ['local_address', 'the system chooses the address to connect from'],
]);

/** What stands in the block of a `tls`. */
export const CADDY_TLS: ReadonlyMap<string, string> = new Map([
  ['protocols', 'TLS 1.2 and 1.3 are spoken'],
  ['ciphers', 'there is nothing to choose: see the cipher suites in docs/https.md'],
  ['curves', 'curves are those of the TLS library'],
  ['alpn', 'HTTP/2 and HTTP/1.1 are offered'],
  ['load', 'put the files into the certificate directory, --cert-dir'],
  ['ca', 'one authority holds for all sites: the global acme_directory'],
  ['ca_root', 'it is the global acme_ca_root'],
  ['key_type', 'keys are P-256'],
  ...['dns', 'dns_ttl', 'dns_challenge_override_domain', 'propagation_delay', 'propagation_timeout', 'resolvers'].map(
    (name) => [name, 'DNS checks are flags: --acme-dns-server for RFC 2136, --acme-dns-hook for any other provider'] as const,
  ),
  ['eab', 'it is a flag, --acme-eab KID:KEY, better SLUICE_ACME_EAB in the environment'],
  ['on_demand', 'certificates are ordered for routed names, not for whatever a handshake asks for'],
  ['client_auth', 'write client_ca ca.pem: a certificate is then required and verified'],
  ['issuer', 'one authority holds for all sites: the global acme_directory, or local_certs'],
  ['get_certificate', 'certificates come from an authority, a file, or POST /certificates'],
  ['insecure_secrets_log', 'session keys are not logged'],
  ['reuse_private_keys', 'each certificate has a key of its own'],
  ['force_automate', 'with an e-mail every site that can have a certificate gets one'],
  ['renewal_window_ratio', 'certificates are renewed when their authority advises it, else after two thirds of their life'],
]);
