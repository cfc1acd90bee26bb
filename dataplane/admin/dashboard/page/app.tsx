import { useEffect, useRef, useState } from 'preact/hooks';
import type { History } from '../../../../shared/wire/history.ts';
import { storedToken, storeToken } from './data/api.ts';
import { visible } from './data/format.ts';
import { type Question, useLive } from './data/live.ts';
import { type PageLocation, usePageLocation } from './data/page-location.ts';
import { type Period, periodOf, periodQuery } from './data/period.ts';
import { proxyTime } from './data/proxy-time.ts';
import { readableHost } from './data/readable-host.ts';
import { Header } from './parts/header.tsx';
import { Search } from './parts/search.tsx';
import { PRODUCT, TEXT } from './strings.ts';
import { AlertsView } from './views/alerts.tsx';
import { CertificatesView } from './views/certificates.tsx';
import { CATCH_ALL, HostView } from './views/host.tsx';
import { OverviewView } from './views/overview.tsx';
import { RoutesView } from './views/routes.tsx';
import { SettingsView } from './views/settings.tsx';
import { TokenView } from './views/token.tsx';
import { UpstreamsView } from './views/upstreams.tsx';
import type { ViewProps } from './views/view.ts';

const VIEWS = {
  '': { title: TEXT.overview, View: OverviewView },
  hosts: { title: TEXT.overview, View: HostView },
  alerts: { title: TEXT.alerts, View: AlertsView },
  routes: { title: TEXT.routes, View: RoutesView },
  upstreams: { title: TEXT.upstreams, View: UpstreamsView },
  certificates: { title: TEXT.certificates, View: CertificatesView },
  settings: { title: TEXT.settings, View: SettingsView },
} as const;

const viewOf = (name: string) => (Object.hasOwn(VIEWS, name) ? VIEWS[name as keyof typeof VIEWS] : undefined);

const NO_HOSTS: NonNullable<History['hosts']> = [];

export function App() {
  const [attempt, setAttempt] = useState(0);
  const [searching, setSearching] = useState(false);
  const place = usePageLocation();
  const period = periodOf(place.query, proxyTime());
  const live = useLive(attempt, questionOf(place, period));
  const main = useRef<HTMLElement>(null);
  useTitle(place);
  useEffect(() => main.current?.focus({ preventScroll: true }), [place.view, place.subject]);
  useSearchKey(() => setSearching(true));
  if (live.refused !== null) {
    const enter = (token: string) => {
      storeToken(token);
      setAttempt(attempt + 1);
    };
    const checking = live.refused !== attempt;
    return <TokenView checking={checking} refused={!checking && storedToken() !== null} enter={enter} />;
  }
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        {TEXT.skip}
      </button>
      <Header place={place} live={live} search={() => setSearching(true)} />
      <main id="content" tabIndex={-1} ref={main}>
        <Content place={place} overview={live.overview} period={period} history={live.history} />
      </main>
      {searching && <Search close={() => setSearching(false)} hosts={live.history.value?.hosts ?? NO_HOSTS} />}
    </>
  );
}

/** Only two views show visits. In the question, `*` stands for all hosts, so the view of the catch-all asks for its own. */
function questionOf({ view, subject }: PageLocation, period: Period): Question {
  if ((view !== '' && view !== 'hosts') || subject === CATCH_ALL) return { domain: subject, period: '', query: '' };
  const { name, from, to } = period;
  const chosen = name === 'own' ? `${from} ${to}` : name;
  return { domain: subject, period: chosen, query: `&history=${encodeURIComponent(subject ?? '*')}&${periodQuery(period)}` };
}

function Content(props: ViewProps) {
  const view = viewOf(props.place.view);
  if (view !== undefined) return <view.View {...props} />;
  return (
    <section class="card empty">
      <h1>{TEXT.notFound}</h1>
      <a href="#/">{TEXT.back}</a>
    </section>
  );
}

function useTitle({ view, subject }: PageLocation): void {
  const title = subject ?? viewOf(view)?.title ?? TEXT.notFound;
  useEffect(() => {
    document.title = `${visible(readableHost(title))} · ${PRODUCT}`;
  }, [title]);
}

/** `/` opens the search, unless it is typed into a field. */
function useSearchKey(open: () => void): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      open();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
}
