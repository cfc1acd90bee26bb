import { BEACON_PATH } from '../../../shared/name.ts';
import { type Seeded, seeded } from './seeded.ts';

/** One request of a visitor. `host` is without port. */
export type VisitorRequest = {
  /** Milliseconds after the previous one. */
  readonly after: number;
  readonly method: 'GET' | 'POST';
  readonly host: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** How many addresses the visitors have, so that some of them come back. */
const ADDRESSES = 3_000;
/** First octets that include private, loopback, reserved or multicast networks, which belong to no country. */
const NOT_PUBLIC = new Set([10, 100, 127, 169, 172, 192, 198, 203]);

const BROWSERS = {
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36': 30,
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36': 24,
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Mobile/15E148 Safari/604.1': 18,
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15': 9,
  'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0': 8,
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0': 7,
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0': 4,
} as const;
const BOTS = [
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)',
  'python-requests/2.32.3',
];
const MONITOR = 'Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)';
const REFERRERS = {
  '': 40,
  'https://www.google.com/': 28,
  'https://duckduckgo.com/': 8,
  'https://news.ycombinator.com/': 7,
  'https://www.reddit.com/': 6,
  'https://mastodon.social/': 5,
  'https://blog.example/best-teapots': 6,
} as const;
const CAMPAIGNS = [
  '?utm_source=newsletter&utm_medium=email&utm_campaign=autumn',
  '?utm_source=mastodon&utm_medium=social&utm_campaign=launch',
];
/** What a person opens next; the shop has these pages, except for the last two: 404 and 500. */
const PAGES = {
  '/': 20,
  '/teapots': 22,
  '/teapots/cast-iron': 12,
  '/teapots/glass': 10,
  '/cups': 12,
  '/journal/how-to-brew': 10,
  '/about': 5,
  '/basket': 8,
  '/teapots/sold-out': 3,
  '/basket/receipt': 1,
} as const;
const ENTRIES = { '/': 50, '/journal/how-to-brew': 25, '/teapots': 15, '/teapots/cast-iron': 10 } as const;
/** Paths that vulnerability scanners request. */
const PROBED = ['/wp-login.php', '/.env', '/phpmyadmin/', '/.git/config', '/admin'];

const SHOP = 'shop.localhost';
const KINDS = { person: 74, client: 8, bot: 9, monitor: 4, scanner: 3, private: 2 } as const;

/** Visits, one after another, without end: always the same for the same seed. `port` is that of the proxy. */
export function* visits(seed: number, port: number): Generator<readonly VisitorRequest[], never> {
  const random = seeded(seed);
  const addresses = Array.from({ length: ADDRESSES }, () => publicAddress(random));
  for (;;) {
    const from = { 'x-forwarded-for': random.pick(addresses) };
    const kind = random.weighted(KINDS);
    if (kind === 'person') yield person(random, from, port);
    else if (kind === 'private') yield person(random, { ...from, 'sec-gpc': '1' }, port);
    else yield programs(random, kind, from);
  }
}

function publicAddress(random: Seeded): string {
  let first = 0;
  do first = random.between(1, 223);
  while (NOT_PUBLIC.has(first));
  return [first, random.between(0, 255), random.between(0, 255), random.between(1, 254)].join('.');
}

type Fields = Readonly<Record<string, string>>;

/** A few pages of the shop with their style sheet, each with the measurements that its script posts when it is left. */
function person(random: Seeded, from: Fields, port: number): VisitorRequest[] {
  const agent = random.weighted(BROWSERS);
  const headers = { ...from, 'user-agent': agent, 'accept-encoding': 'gzip' };
  const origin = `http://${SHOP}:${port}`;
  // Phones are slower, and some people have a slow network.
  const slowness = (agent.includes('Mobile') ? 1.7 : 1) * random.skewed(1, 0.6);
  const requests: VisitorRequest[] = [];
  let referrer: string = random.weighted(REFERRERS);
  let path: string = random.weighted(ENTRIES);
  for (let left = random.between(1, 5); left > 0; left--) {
    const isEntry = requests.length === 0;
    const page = isEntry && random.fraction() < 0.12 ? path + random.pick(CAMPAIGNS) : path;
    const known = { ...headers, ...(referrer !== '' && { referer: referrer }) };
    const get = { method: 'GET', host: SHOP } as const;
    requests.push({
      ...get,
      after: isEntry ? 0 : random.between(200, 900),
      path: page,
      headers: { ...known, 'sec-fetch-dest': 'document' },
    });
    if (isEntry) requests.push({ ...get, after: 60, path: '/style.css', headers: { ...headers, 'sec-fetch-dest': 'style' } });
    requests.push({
      after: random.between(1_500, 7_000),
      method: 'POST',
      host: SHOP,
      path: BEACON_PATH,
      headers: { ...headers, origin, 'content-type': 'text/plain;charset=UTF-8', 'sec-fetch-dest': 'empty' },
      body: JSON.stringify(vitals(random, slowness)),
    });
    referrer = `${origin}${page}`;
    path = random.weighted(PAGES);
  }
  return requests;
}

/** Largest Contentful Paint and Interaction to Next Paint in ms, and Cumulative Layout Shift; not every visitor clicks. */
const vitals = (random: Seeded, slowness: number): { lcp: number; cls: number; inp?: number } => ({
  lcp: Math.min(Math.round(random.skewed(1_100, 0.5) * slowness), 30_000),
  cls: random.fraction() < 0.7 ? 0 : Number(random.skewed(0.07, 0.9).toFixed(4)),
  ...(random.fraction() < 0.7 && { inp: Math.min(Math.round(random.skewed(85, 0.8) * slowness), 5_000) }),
});

function programs(random: Seeded, kind: 'client' | 'bot' | 'monitor' | 'scanner', from: Fields): VisitorRequest[] {
  const get = (path: string, agent: string, host = SHOP): VisitorRequest => ({
    after: random.between(300, 1_500),
    method: 'GET',
    host,
    path,
    headers: { ...from, 'user-agent': agent },
  });
  if (kind === 'monitor') return [get('/', MONITOR), get('/ping', MONITOR, 'api.localhost')];
  if (kind === 'scanner') return PROBED.slice(random.between(0, 3)).map((path) => get(path, 'Mozilla/5.0'));
  if (kind === 'client')
    return [
      get('/v1/users', 'ShopApp/3.1 (iOS)', 'api.localhost'),
      get('/', 'ShopApp/3.1 (iOS)', 'app.localhost'),
      get(`/v1/orders/${random.between(1, 40)}`, 'ShopApp/3.1 (iOS)', 'api.localhost'),
    ];
  const agent = random.pick(BOTS);
  return ['/robots.txt', random.weighted(PAGES), random.weighted(PAGES)].map((path) => get(path, agent));
}
