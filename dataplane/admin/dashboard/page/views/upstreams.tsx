import type { UpstreamStatus } from '../../../../../shared/wire/status.ts';
import { useLoaded } from '../data/load.ts';
import { Card, Waiting } from '../parts/card.tsx';
import { TargetTable } from '../parts/target-table.tsx';
import { TEXT } from '../strings.ts';
import type { ViewProps } from './view.ts';

const REFRESH_MS = 10_000;

export function UpstreamsView({ place }: ViewProps) {
  const upstreams = useLoaded<UpstreamStatus[]>('upstreams', REFRESH_MS);
  if (upstreams.value === null) return <Waiting loaded={upstreams} />;
  // Targets that are out of rotation come first.
  const sorted = upstreams.value.toSorted((a, b) => Number(a.healthy) - Number(b.healthy));
  return (
    <>
      <h1 class="hidden">{TEXT.upstreams}</h1>
      <Card title={TEXT.upstreams}>
        <TargetTable targets={sorted} filter={place.query.get('filter')} />
      </Card>
    </>
  );
}
