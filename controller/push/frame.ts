import type { ApplyInput, ReloadOutcome } from '../../shared/wire/apply.ts';
import type { DesiredCertificate, DesiredRoute } from '../desired/desire.ts';
import type { Truth } from '../reconcile/reconciler.ts';

/** Who speaks: the same in every frame of a process. */
export type Identity = { readonly controller: string; readonly epoch: number; readonly reload: boolean };

/** What a data plane acknowledged: the ground on which the next difference stands. */
export type Acknowledged = {
  readonly revision: number;
  readonly routes: ReadonlyMap<string, DesiredRoute>;
  readonly certificates: ReadonlyMap<string, DesiredCertificate>;
  readonly settings: string;
  readonly problems: string;
  readonly listed: readonly string[];
};

/** One frame as text lines, and what holds once it is acknowledged. */
export type Frame = { readonly lines: Iterable<string>; readonly becomes: Acknowledged; readonly whole: boolean };

/** The longest list of reload errors that fits a line with room to spare. Characters. */
const MAX_ERRORS_LENGTH = 200_000;

/** Everything, for a data plane of which nothing is known. Sources that have not listed are not named and keep what they have. */
export function wholeTruth(who: Identity, revision: number, truth: Truth, reload?: ReloadOutcome): Frame {
  const { desired } = truth;
  const problems = truth.problems.filter((problem) => desired.listed.includes(problem.source));
  const settings = settingsText(truth);
  const { routes, certificates, listed } = desired;
  const becomes = { revision, routes, certificates, settings, problems: JSON.stringify(problems), listed };
  const lines = function* () {
    yield head(who, revision, null, desired.listed);
    for (const { text } of certificates.values()) yield `{"certificate":${text}}\n`;
    for (const { text } of routes.values()) yield `{"route":${text}}\n`;
    if (settings !== '') yield `{"settings":${settings}}\n`;
    yield* tail(problems, revision, reload);
  };
  return { lines: { [Symbol.iterator]: lines }, becomes, whole: true };
}

/**
 * What changed since `base`; `again` are domains to be said again whether they changed or not.
 * @returns undefined when there is nothing to say.
 */
export function difference(
  who: Identity,
  base: Acknowledged,
  revision: number,
  truth: Truth,
  again: ReadonlySet<string>,
  reload?: ReloadOutcome,
): Frame | undefined {
  const { desired } = truth;
  const settings = settingsText(truth);
  const problems = JSON.stringify(truth.problems);
  const becomes = { revision, routes: desired.routes, certificates: desired.certificates, settings, problems, listed: base.listed };
  const certificates = certificateLines(base, truth);
  const routes = changedRoutes(base, truth, again);
  const removed = desired.routes === base.routes ? [] : [...base.routes].filter(([domain]) => !desired.routes.has(domain));
  const sayings =
    routes.length + removed.length + certificates.length + (settings === base.settings ? 0 : 1) + (problems === base.problems ? 0 : 1);
  if (sayings === 0 && !reload) return undefined;
  const lines = function* () {
    yield head(who, revision, base.revision, desired.sources);
    for (const [domain, { source }] of removed) yield `${JSON.stringify({ remove: { domain, source } })}\n`;
    yield* certificates;
    for (const { text } of routes) yield `{"route":${text}}\n`;
    if (settings !== base.settings) yield `{"settings":${settings === '' ? '{}' : settings}}\n`;
    yield* tail(truth.problems, revision, reload);
  };
  return { lines: { [Symbol.iterator]: lines }, becomes, whole: false };
}

/** A source that listed for the first time needs a whole truth: its routes of an earlier life may be gone. */
export const needsWhole = (base: Acknowledged, truth: Truth): boolean =>
  truth.desired.listed.some((source) => !base.listed.includes(source));

function changedRoutes(base: Acknowledged, truth: Truth, again: ReadonlySet<string>): DesiredRoute[] {
  const { routes } = truth.desired;
  if (routes === base.routes)
    return [...again].flatMap((domain) => {
      const route = routes.get(domain);
      return route ? [route] : [];
    });
  return [...routes].filter(([domain, { text }]) => base.routes.get(domain)?.text !== text || again.has(domain)).map(([, route]) => route);
}

function certificateLines(base: Acknowledged, { desired: { certificates } }: Truth): string[] {
  const gone = [...base.certificates].filter(([key]) => !certificates.has(key));
  const changed = [...certificates].filter(([key, { text }]) => base.certificates.get(key)?.text !== text);
  return [
    ...gone.map(([, { domains, source }]) => `${JSON.stringify({ remove_certificate: { domains, source } })}\n`),
    ...changed.map(([, { text }]) => `{"certificate":${text}}\n`),
  ];
}

function head(who: Identity, revision: number, basedOn: number | null, sources: readonly string[]): string {
  const apply: ApplyInput = { ...who, revision, based_on: basedOn, sources: [...sources] };
  return `${JSON.stringify({ apply })}\n`;
}

function* tail(problems: Truth['problems'], revision: number, reload: ReloadOutcome | undefined): Generator<string> {
  for (const problem of problems) yield `${JSON.stringify({ problem })}\n`;
  if (reload) yield `${JSON.stringify({ reload: { id: reload.id, errors: fitting(reload.errors) } })}\n`;
  yield `${JSON.stringify({ end: { revision } })}\n`;
}

/** The globals as text; empty while no source with globals has listed. A listing without globals says so. */
const settingsText = ({ desired }: Truth): string =>
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
