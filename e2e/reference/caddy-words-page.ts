import {
  CADDY_DIRECTIVES,
  CADDY_GLOBALS,
  CADDY_REVERSE_PROXY,
  CADDY_TLS,
  CADDY_TRANSPORT,
} from '../../controller/sources/file/directives/caddy-words.ts';
import { SITE_RULES } from '../../controller/sources/file/directives/directives.ts';
import { GLOBAL_RULES } from '../../controller/sources/file/sites/globals.ts';

/** What Caddy and we both have, under the same name. */
const SHARED_DIRECTIVES = ['basic_auth', 'encode', 'file_server', 'forward_auth', 'handle', 'handle_path', 'header', 'import', 'log'];
const MORE_DIRECTIVES = ['redir', 'request_body', 'respond', 'reverse_proxy', 'root', 'tls'];
const SHARED_GLOBALS = ['http_port', 'https_port', 'email', 'acme_ca_root', 'local_certs'];
/** The same under another name. */
const RENAMED: readonly (readonly [string, string])[] = [
  ['abort', 'respond 403'],
  ['basicauth', 'basic_auth'],
  ['error', 'respond, with a status'],
  ['try_files', 'file_server, which is not available yet'],
];
const RENAMED_GLOBALS: readonly (readonly [string, string])[] = [
  ['acme_ca', 'acme_directory'],
  ['default_bind', 'bind'],
  ['grace_period', 'drain_timeout'],
];

/** Every word of a Caddyfile and what to write for it, from the tables that `validate` answers by. */
export async function caddyWordsPage(): Promise<string> {
  const directives = [...SHARED_DIRECTIVES, ...MORE_DIRECTIVES].map((name) => [name, stateOf(SITE_RULES, name)] as const);
  const globals = SHARED_GLOBALS.filter((name) => GLOBAL_RULES.has(name)).map((name) => [name, stateOf(GLOBAL_RULES, name)] as const);
  return `# The words of a Caddyfile

Every directive and option of Caddy, and what to write for it or why it is not here. \`sluice validate\` gives the same answers, each at its
place in your file. [Coming from Caddy](../from-caddy.md) has whole examples. This page is made from code: \`sh scripts/reference.sh\` writes it.

## Directives

${tableOf([...directives, ...RENAMED, ...CADDY_DIRECTIVES])}
## In the block of reverse_proxy

${tableOf([...CADDY_REVERSE_PROXY])}
## In the block of transport http

${tableOf([['dial_timeout', SAME], ['read_timeout', SAME], ['response_header_timeout', SAME], ['tls_server_name', SAME], ...CADDY_TRANSPORT])}
## In the block of tls

${tableOf([...CADDY_TLS])}
## Global options

${tableOf([...globals, ...RENAMED_GLOBALS, ...CADDY_GLOBALS])}`;
}

const SAME = 'the same';

function stateOf(rules: ReadonlyMap<string, object>, name: string): string {
  const rule = rules.get(name);
  if (rule === undefined && name !== 'import') throw new Error(`${name} is no word of ours`);
  return rule !== undefined && 'planned' in rule ? 'not available yet' : SAME;
}

function tableOf(rows: readonly (readonly [word: string, answer: string])[]): string {
  const sorted = [...rows].sort(([one], [other]) => (one < other ? -1 : 1));
  return `| in the Caddyfile | here |\n|---|---|\n${sorted.map(([word, answer]) => `| \`${word}\` | ${answer} |\n`).join('')}`;
}
