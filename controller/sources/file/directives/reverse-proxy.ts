import { didYouMean } from '../../../../shared/closest.ts';
import { type Directive, firstOf } from '../../../../shared/config-file/directive.ts';
import { quote, unquoted } from '../../../../shared/config-file/quote.ts';
import { lineOf, type Word } from '../../../../shared/config-file/word.ts';
import { MAX_HOLD_SECS, MAX_RETRIES, MAX_WEIGHT } from '../../../../shared/limits.ts';
import { HEADER_DOWN_FORM, readHeaderDown } from '../../../../shared/policy/header/directive.ts';
import { HEADER_UP_FORM, readHeaderUp } from '../../../../shared/policy/request-header/directive.ts';
import type { UpstreamSpec } from '../../../../shared/route.ts';
import { parseUpstream, socketPath } from '../../../../shared/values/address.ts';
import { parseSeconds } from '../../../../shared/values/duration.ts';
import { CADDY_REVERSE_PROXY, CADDY_TRANSPORT } from './caddy-words.ts';
import { HEALTH_OPTIONS, readHealth } from './health.ts';
import { readPolicy } from './lb-policy.ts';
import { LIMIT_OPTIONS, readPoolLimits } from './pool-limits.ts';
import type { Context, Rule, SiteDraft } from './rule.ts';
import { TRANSPORT_OPTIONS, transport } from './transport.ts';
import { readWeight, readWeights } from './weights.ts';

const MAX_UPSTREAMS = 10_000;
const FORM = 'reverse_proxy <host:port>|unix/<path> [<host:port>|unix/<path> …] [{ … }]';
const TO_FORM = 'to <host:port>|unix/<path> [<host:port>|unix/<path> …] [{ weight <n> }]';

/** A target as written in the file. */
type Target = { readonly word: Word; readonly weight: number };

export const reverseProxy: Rule<SiteDraft> = {
  name: 'reverse_proxy',
  form: FORM,
  scopes: ['site', 'handle'],
  args: [0, MAX_UPSTREAMS],
  block: 'optional',
  repeats: false,
  answers: true,
  read({ name, args, block }, draft, context) {
    const { report } = context;
    const targets = args.map((word): Target => ({ word, weight: 1 }));
    const options = readOptions(block === null ? [] : block.lines, targets, draft, context);
    if (targets.length === 0) return report.error(name, `reverse_proxy is missing an argument: write ${FORM}`);
    const upstreams = readTargets(targets, draft, report);
    const { weighted } = options;
    draft.members.upstreams = weighted === null ? upstreams : readWeights(weighted, upstreams, report);
  },
};

/** `weighted`: the line with Caddy's weights, in the order of the targets. */
type Options = { weighted: Directive | null };

/** Reads the lines of the block. Targets are appended to `targets`. */
function readOptions(lines: readonly Directive[], targets: Target[], draft: SiteDraft, context: Context): Options {
  const { report } = context;
  const options: Options = { weighted: null };
  const seen: Word[] = [];
  const health: Directive[] = [];
  const limits: Directive[] = [];
  for (const line of lines) {
    const { name } = line;
    const read = readerOf(name.text, { health, limits });
    if (read === undefined) {
      report.error(name, explainUnknownOption(name.text));
      continue;
    }
    const earlier = REPEATED.includes(name.text) ? undefined : firstOf(seen, name.text);
    seen.push(name);
    if (earlier) report.error(name, `${name.text} is already in ${lineOf(earlier, name)}; keep one of them`);
    else read(line, { targets, draft, options, context });
  }
  readHealth(health, draft, report);
  readPoolLimits(limits, draft, report);
  return options;
}

function explainUnknownOption(name: string): string {
  const why = CADDY_REVERSE_PROXY.get(name);
  if (why !== undefined) return `${name} of reverse_proxy: ${why}`;
  const instead = CADDY_TRANSPORT.get(name);
  if (TRANSPORT_OPTIONS.includes(name) || instead !== undefined)
    return `reverse_proxy has no ${quote(name)}: it belongs in the block of transport${instead === undefined ? '' : `: ${instead}`}`;
  return `reverse_proxy has no ${quote(name)}${didYouMean(name, REVERSE_PROXY_OPTIONS)}`;
}

