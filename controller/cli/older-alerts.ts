import type { Alert } from '../../shared/wire/dashboard.ts';
import { SOURCE_FAILED } from '../../shared/wire/errors.ts';
import type { DataplaneStatus } from '../../shared/wire/status.ts';

/** What is wrong, from the status of a data plane that is too old to list alerts, as before an upgrade. */
export const olderAlerts = (dataplane: DataplaneStatus): Alert[] => [
  ...whatIsWrong(dataplane).map((message) => alert('warning', message)),
  ...(dataplane.advice ?? []).map((message) => alert('advice', message)),
];

const alert = (severity: Alert['severity'], message: string): Alert => ({
  ...{ severity, code: 'unknown', domain: null, subject: '', message, action: '', since: null },
});

function whatIsWrong(dataplane: DataplaneStatus): string[] {
  const { ready, reason, workers, controllers, warnings, problems, upstreams } = dataplane;
  const wrong: string[] = [];
  if (!ready) wrong.push(`not ready: ${reason ?? 'no reason given'}`);
  if (workers.serving < workers.configured)
    wrong.push(`${workers.configured - workers.serving} of ${workers.configured} workers are not serving`);
  for (const { id, connected, last_applied } of controllers)
    if (!connected)
      wrong.push(
        `${controllers.length === 1 ? 'the controller' : `controller ${id}`} is disconnected; its routes stay as of ${last_applied}`,
      );
  for (const { address, reason, domains, domain_count } of upstreams.out)
    wrong.push(
      `${address} is out of rotation: ${reason ?? 'no reason given'} (${domains.slice(0, 3).join(', ')}${domain_count > 3 ? ', …' : ''})`,
    );
  const more = upstreams.count - upstreams.healthy - upstreams.out.length;
  if (more > 0) wrong.push(`${more} more out of rotation`);
  wrong.push(...warnings);
  const failed = problems.find(({ code }) => code === SOURCE_FAILED);
  if (failed !== undefined) {
    const listed = controllers.some(({ listed, sources }) => (listed ?? sources).includes(failed.source));
    wrong.push(`a config has errors; ${listed ? 'its last good version is served' : 'nothing of it is served until they are fixed'}`);
  }
  wrong.push(...problems.map(({ origin, message }) => (message.startsWith(origin) ? message : `${origin}: ${message}`)));
  return wrong;
}
