import { exact } from '../data/format.ts';
import { AlertList } from '../parts/alert-list.tsx';
import { Card, Loading } from '../parts/card.tsx';
import { ALERTS, TEXT } from '../strings.ts';
import type { ViewProps } from './view.ts';

export function AlertsView({ overview }: ViewProps) {
  if (overview === null) return <Loading />;
  const { alerts, alert_count } = overview;
  return (
    <>
      <h1 class="hidden">{TEXT.alerts}</h1>
      {alerts.length === 0 ? (
        <p class="fine">{ALERTS.none}</p>
      ) : (
        <Card title={ALERTS.title}>
          <AlertList alerts={alerts} />
          {alert_count > alerts.length && <p class="note">{TEXT.of(exact(alerts.length), exact(alert_count))}</p>}
        </Card>
      )}
    </>
  );
}