/** The reader of each option's line. The lines of some options are collected and read together. */
function readerOf(
  name: string,
  { health, limits }: { readonly health: Directive[]; readonly limits: Directive[] },
): ((line: Directive, reading: Reading) => void) | undefined {
  if (HEALTH_OPTIONS.includes(name)) return (line) => health.push(line);
  if (LIMIT_OPTIONS.includes(name)) return (line) => limits.push(line);
  return OPTIONS.get(name);
}

type Reading = { readonly targets: Target[]; readonly draft: SiteDraft; readonly options: Options; readonly context: Context };

const OPTIONS: ReadonlyMap<string, (line: Directive, reading: Reading) => void> = new Map([
  ['to', readTo],
  ['lb_policy', readPolicyLine],
  ['lb_retries', readRetries],
  ['lb_try_duration', readTryDuration],
  ['transport', readTransport],
  ['header_up', changeReader(HEADER_UP_FORM, readHeaderUp)],
  ['header_down', changeReader(HEADER_DOWN_FORM, readHeaderDown)],
]);

/** The options of the block. */
export const REVERSE_PROXY_OPTIONS: readonly string[] = [...OPTIONS.keys(), ...HEALTH_OPTIONS, ...LIMIT_OPTIONS];

/** Options that may be written several times. */
const REPEATED = ['to', 'header_up', 'header_down'];

/** Targets, possibly with a weight. */
function readTo({ name, args, block }: Directive, { targets, context }: Reading): void {
  const { report, expanded } = context;
  if (args.length === 0) return report.error(name, `to is missing an argument: write ${TO_FORM}`);
  let weight = 1;
  const lines = block === null ? [] : expanded(block).lines;
  for (const line of lines) {
    if (line.name.text !== 'weight') report.error(line.name, `to has no ${quote(line.name.text)}: write ${TO_FORM}`);
    else if (line !== lines[0])
      report.error(line.name, `weight is already in ${lineOf(lines[0]?.name ?? name, line.name)}; keep one of them`);
    else if (!line.args[0] || line.args[1] || line.block)
      report.error(line.args[1] ?? line.block?.open ?? line.name, `write weight <n>, a number from 0 to ${MAX_WEIGHT}`);
    else weight = readWeight(line.args[0], 'weight', report);
  }
  targets.push(...args.map((word): Target => ({ word, weight })));
}

function readPolicyLine(line: Directive, { draft, options, context: { report } }: Reading): void {
  if (draft.members.lb_policy !== undefined) return report.error(line.name, 'lb_policy is already next to reverse_proxy; keep one of them');
  if (line.block) return report.error(line.block.open, 'lb_policy takes no block');
  if (line.args[0]?.text !== 'weighted_round_robin') return readPolicy(line, draft, report);
  draft.members.lb_policy = { policy: 'round_robin' };
  options.weighted = line;
}

function readRetries(line: Directive, { draft, context: { report } }: Reading): void {
  const word = onlyArgument(line, 'lb_retries <n>', report);
  if (word === undefined) return;
  if (/^\d{1,2}$/.test(word.text) && Number(word.text) <= MAX_RETRIES) draft.members.lb_retries = Number(word.text);
  else report.error(word, `lb_retries ${quote(word.text)}: a number from 0 to ${MAX_RETRIES}`);
}

/** Another name of hold. */
function readTryDuration(line: Directive, { draft, context: { report } }: Reading): void {
  const word = onlyArgument(line, 'lb_try_duration <duration>', report);
  if (word === undefined) return;
  const time = parseSeconds(word.text, MAX_HOLD_SECS);
  if (!time.ok) report.error(word, `lb_try_duration ${quote(word.text)}: ${time.reason}`);
  else if (draft.members.hold_secs !== undefined) report.error(line.name, 'lb_try_duration means the same as hold; keep one of them');
  else {
    draft.members.hold_secs = time.value;
    draft.ofPool.add('hold_secs');
  }
}

