import type { Alert } from '../../../../../shared/wire/dashboard.ts';
import { moment, visible } from '../data/format.ts';
import { linkTo } from '../data/page-location.ts';
import { ALERTS } from '../strings.ts';
import { HostName } from './host-name.tsx';

/** The current problems, and what to do about them. */
export function AlertList({ alerts }: { alerts: readonly Alert[] }) {
  return (
    <ul class="alert-list">
      {alerts.map((alert) => (
        <li key={`${alert.code} ${alert.subject} ${alert.message}`} class={alert.severity}>
          <p class="subject">
            <span class={`tag ${alert.severity}`}>{ALERTS.severity[alert.severity]}</span>{' '}
            {alert.domain === null ? (
              <b>{visible(alert.subject)}</b>
            ) : (
              <a href={linkTo('hosts', alert.domain)}>
                {alert.subject === alert.domain ? <HostName name={alert.domain} /> : visible(alert.subject)}
              </a>
            )}
            {alert.since !== null && <span class="dim"> {ALERTS.since(moment(alert.since))}</span>}
          </p>
          <p>{visible(alert.message)}</p>
          <p class="action">{alert.action}</p>
        </li>
      ))}
    </ul>
  );
}
