import type { Directive } from '../../../../shared/config-file/directive.ts';
import { quote } from '../../../../shared/config-file/quote.ts';
import type { Word } from '../../../../shared/config-file/word.ts';
import {
  LONGEST_EJECTION_SECS,
  LONGEST_QUEUE_SECS,
  LONGEST_SLOW_START_SECS,
  MAX_FAILS,
  MAX_IN_FLIGHT,
  MAX_QUEUED,
  RETRIED_STATUS,
  USUAL_QUEUE_SECS,
} from '../../../../shared/limits.ts';
import type { ConcurrencySpec, PassiveHealthSpec } from '../../../../shared/upstreams/pool-options.ts';
import { parseSeconds } from '../../../../shared/values/duration.ts';
import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';
import type { SiteDraft } from './rule.ts';

/** The maximum number of statuses in a line. */
const MAX_STATUSES = 20;
/** The maximum number of requests that a circuit breaker may need to judge a target. */
const MAX_JUDGED = 10_000;

/** What is wrong with the word at an index. */
type Fault = { readonly at: number; readonly reason: string };
type Read = (words: readonly string[], members: SiteDraft['members']) => Fault | undefined;
/** How many words an option takes, and how they are read. */
type Option = { readonly form: string; readonly most: number; readonly read: Read };

/** Options in the block of reverse_proxy that limit the requests to its targets. */
const OPTIONS: ReadonlyMap<string, Option> = new Map([
  ['lb_retry_status', { form: '<status> [<status> …]', most: MAX_STATUSES, read: readRetriedStatuses }],
  ['lb_retry_budget', { form: '<percent>%', most: 1, read: readBudget }],
  ['max_fails', { form: '<n>', most: 1, read: (words, members) => ofPassive(members, 'max_fails', numberIn(words, 0, 0, MAX_FAILS)) }],
  [
    'fail_duration',
    {
      form: '<duration>',
      most: 1,
      read: (words, members) => ofPassive(members, 'fail_secs', secondsIn(words, 0, 1, LONGEST_EJECTION_SECS)),
    },
  ],
  ['unhealthy_status', { form: '<status>|<class> [<status>|<class> …]', most: MAX_STATUSES, read: readUnhealthyStatuses }],
  ['circuit_breaker', { form: '<percent>% [<requests>]', most: 2, read: readCircuit }],
  ['slow_start', { form: '<duration>', most: 1, read: readSlowStart }],
  [
    'max_in_flight',
    { form: '<n>', most: 1, read: (words, members) => ofConcurrency(members, 'requests', numberIn(words, 0, 1, MAX_IN_FLIGHT)) },
  ],
  ['queue', { form: '<n> [<duration>]', most: 2, read: readQueue }],
]);

export const LIMIT_OPTIONS: readonly string[] = [...OPTIONS.keys()];

/** Reads the lines of these options in a block. */
export function readPoolLimits(lines: readonly Directive[], draft: SiteDraft, report: DiagnosticReport): void {
  for (const line of lines) readLine(line, draft, report);
  const { members } = draft;
  if (members.passive_health != null) draft.ofPool.add('passive_health');
  const queue = lines.find(({ name }) => name.text === 'queue');
  if (queue && !lines.some(({ name }) => name.text === 'max_in_flight'))
    report.error(queue.name, 'queue needs max_in_flight <n> in the same block: requests wait only for targets that have a limit');
}

function readLine({ name, args, block }: Directive, { members }: SiteDraft, report: DiagnosticReport): void {
  const { form, most, read } = OPTIONS.get(name.text) as Option;
  const write = `write ${name.text} ${form}`;
  const surplus = args[most];
  if (args.length === 0) return report.error(name, `${name.text} is missing an argument: ${write}`);
  if (surplus) return report.error(surplus, `${quote(surplus.text)} is one argument too many for ${name.text}: ${write}`);
  if (block) return report.error(block.open, `${name.text} takes no block: ${write}`);
  const words = args.map(({ text }) => text);
  const fault = read(words, members);
  if (fault !== undefined) report.error(args[fault.at] as Word, `${name.text} ${quote(words[fault.at] ?? '')}: ${fault.reason}`);
}

