import type { FullRoute } from '../../../../../shared/wire/status.ts';
import { moment, visible } from '../data/format.ts';
import { HOST, ROUTES } from '../strings.ts';
import { Conditions } from './conditions.tsx';

/** Where a route comes from, as terms and their descriptions. */
export function RouteFacts({ route }: { route: FullRoute }) {
  const paths = route.handles.flatMap(({ path }) => (path === null ? [] : [path]));
  const facts = [
    [HOST.origin, route.origin ?? (route.controller === null ? ROUTES.posted : '–')],
    [HOST.source, route.source ?? '–'],
    [HOST.since, moment(route.since)],
    [HOST.blocks, paths.join('  ')],
  ] as const;
  return (
    <>
      {facts.map(([name, value]) => (
        <div key={name} hidden={value === ''}>
          <dt>{name}</dt>
          <dd>{visible(value)}</dd>
        </div>
      ))}
      <div>
        <dt>{ROUTES.conditions}</dt>
        <dd>
          <Conditions conditions={route.conditions} />
        </dd>
      </div>
    </>
  );
}
