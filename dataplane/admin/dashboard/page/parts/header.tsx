import { clockTime } from '../data/format.ts';
import type { Live } from '../data/live.ts';
import type { PageLocation } from '../data/page-location.ts';
import { linkTo } from '../data/page-location.ts';
import { LIVE, PRODUCT, TEXT } from '../strings.ts';

const PAGES = [
  ['', TEXT.overview],
  ['routes', TEXT.routes],
  ['upstreams', TEXT.upstreams],
  ['certificates', TEXT.certificates],
  ['settings', TEXT.settings],
] as const;

export function Header({ place, live, search }: { place: PageLocation; live: Live; search: () => void }) {
  const current = place.view === 'hosts' ? '' : place.view;
  const { alerts: listed = [], alert_count = 0 } = live.overview ?? {};
  const alerts = listed.filter(({ severity }) => severity !== 'advice').length;
  // Those that are left out are no worse than the last one that is listed.
  const isCut = alerts === listed.length && alert_count > alerts;
  return (
    <header>
      <a class="brand" href="#/">
        <svg viewBox="0 0 16 16" width="20" height="20" aria-hidden="true">
          <rect width="16" height="16" rx="4" />
          <path d="M4 3v10M8 3v10M12 3v10M2.5 8h11" />
        </svg>
        {PRODUCT}
      </a>
      <nav aria-label={TEXT.navigation}>
        {PAGES.map(([view, name]) => (
          <a key={view} href={linkTo(view)} aria-current={view === current ? 'page' : undefined}>
            {name}
          </a>
        ))}
        {alerts > 0 && (
          <a href={linkTo('alerts')} aria-current={current === 'alerts' ? 'page' : undefined} class="alerts">
            {TEXT.alerts} <span class="badge">{isCut ? `${alerts}+` : alerts}</span>
          </a>
        )}
      </nav>
      <button type="button" class="search" onClick={search}>
        {TEXT.search} <kbd>/</kbd>
      </button>
      <LiveState live={live} />
    </header>
  );
}

function LiveState({ live: { state, refusal, overview } }: { live: Live }) {
  const time = overview === null ? null : clockTime(overview.at);
  const text = { live: LIVE.on, connecting: LIVE.connecting, lost: LIVE.lost(refusal, time) }[state];
  return (
    <p class={`connection ${state}`} role="status">
      {text}
    </p>
  );
}
