import type { PolicyMembers } from './policies.ts';

/**
 * What a list of routes notes about a site or block that has a member; null for nothing. It is not part of the descriptions because those
 * load the schema, which commands that only query do not need. A member that is missing here is a compile error.
 */
const NOTES: { readonly [Member in keyof PolicyMembers]-?: ((part: PolicyMembers) => string | null) | null } = {
  rate_limit_rps: ({ rate_limit_rps: rps }) => `${rps}/s`,
  rate_limits: null,
  redirects: null,
  headers: null,
  request_headers: null,
  rewrites: null,
  uri: null,
  methods: null,
  mirror: null,
  mirrors: null,
  basic_auth: () => 'password',
  cors: null,
  under_attack: ({ under_attack: on }) => (on ? 'under attack' : null),
  challenge: null,
  jwt: () => 'token',
  forward_auth: () => 'authentication server',
  ip_filter: () => 'addresses',
  request_body: null,
  cache: null,
  encode: null,
  handle_errors: null,
  maintenance: ({ maintenance }) => (maintenance?.on ? 'maintenance' : null),
  respond: null,
  responds: null,
  root: null,
  try_files: null,
  file_server: () => 'files',
  client_auth: () => 'client certificate',
  client_auth_at: ({ client_auth, client_auth_at: places }) =>
    !client_auth && places?.some(({ ca }) => ca !== null) ? 'client certificate' : null,
  analytics: null,
  log: null,
  tls_passthrough: () => 'TLS passed through',
};

const MEMBERS = Object.keys(NOTES) as (keyof typeof NOTES)[];

/** The notes about a site or about one of its blocks, in the order of the table. */
export const notesAbout = (part: PolicyMembers): string[] =>
  MEMBERS.flatMap((member) => (part[member] == null ? [] : (NOTES[member]?.(part) ?? [])));
