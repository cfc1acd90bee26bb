import type { Directive } from '../../../../shared/config-file/directive.ts';
import { quote } from '../../../../shared/config-file/quote.ts';
import type { Word } from '../../../../shared/config-file/word.ts';
import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';

/** Directives whose values may have placeholders. */
const WITH_VALUES: ReadonlySet<string> = new Set(['redir', 'rewrite', 'uri', 'header', 'request_header', 'respond', 'reverse_proxy']);
/** Directives in which `$1` means nothing. */
const WITHOUT_GROUPS: ReadonlySet<string> = new Set(['redir', 'rewrite']);

const PLACEHOLDERS: ReadonlyMap<string, string> = new Map([
  ['host', '{host}'],
  ['server_name', '{host}'],
  ['http_host', '{hostport}'],
  ['scheme', '{scheme}'],
  ['request_uri', '{uri}'],
  ['uri', '{path}'],
  ['document_uri', '{path}'],
  ['args', '{query}'],
  ['query_string', '{query}'],
  ['is_args', '{?query} for the query with its question mark'],
  ['request_method', '{method}'],
  ['server_protocol', '{proto}'],
  ['remote_addr', '{client_ip}'],
  ['remote_port', '{remote_port}'],
  ['remote_user', '{http.auth.user.id}'],
  ['request_id', '{request_id}'],
]);

const VARIABLE = /\$\{?([a-z]\w*|\d)/g;

/** Warns of variables of nginx, which are plain text here: a redirect to `https://$host$request_uri` would lead nowhere. */
export function reportNginxVariables({ name, args, block }: Directive, report: DiagnosticReport): void {
  if (!WITH_VALUES.has(name.text)) return;
  for (const word of args) reportIn(word, WITHOUT_GROUPS.has(name.text), report);
  for (const line of block?.lines ?? []) for (const word of line.args) reportIn(word, false, report);
}

function reportIn(word: Word, withoutGroups: boolean, report: DiagnosticReport): void {
  if (word.style === 'raw' || !word.text.includes('$')) return;
  for (const [, variable = ''] of word.text.matchAll(VARIABLE)) {
    const instead = /^\d/.test(variable) ? withoutGroups && '{remainder}, which is what * matched' : insteadOf(variable);
    if (instead) return report.warn(word, `${quote(`$${variable}`)} is plain text here: write ${instead}`);
  }
}

function insteadOf(variable: string): string | undefined {
  const [, kind, name] = /^(arg|cookie|http)_(\w+)$/.exec(variable) ?? [];
  const known = PLACEHOLDERS.get(variable);
  if (known !== undefined || kind === undefined || name === undefined) return known;
  return kind === 'http' ? `{header.${name.replaceAll('_', '-')}}` : `{${kind === 'arg' ? 'query' : 'cookie'}.${name}}`;
}
