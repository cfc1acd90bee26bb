import type { Problem } from '../../../shared/wire/apply.ts';
import { SOURCE_FAILED } from '../../../shared/wire/errors.ts';
import type { Explanation, FullRoute, UpstreamStatus } from '../../../shared/wire/status.ts';
import type { ClusterObjectStatus, ContainerStatus } from '../../status/containers.ts';
import type { Terminal } from '../command/command.ts';
import { describeClusterObject, describeContainer } from '../command/containers.ts';
import { plain, styled } from '../command/terminal.ts';
import { describeBlock } from './explain-block.ts';

/** One fact with its name; a list of facts shares one name. */
type Fact = readonly [name: string, ...lines: string[]];

/** An explanation as text: the verdict, then the facts behind it in the order of evaluation. */
export function describeExplanation(
  terminal: Terminal,
  explanation: Explanation,
  containers: readonly ContainerStatus[] = [],
  clusterObjects: readonly ClusterObjectStatus[] = [],
): string {
  const { url, verdict, routed, route, policies, targets, certificate, problems, near, port } = explanation;
  const facts: Fact[] = [];
  if (route) facts.push(['route', ...describeRoute(route, explanation.matched)], ...hidden(route));
  const failing = failingConditions(route);
  if (failing.length > 0) facts.push(['conditions', ...failing]);
  if (port !== undefined) facts.push(['port', describePort(port, url, route)]);
  const block = describeBlock(explanation);
  if (block !== null) facts.push(['block', block]);
  if (policies.length > 0) facts.push(['policies', ...policies.map((one, at) => `${at + 1}. ${one.name}: ${one.verdict}`)]);
  if (targets.length > 0) facts.push([isAnsweredHere(verdict) ? 'behind' : 'targets', ...targets.map(describeTarget)]);
  if (containers.length > 0) facts.push(['containers', ...containers.map(describeContainer)]);
  if (clusterObjects.length > 0) facts.push(['objects', ...clusterObjects.map(describeClusterObject)]);
  if (routed) facts.push(['certificate', certificate]);
  if (near !== null) facts.push(['closest', near]);
  if (problems.length > 0) facts.push(['problems', ...describeProblems(problems, routed)]);
  const width = Math.max(...facts.map(([name]) => name.length), 0) + 2;
  const body = facts.flatMap(([name, ...lines]) => lines.map((line, at) => `  ${(at === 0 ? name : '').padEnd(width)}${plain(line)}\n`));
  return `${styled(terminal, 'bold', url)}: ${styled(terminal, routed ? 'green' : 'red', plain(verdict))}\n${body.join('')}`;
}

/** A policy responds instead of the targets, which are still listed. */
const isAnsweredHere = (verdict: string): boolean => verdict.startsWith('answered by');

function describePort(port: number, url: string, route: FullRoute | null): string {
  const kind = url.startsWith('https:') ? 'HTTPS' : 'HTTP';
  return `${port} (${kind})${route?.ports ? `; the site is only on ${route.ports.join(', ')}` : ''}`;
}

function describeRoute(route: FullRoute, matched: string | null): string[] {
  const from = route.origin ?? route.source;
  const by = route.controller === null ? 'posted manually' : `applied by ${route.controller}`;
  const domain = matched ?? route.domain;
  return [
    `${domain === '*' ? '* (every host without its own route)' : domain}, ${from ? `from ${from}, ` : ''}${by}, unchanged since ${route.since}`,
  ];
}

/** The conditions that are not met; a route that meets all of them needs no lines about them. */
function failingConditions(route: FullRoute | null): string[] {
  const { accepted, resolved, programmed } = route?.conditions ?? {};
  return Object.entries({ accepted, resolved, programmed }).flatMap(([name, fact]) =>
    fact === undefined || fact.holds ? [] : [`not ${name} since ${fact.since}: ${fact.reason}`],
  );
}

function hidden({ overrides, domain }: FullRoute): Fact[] {
  if (overrides === null) return [];
  return [
    ['overrides', `${domain} from ${overrides.origin ?? overrides.source ?? 'a controller'}, until the manually posted route is deleted`],
  ];
}

function describeTarget({ address, transport, healthy, reason, in_flight, last_failure: failure }: UpstreamStatus): string {
  const state = healthy ? 'healthy' : `out of rotation, ${reason ?? 'no reason known'}`;
  // One whose time is over counts as healthy until it is tried, also if it has never responded.
  const failed = failure === undefined ? '' : `; ${timesOf(failure.count)}, last at ${failure.at}: ${failure.reason}`;
  return `${address}${transport === undefined ? '' : ` (${transport})`}: ${state}, ${in_flight} in flight${failed}`;
}

const timesOf = (count: number): string => (count === 1 ? 'failed once' : `failed ${count} times`);

/** Errors that prevent reading a source are listed separately, as they do not concern this host in particular. */
function describeProblems(problems: readonly Problem[], routed: boolean): string[] {
  const failures = problems.filter(({ code }) => code === SOURCE_FAILED);
  const own = problems
    .filter(({ code }) => code !== SOURCE_FAILED)
    .map(({ origin, message, since }) => `${origin}: ${message} (since ${since})`);
  if (failures.length === 0) return own;
  const source = failures[0]?.source === 'file' ? 'the config file' : `the source ${failures[0]?.source}`;
  const consequence = routed ? 'its last good version stays in effect' : 'sites that are new in it are not routed';
  return [...own, `${source} has had errors since ${failures[0]?.since}: ${consequence}`, ...failures.map(({ message }) => `  ${message}`)];
}