/** A value, or what is wrong with it. */
type Valued<T> = { readonly value: T } | Fault;

function numberIn(words: readonly string[], at: number, least: number, most: number): Valued<number> {
  const text = words[at] ?? '';
  const value = Number(text);
  if (/^\d{1,6}$/.test(text) && value >= least && value <= most) return { value };
  return { at, reason: `a number from ${least} to ${most}` };
}

function percentIn(words: readonly string[], at: number, least: number): Valued<number> {
  const text = words[at] ?? '';
  const value = Number(text.slice(0, -1));
  if (/^\d{1,3}%$/.test(text) && value >= least && value <= 100) return { value };
  return { at, reason: `a percentage from ${least}% to 100%` };
}

function secondsIn(words: readonly string[], at: number, least: number, most: number): Valued<number> {
  const time = parseSeconds(words[at] ?? '', most);
  if (!time.ok) return { at, reason: time.reason };
  return time.value < least ? { at, reason: `whole seconds, ${least}s to ${most}s` } : { value: time.value };
}

function ofPassive<K extends keyof PassiveHealthSpec>(
  members: SiteDraft['members'],
  member: K,
  read: Valued<NonNullable<PassiveHealthSpec[K]>>,
): Fault | undefined {
  if ('reason' in read) return read;
  members.passive_health = { ...members.passive_health, [member]: read.value };
  return undefined;
}

function ofConcurrency(members: SiteDraft['members'], member: keyof ConcurrencySpec, read: Valued<number>): Fault | undefined {
  if ('reason' in read) return read;
  members.max_in_flight = { requests: 1, queue: 0, queue_secs: USUAL_QUEUE_SECS, ...members.max_in_flight, [member]: read.value };
  return undefined;
}

function readRetriedStatuses(words: readonly string[], members: SiteDraft['members']): Fault | undefined {
  const at = words.findIndex((word) => !/^[45]\d\d$/.test(word));
  if (at >= 0) return { at, reason: 'a status from 400 to 599, as in 503' };
  members.lb_retry_statuses = [...new Set(words.map(Number))];
  return undefined;
}

function readUnhealthyStatuses(words: readonly string[], members: SiteDraft['members']): Fault | undefined {
  const at = words.findIndex((word) => !RETRIED_STATUS.test(word));
  if (at >= 0) return { at, reason: 'a status from 400 to 599, or a class, as in 5xx' };
  return ofPassive(members, 'statuses', { value: [...new Set(words)] });
}

function readBudget(words: readonly string[], members: SiteDraft['members']): Fault | undefined {
  const read = percentIn(words, 0, 0);
  if ('reason' in read) return read;
  members.lb_retry_budget = read.value;
  return undefined;
}

function readCircuit(words: readonly string[], members: SiteDraft['members']): Fault | undefined {
  const fault = ofPassive(members, 'error_percent', percentIn(words, 0, 1));
  if (fault !== undefined || words.length === 1) return fault;
  return ofPassive(members, 'error_requests', numberIn(words, 1, 1, MAX_JUDGED));
}

function readSlowStart(words: readonly string[], members: SiteDraft['members']): Fault | undefined {
  const read = secondsIn(words, 0, 1, LONGEST_SLOW_START_SECS);
  if ('reason' in read) return read;
  members.slow_start_secs = read.value;
  return undefined;
}

function readQueue(words: readonly string[], members: SiteDraft['members']): Fault | undefined {
  const fault = ofConcurrency(members, 'queue', numberIn(words, 0, 1, MAX_QUEUED));
  if (fault !== undefined || words.length === 1) return fault;
  return ofConcurrency(members, 'queue_secs', secondsIn(words, 1, 1, LONGEST_QUEUE_SECS));
}
