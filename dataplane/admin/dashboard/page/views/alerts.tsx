import { exact } from '../data/format.ts';
import { AlertList } from '../parts/alert-list.tsx';
import { Card, Loading } from '../parts/card.tsx';
import { ALERTS, TEXT } from '../strings.ts';
import type { ViewProps } from './view.ts';

export function AlertsView({ overview }: ViewProps) {
  if (overview === null) return <Loading />;
  const { alerts, alert_count } = overview;
  const wrong = alerts.filter(({ severity }) => severity !== 'advice');
  const advice = alerts.filter(({ severity }) => severity === 'advice');
  return (
    <>
      <h1 class="hidden">{TEXT.alerts}</h1>
      {wrong.length === 0 ? (
        <p class="fine">{ALERTS.none}</p>
      ) : (
        <Card title={ALERTS.title} class="wrong">
          <AlertList alerts={wrong} />
        </Card>
      )}
      {advice.length > 0 && (
        <Card title={ALERTS.adviceTitle}>
          <AlertList alerts={advice} />
        </Card>
      )}
      {alert_count > alerts.length && <p class="note">{TEXT.of(exact(alerts.length), exact(alert_count))}</p>}
    </>
  );
}