/** Reads a line that changes a header field of requests or responses. */
function changeReader(
  form: string,
  read: (line: Directive, part: SiteDraft['members'], report: Context['report']) => void,
): (line: Directive, reading: Reading) => void {
  return (line, { draft, context: { report } }) => {
    const { name, args, block } = line;
    if (args.length === 0) report.error(name, `${name.text} is missing an argument: write ${form}`);
    else if (block) report.error(block.open, `${name.text} takes no block: write ${form}`);
    else read(line, draft.members, report);
  };
}

/** The argument of an option; undefined, and reported, if the line has another form. */
function onlyArgument({ name, args: [word, extra], block }: Directive, form: string, report: Context['report']): Word | undefined {
  if (word === undefined) report.error(name, `${name.text} is missing an argument: write ${form}`);
  else if (extra) report.error(extra, `${quote(extra.text)} is one argument too many for ${name.text}: write ${form}`);
  else if (block) report.error(block.open, `${name.text} takes no block: write ${form}`);
  else return word;
  return undefined;
}

function readTransport(line: Directive, { draft, context }: Reading): void {
  const { report } = context;
  const extra = line.args[1];
  if (draft.members.transport !== undefined) return report.error(line.name, 'transport is already next to reverse_proxy; keep one of them');
  if (extra) return report.error(extra, `${quote(extra.text)} is one argument too many for transport: write ${transport.form}`);
  transport.read(line, draft, context, null);
  draft.ofPool.add('transport');
}

function readTargets(targets: readonly Target[], draft: SiteDraft, report: Context['report']): UpstreamSpec[] {
  const tlsOfFirst = schemeOf(targets[0]?.word.text ?? '') === 'https://';
  const upstreams: UpstreamSpec[] = [];
  const seen = new Set<string>();
  for (const { word, weight } of targets) {
    const scheme = schemeOf(word.text);
    const text = word.text.slice(scheme.length);
    if (!isUpstream(word, scheme, text, report)) continue;
    const address = parseUpstream(text);
    // Host names are case-insensitive, paths are not.
    const name = socketPath(text) === null ? text.toLowerCase() : text;
    if (!address.ok) report.error(word, `reverse_proxy ${quote(word.text)}: ${address.reason}`);
    else if ((scheme === 'https://') !== tlsOfFirst)
      report.error(word, `reverse_proxy ${quote(word.text)}: upstreams of one pool must all have https://, or none of them`);
    else if (seen.has(name)) report.error(word, `reverse_proxy ${quote(word.text)}: this upstream is listed twice; delete one`);
    else upstreams.push({ address: address.value, weight, state: 'healthy' });
    seen.add(name);
  }
  draft.members.tls = tlsOfFirst;
  return upstreams;
}

/** `http://`, `https://`, any other scheme, or nothing. */
function schemeOf(text: string): string {
  const end = text.indexOf('://');
  return end < 0 ? '' : text.slice(0, end + 3);
}

/** Gives a more specific reason where the intention is clear. */
function isUpstream(word: Word, scheme: string, text: string, report: Context['report']): boolean {
  const refuse = (why: string): boolean => {
    report.error(word, `reverse_proxy ${quote(word.text)}: ${why}`);
    return false;
  };
  if (word.text.startsWith('/') || word.text === '*')
    return refuse('to select a path, write "handle /api/* {", reverse_proxy inside it, and "}"');
  if (/;$/.test(text)) return refuse(`a line does not end with a semicolon: write ${unquoted(word.text.replace(/;+$/, ''))}`);
  if (scheme === 'h2c://') return refuse(`write ${unquoted(text)}, and transport h2c next to it`);
  if (scheme !== '' && scheme !== 'http://' && scheme !== 'https://')
    return refuse('an upstream is host:port, http://host:port or https://host:port');
  if (/^unix[/:+@]/i.test(text)) return true;
  const slash = text.indexOf('/');
  if (slash >= 0) return refuse(`an upstream has no path: write ${scheme}${unquoted(text.slice(0, slash))}`);
  if (/^:?\d{2,5}$/.test(text)) return refuse(`the host is missing: write ${scheme}localhost:${text.replace(':', '')}`);
  if (scheme === '' || /:\d*$/.test(text)) return true;
  return refuse(`the port is missing: write ${scheme}${unquoted(text)}:${scheme === 'https://' ? 443 : 80}`);
}
