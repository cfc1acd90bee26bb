import type { DataplaneStatus, SettingStatus } from '../../../../../shared/wire/status.ts';
import { bytes, exact, moment, span } from '../data/format.ts';
import { useLoaded } from '../data/load.ts';
import { Card, Waiting } from '../parts/card.tsx';
import { Cell, Filtered } from '../parts/filtered.tsx';
import { NOW, SETTINGS, TEXT, TOKEN } from '../strings.ts';

const REFRESH_MS = 30_000;
const COLUMNS = [{ name: SETTINGS.name }, { name: SETTINGS.value }, { name: SETTINGS.origin }];

export function SettingsView() {
  const status = useLoaded<DataplaneStatus>('status', REFRESH_MS);
  return (
    <>
      <h1 class="hidden">{TEXT.settings}</h1>
      {status.value === null ? <Waiting loaded={status} /> : <Process status={status.value} />}
      <Values />
    </>
  );
}

function Process({ status }: { status: DataplaneStatus }) {
  const { version, installed_version: installed, workers, last_reload: reload } = status;
  const facts = [
    [SETTINGS.version, installed === undefined || installed === version ? version : `${version} · ${SETTINGS.restart(installed)}`],
    [NOW.uptime, span(status.uptime_secs)],
    [SETTINGS.workers, SETTINGS.serving(exact(workers.serving), exact(workers.configured))],
    [SETTINGS.generation, exact(status.generation)],
    [SETTINGS.instance, status.instance],
    ...status.controllers.map(
      ({ id, connected, sources, last_applied }) =>
        [
          SETTINGS.controller(id),
          [connected ? SETTINGS.connected : SETTINGS.away, sources.join(', '), SETTINGS.lastApplied(moment(last_applied))].join(' · '),
        ] as const,
    ),
    [
      SETTINGS.reload,
      reload === null ? '–' : [reload.ok ? SETTINGS.reloadOk : SETTINGS.reloadFailed, moment(reload.at), ...reload.errors].join(' · '),
    ],
  ] as const;
  return (
    <Card title={SETTINGS.process}>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

/** Settings that were set explicitly come first. */
function Values() {
  const settings = useLoaded<SettingStatus[]>('settings');
  if (settings.status === 403) return <p class="card empty">{TOKEN.viewOnly}</p>;
  if (settings.value === null) return <Waiting loaded={settings} />;
  return (
    <Card title={TEXT.settings}>
      <Filtered
        caption={TEXT.settings}
        columns={COLUMNS}
        items={settings.value.toSorted((a, b) => Number(a.origin === 'default') - Number(b.origin === 'default'))}
        textOf={({ name, value }) => `${name} ${value}`.toLowerCase()}
        empty={SETTINGS.none}
        noMatch={TEXT.searchNothing}
        row={({ name, value, origin }) => (
          <tr key={name}>
            <th scope="row">
              <code>{name}</code>
            </th>
            <Cell of={SETTINGS.value}>{shown(name, value)}</Cell>
            <Cell of={SETTINGS.origin}>
              <span class={origin === 'default' ? 'dim' : undefined}>{SETTINGS.origins[origin] ?? origin}</span>
            </Cell>
          </tr>
        )}
      />
    </Card>
  );
}

function shown(name: string, value: SettingStatus['value']) {
  if (value === null || value === '') return <span class="dim">{SETTINGS.none}</span>;
  if (typeof value === 'boolean') return value ? SETTINGS.yes : SETTINGS.no;
  if (typeof value === 'object') return value.length === 0 ? <span class="dim">{SETTINGS.none}</span> : value.join(', ');
  return typeof value === 'number' && name.endsWith('_size') ? `${bytes(value)} (${value})` : `${value}`;
}
