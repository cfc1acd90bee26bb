import type { ApplyInput, ReloadOutcome } from '../../shared/wire/apply.ts';
import type { DesiredCertificate, DesiredRoute } from '../desired/desire.ts';
import type { DesiredState } from '../reconcile/reconciler.ts';
import type { ConditionLines, SentConditions } from './condition-lines.ts';

/** The sender: the same in every frame of a process. */
export type ControllerIdentity = { readonly controller: string; readonly epoch: number; readonly reload: boolean };

/** The state that a data plane has acknowledged, from which the next difference is calculated. */
export type Acknowledged = {
  readonly revision: number;
  readonly routes: ReadonlyMap<string, DesiredRoute>;
  readonly certificates: ReadonlyMap<string, DesiredCertificate>;
  readonly settings: string;
  readonly problems: string;
  readonly listed: readonly string[];
  readonly conditions: SentConditions;
};

/** What a frame is made of. */
export type FrameContent = {
  readonly identity: ControllerIdentity;
  readonly revision: number;
  readonly state: DesiredState;
  readonly conditions: ConditionLines;
  /** The result of a reload that the data plane has requested. */
  readonly reload?: ReloadOutcome | undefined;
};

/** One frame as text lines, and the state once it is acknowledged. */
export type Frame = { readonly lines: Iterable<string>; readonly becomes: Acknowledged; readonly whole: boolean };

/** Enough for any list of reload errors that fits in a line (characters). */
const MAX_ERRORS_LENGTH = 200_000;

/** The complete state, for a data plane in an unknown state. Sources that have not listed are left out, so their routes stay. */
export function fullFrame({ identity, revision, state, conditions, reload }: FrameContent): Frame {
  const { desired } = state;
  const problems = state.problems.filter((problem) => desired.listed.includes(problem.source));
  const settings = settingsText(state);
  const { routes, certificates, listed } = desired;
  const texts = { settings, problems: JSON.stringify(problems) };
  const becomes = { revision, routes, certificates, ...texts, listed, conditions: conditions.becomes };
  const lines = function* () {
    yield head(identity, revision, null, desired.listed);
    for (const { text } of certificates.values()) yield `{"certificate":${text}}\n`;
    for (const { text } of routes.values()) yield `{"route":${text}}\n`;
    if (settings !== '') yield `{"settings":${settings}}\n`;
    yield* conditions.lines;
    yield* tail(problems, revision, reload);
  };
  return { lines: { [Symbol.iterator]: lines }, becomes, whole: true };
}

/** What is sent even if it is unchanged: the routes of these domains, and the certificates with these keys. */
export type SentAgain = { readonly routes: ReadonlySet<string>; readonly certificates: ReadonlySet<string> };

/** The changes since `base`. @returns undefined if there is nothing to send. */
export function deltaFrame(
  base: Acknowledged,
  again: SentAgain,
  { identity, revision, state, conditions, reload }: FrameContent,
): Frame | undefined {
  const { desired } = state;
  const settings = settingsText(state);
  const problems = JSON.stringify(state.problems);
  const becomes = {
    ...{ revision, routes: desired.routes, certificates: desired.certificates, settings, problems, listed: base.listed },
    conditions: conditions.becomes,
  };
  const certificates = certificateLines(base, state, again.certificates);
  const routes = changedRoutes(base, state, again.routes);
  const removed = desired.routes === base.routes ? [] : [...base.routes].filter(([domain]) => !desired.routes.has(domain));
  const lineCount =
    routes.length +
    removed.length +
    certificates.length +
    conditions.lines.length +
    (settings === base.settings ? 0 : 1) +
    (problems === base.problems ? 0 : 1);
  if (lineCount === 0 && !reload) return undefined;
  const lines = function* () {
    yield head(identity, revision, base.revision, desired.sources);
    for (const [domain, { source }] of removed) yield `${JSON.stringify({ remove: { domain, source } })}\n`;
    yield* certificates;
    for (const { text } of routes) yield `{"route":${text}}\n`;
    if (settings !== base.settings) yield `{"settings":${settings === '' ? '{}' : settings}}\n`;
    yield* conditions.lines;
    yield* tail(state.problems, revision, reload);
  };
  return { lines: { [Symbol.iterator]: lines }, becomes, whole: false };
}

/** A source that lists for the first time needs a full frame: it replaces routes from an earlier run. */
export const needsFullFrame = (base: Acknowledged, state: DesiredState): boolean =>
  state.desired.listed.some((source) => !base.listed.includes(source));

function changedRoutes(base: Acknowledged, state: DesiredState, again: ReadonlySet<string>): DesiredRoute[] {
  const { routes } = state.desired;
  if (routes === base.routes)
    return [...again].flatMap((domain) => {
      const route = routes.get(domain);
      return route ? [route] : [];
    });
  return [...routes].filter(([domain, { text }]) => base.routes.get(domain)?.text !== text || again.has(domain)).map(([, route]) => route);
}

function certificateLines(base: Acknowledged, { desired: { certificates } }: DesiredState, again: ReadonlySet<string>): string[] {
  const gone = [...base.certificates].filter(([key]) => !certificates.has(key));
  const changed = [...certificates].filter(([key, { text }]) => base.certificates.get(key)?.text !== text || again.has(key));
  return [
    ...gone.map(([, { domains, source }]) => `${JSON.stringify({ remove_certificate: { domains, source } })}\n`),
    ...changed.map(([, { text }]) => `{"certificate":${text}}\n`),
  ];
}

function head(identity: ControllerIdentity, revision: number, basedOn: number | null, sources: readonly string[]): string {
  const apply: ApplyInput = { ...identity, revision, based_on: basedOn, sources: [...sources] };
  return `${JSON.stringify({ apply })}\n`;
}

function* tail(problems: DesiredState['problems'], revision: number, reload: ReloadOutcome | undefined): Generator<string> {
  for (const problem of problems) yield `${JSON.stringify({ problem })}\n`;
  if (reload) yield `${JSON.stringify({ reload: { id: reload.id, errors: fitting(reload.errors) } })}\n`;
  yield `${JSON.stringify({ end: { revision } })}\n`;
}

/** The globals as text; empty until a source with globals has listed. A listing without globals is sent as such. */
const settingsText = ({ desired }: DesiredState): string =>
  desired.settings ? JSON.stringify(desired.settings) : desired.listed.includes('file') ? '{}' : '';

function fitting(errors: readonly string[]): string[] {
  const fits: string[] = [];
  let room = MAX_ERRORS_LENGTH;
  for (const error of errors) {
    const text = error.slice(0, 8_192);
    room -= text.length;
    if (room < 0) return [...fits, `and ${errors.length - fits.length} more`];
    fits.push(text);
  }
  return fits;
}
