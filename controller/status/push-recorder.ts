import type { Log } from '../../shared/runtime/log/log.ts';
import type { Applied, RouteOutcome, TargetReport } from '../../shared/wire/apply.ts';
import type { DesiredState } from '../reconcile/reconciler.ts';
import type { Report } from './report.ts';

/** The events of a push task; see push/pusher.ts. */
type Event =
  | { readonly kind: 'applied'; readonly applied: Applied; readonly state: DesiredState }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'refused'; readonly error: string }
  | { readonly kind: 'disconnected'; readonly reason: string; readonly away: boolean }
  | { readonly kind: 'duplicate'; readonly of: string }
  | ({ readonly kind: 'upstream' } & TargetReport);

/** At most this many routes of one frame are listed in the log. */
const NAMED = 20;

/** Both processes start at the same time, so a missing data plane is not yet worth a warning. */
const NOT_THERE = /^(?:no such socket|connection refused)/;

/** Writes the events of one data plane's stream to the report and the log: each change once, each lasting failure once. */
export function createPushRecorder(address: string, report: Report, log: Log): (event: Event) => void {
  /** Why the last frame was refused. */
  let refusal: string | null = null;
  const unstored = new Map<string, string>();
  return (event) => {
    switch (event.kind) {
      case 'applied':
        refusal = null;
        report.applied(address, event.applied, event.state);
        logApplied(address, event.applied, log);
        return logCertificates(address, event.applied, unstored, log);
      case 'refused':
        refusal = event.error;
        if (report.failed(address, 'refused', event.error))
          log.error({ dataplane: address, reason: event.error }, 'the data plane refused a frame');
        return;
      case 'disconnected': {
        // It ends the stream because it has refused the frame, and is asked again: that is one failure.
        if (refusal !== null && !event.away) return void report.failed(address, 'failed', refusal);
        refusal = null;
        const starting = report.isNew(address) && NOT_THERE.test(event.reason);
        if (!report.failed(address, 'failed', event.reason)) return;
        if (starting) log.info({ dataplane: address, reason: event.reason }, 'waiting for the data plane');
        else log.warn({ dataplane: address, reason: event.reason }, 'the data plane is unavailable; retrying');
        return;
      }
      case 'duplicate': {
        const reason = `it is the data plane of ${event.of}: name each data plane once`;
        if (report.duplicate(address, reason)) log.error({ dataplane: address, of: event.of }, 'two addresses lead to the same data plane');
        return;
      }
      case 'unchanged':
        return;
      case 'upstream':
        report.upstream(event);
        return;
    }
  };
}

function logApplied(address: string, applied: Applied, log: Log): void {
  const of = (result: RouteOutcome['result']) => applied.results.filter((one) => one.result === result);
  const refused = [...of('rejected'), ...of('conflicted')];
  for (const { domain, result, reason } of refused.slice(0, NAMED)) log.warn({ dataplane: address, domain, reason }, `route ${result}`);
  const counts = { added: of('added').length, changed: of('changed').length, removed: applied.removed.length, refused: refused.length };
  if (Object.values(counts).some((count) => count > 0))
    log.info({ dataplane: address, revision: applied.revision, ...counts }, 'routes applied');
}

/** `unstored` has the last failure of each certificate, by its domains: they are sent again and again until they are stored. */
function logCertificates(address: string, { certificates = [] }: Applied, unstored: Map<string, string>, log: Log): void {
  for (const { domains, result, reason = '' } of certificates.slice(0, NAMED)) {
    const key = domains.join();
    const failed = result === 'rejected' || result === 'conflicted';
    if (failed && unstored.get(key) !== reason) log.warn({ dataplane: address, domains, reason }, `certificate ${result}`);
    else if (!failed && result !== 'unchanged') log.info({ dataplane: address, domains }, `certificate ${result}`);
    if (failed) unstored.set(key, reason);
    else unstored.delete(key);
  }
}
