import type { FullRoute } from '../../../../../shared/wire/status.ts';
import { moment } from '../data/format.ts';
import { ROUTES } from '../strings.ts';

const NAMES = ['accepted', 'resolved', 'programmed'] as const;

/** The three facts of a route: understood, reachable, served. */
export function Conditions({ conditions }: { conditions: FullRoute['conditions'] }) {
  return (
    <ul class="conditions">
      {NAMES.map((name) => {
        const fact = conditions?.[name];
        const state = fact === undefined ? 'unknown' : fact.holds ? 'holds' : 'fails';
        const about = fact === undefined ? ROUTES.meaning[name] : `${fact.reason} · ${moment(fact.since)}`;
        return (
          <li key={name} class={state} title={about}>
            <span aria-hidden="true">{{ unknown: '○', holds: '✓', fails: '✗' }[state]}</span>
            {`\u00a0${ROUTES[name]}`}
            <span class="hidden">: {ROUTES[state]}</span>
            {state === 'fails' && <span class="why">{fact?.reason}</span>}
          </li>
        );
      })}
    </ul>
  );
}
