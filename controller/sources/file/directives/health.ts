import type { Directive } from '../../../../shared/config-file/directive.ts';
import { quote } from '../../../../shared/config-file/quote.ts';
import type { Word } from '../../../../shared/config-file/word.ts';
import { HEALTHY_STATUS, MAX_CONSECUTIVE } from '../../../../shared/limits.ts';
import { type HealthCheckSpec, healthCheckSchema } from '../../../../shared/upstreams/health-check.ts';
import { parseSeconds } from '../../../../shared/values/duration.ts';
import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';
import { oneArgument, type SiteDraft } from './rule.ts';

type Draft = { -readonly [member in keyof HealthCheckSpec]?: HealthCheckSpec[member] };

/** Reads the argument; undefined, and a reason, if it is invalid. */
type Option = { readonly argument: string; readonly read: (text: string, draft: Draft) => string | undefined };

const PATH = /^\/[\x21-\x7e]{0,2047}$/;

/** Options of active health checks in the block of reverse_proxy. */
const OPTIONS: ReadonlyMap<string, Option> = new Map([
  ['health_uri', { argument: '<path>', read: readUri }],
  ['health_interval', { argument: '<duration>', read: secondsReader('interval_secs', 3_600) }],
  ['health_timeout', { argument: '<duration>', read: secondsReader('timeout_secs', 60) }],
  ['health_status', { argument: '<status>|<class>', read: readStatus }],
  ['health_passes', { argument: '<n>', read: countReader('passes') }],
  ['health_fails', { argument: '<n>', read: countReader('fails') }],
]);

export const HEALTH_OPTIONS: readonly string[] = [...OPTIONS.keys()];

/** Only the page to request, as a directive next to reverse_proxy. */
export const healthUri = oneArgument<SiteDraft>('health_uri', '<path>', ['site', 'handle'], ({ text }, draft, refuse) => {
  if (draft.members.health !== undefined) return refuse('it is already in the block of reverse_proxy; keep one of them');
  const health: Draft = {};
  const reason = readUri(text, health);
  if (reason === undefined) draft.members.health = healthCheckSchema.parse(health);
  else refuse(reason);
});

/** Reads the lines of health checks in a block. */
export function readHealth(lines: readonly Directive[], draft: SiteDraft, report: DiagnosticReport): void {
  const [first] = lines;
  if (first === undefined) return;
  const health: Draft = {};
  let isValid = true;
  const refuse = (word: Word, message: string): void => {
    isValid = false;
    report.error(word, message);
  };
  for (const { name, args, block } of lines) {
    const { argument, read } = OPTIONS.get(name.text) as Option;
    const [word, extra] = args;
    const form = `write ${name.text} ${argument}`;
    const reason = word === undefined || extra || block ? undefined : read(word.text, health);
    if (word === undefined) refuse(name, `${name.text} is missing an argument: ${form}`);
    else if (extra) refuse(extra, `${quote(extra.text)} is one argument too many for ${name.text}: ${form}`);
    else if (block) refuse(name, `${name.text} takes no block: ${form}`);
    else if (reason !== undefined) refuse(word, `${name.text} ${quote(word.text)}: ${reason}`);
  }
  if (isValid && health.path === undefined) refuse(first.name, `${first.name.text} needs health_uri <path> in the same block`);
  if (isValid && draft.members.health !== undefined) refuse(first.name, 'health_uri is already next to reverse_proxy; keep one of them');
  if (!isValid) return;
  draft.members.health = healthCheckSchema.parse(health);
  draft.ofPool.add('health');
}

function readUri(text: string, draft: Draft): string | undefined {
  if (!PATH.test(text)) return 'a path must start with / and must not contain spaces';
  draft.path = text;
  return undefined;
}

function readStatus(text: string, draft: Draft): string | undefined {
  if (!HEALTHY_STATUS.test(text)) return 'a status is three digits, as in 200, or a class, as in 2xx';
  draft.status = text;
  return undefined;
}

function secondsReader(member: 'interval_secs' | 'timeout_secs', most: number): Option['read'] {
  return (text, draft) => {
    const time = parseSeconds(text, most);
    if (!time.ok) return time.reason;
    if (time.value === 0) return `whole seconds, 1s to ${most}s`;
    draft[member] = time.value;
    return undefined;
  };
}

function countReader(member: 'passes' | 'fails'): Option['read'] {
  return (text, draft) => {
    if (!/^[1-9]\d{0,2}$/.test(text) || Number(text) > MAX_CONSECUTIVE) return `a number from 1 to ${MAX_CONSECUTIVE}`;
    draft[member] = Number(text);
    return undefined;
  };
}
