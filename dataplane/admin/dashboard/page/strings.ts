/** Every English string of the page. */

export const PRODUCT = 'Sluice';

export const TEXT = {
  skip: 'Skip to the content',
  navigation: 'Pages',
  overview: 'Overview',
  routes: 'Routes',
  upstreams: 'Upstreams',
  certificates: 'Certificates',
  settings: 'Settings',
  alerts: 'Alerts',
  search: 'Search',
  searchHint: 'Hosts, containers, paths, addresses',
  searchNothing: 'Nothing found. The search covers hosts, containers, paths and addresses.',
  loading: 'Loading …',
  close: 'Close',
  allOf: (count: string) => `Show all ${count}`,
  more: (count: string) => `Show ${count} more`,
  table: (name: string) => `${name}: table`,
  of: (part: string, whole: string) => `${part} of ${whole}`,
  notFound: 'There is no such page.',
  back: 'Back to the overview',
} as const;

export const LIVE = {
  on: 'Live',
  connecting: 'Connecting …',
  /** `refusal` is the proxy's message, if there was one. */
  lost: (refusal: string, time: string | null) =>
    `${refusal === '' ? 'Connection lost' : `Not connected: ${refusal}`}. ${time === null ? 'Trying again …' : `Figures as of ${time}`}`,
} as const;

export const TOKEN = {
  title: 'Token required',
  explanation: 'This address asks for a token. It is kept until you close this tab.',
  label: 'Token',
  hint: 'The value of SLUICE_VIEW_TOKEN (reads only) or SLUICE_ADMIN_TOKEN. On the machine itself, “sluice dashboard” opens this page without a token.',
  submit: 'Open the dashboard',
  checking: 'Waiting for the proxy …',
  refused: 'The proxy does not accept this token.',
  viewOnly: 'The view token does not show the settings. Open the dashboard with SLUICE_ADMIN_TOKEN or with “sluice dashboard”.',
} as const;

export const ALERTS = {
  none: 'Nothing is wrong right now.',
  advice: (count: number) => `${count} ${count === 1 ? 'thing' : 'things'} could be better`,
  title: 'Wrong right now',
  adviceTitle: 'Could be better',
  severity: { error: 'Error', warning: 'Warning', advice: 'Advice' },
  since: (time: string) => `since ${time}`,
} as const;

export const NOW = {
  title: 'Right now',
  visitors: 'Visitors now',
  visitorsHint: 'Different people in the last five minutes',
  requests: 'Requests',
  traffic: 'Traffic',
  errors: 'Server errors',
  perSecond: (value: string) => `${value}/s`,
  targets: 'Targets',
  targetsHint: 'Those that get requests, of all',
  certificatesHint: 'Names that have a certificate',
  failing: (count: string, failed: string) => `${count}, ${failed} failing`,
  certificates: 'Certificates',
  uptime: 'Uptime',
  cached: 'From the cache',
  cachedHint: 'Share of the requests of cached sites that were answered with a stored response in the last hour',
  cacheUsed: 'Cache in use',
} as const;

export const RANGE = {
  label: 'Period',
  today: 'Today',
  day: '24 hours',
  week: '7 days',
  month: '30 days',
  year: '12 months',
  own: 'Own period',
  from: 'From',
  to: 'To',
  apply: 'Show',
  compared: 'Changes compare with the period before, up to the same hour.',
  utcDays: 'Days are those of UTC.',
  incomparable: 'No requests are known of the period before, so there is nothing to compare with.',
  partlyKept: (time: string) => `Nothing is compared with the period before, of which a part is unknown: figures are kept since ${time}.`,
  wrongOrder: 'The period ends before it begins.',
  tooLong: 'A period has at most 1,000 days.',
} as const;

export const METRIC = {
  visitors: 'Visitors',
  page_views: 'Page views',
  views: 'Requests',
  bytes: 'Traffic',
  latency: 'Response time (p95)',
  errors: 'Error rate',
} as const;

export const METRIC_HINT = {
  visitors: 'Different people. Machines are not included.',
  page_views: 'Pages that people looked at, without images, scripts and the like',
  views: 'All requests, of people and machines',
  bytes: 'Bytes sent to clients',
  latency: '95 of 100 responses were complete within this time',
  errors: 'Share of responses with a status of 500 or above',
} as const;

export const CHANGE = {
  none: 'no change',
  new: 'new',
  up: (value: string) => `${value} more than before`,
  down: (value: string) => `${value} less than before`,
} as const;

export const CHART = {
  label: (metric: string) => `${metric} over time`,
  help: 'Use the arrow keys to move from point to point, Home and End for the first and the last.',
  now: 'This period',
  before: 'Period before',
  unknown: '–',
  point: (time: string, value: string, before: string | null) => `${time}: ${value}${before === null ? '' : `, before ${before}`}`,
  table: 'Show the figures as a table',
  time: 'Time',
} as const;

export const LIST = {
  pages: 'Pages',
  entry_pages: 'Entry pages',
  referrers: 'Referrers',
  utm_source: 'Sources',
  utm_medium: 'Mediums',
  utm_campaign: 'Campaigns',
  countries: 'Countries',
  browsers: 'Browsers',
  systems: 'Systems',
  devices: 'Devices',
} as const;

export const LIST_GROUP = {
  content: 'Content',
  origin: 'Where visits come from',
  place: 'Countries',
  client: 'Browsers and devices',
} as const;

export const LIST_EMPTY = {
  pages: 'No page has been viewed in this period.',
  entry_pages: 'No visit came from another site in this period.',
  referrers: 'No visit came from another site in this period.',
  utm_source: 'Links with ?utm_source=… appear here.',
  utm_medium: 'Links with ?utm_medium=… appear here.',
  utm_campaign: 'Links with ?utm_campaign=… appear here.',
  countries: 'No country is known. Addresses of private networks have none; behind another proxy, set trusted_proxies.',
  browsers: 'No page has been viewed in this period.',
  systems: 'No page has been viewed in this period.',
  devices: 'No page has been viewed in this period.',
} as const;

export const LIST_COLUMN = { views: 'Page views', share: 'Share', change: 'Change' } as const;

export const VITALS = {
  title: 'How fast pages feel',
  lcp: { name: 'Largest Contentful Paint', short: 'LCP', meaning: 'How long until the main content of a page is visible.' },
  inp: { name: 'Interaction to Next Paint', short: 'INP', meaning: 'How long a page takes to react when someone clicks, taps or types.' },
  cls: { name: 'Cumulative Layout Shift', short: 'CLS', meaning: 'How much the content of a page moves while it is being read.' },
  good: 'Good',
  needs_improvement: 'Needs improvement',
  poor: 'Poor',
  bounds: (good: string, poor: string) => `Good up to ${good}, poor above ${poor}`,
  p75: 'p75',
  count: (count: string) => `${count} page views measured`,
  verdict: { good: 'is good', needs_improvement: 'needs improvement', poor: 'is poor' },
  empty:
    'No page has been measured in this period. Browsers report how fast pages feel if the site’s block of the Sluicefile has “analytics on”, or its container the label sluice.analytics=on.',
} as const;

export const RESPONSES = {
  title: 'Responses',
  classes: {
    s1xx: '1xx interim',
    s2xx: '2xx success',
    s3xx: '3xx redirect',
    s4xx: '4xx client error',
    s5xx: '5xx server error',
    other: 'Client left first',
  },
  empty: 'No request in this period.',
} as const;

export const LATENCY = {
  title: 'Response time',
  hint: 'From the complete head of a request to the end of its response, including downloads and event streams.',
  names: { p50: 'Half of the responses', p75: '3 of 4', p95: '95 of 100', p99: '99 of 100' },
} as const;

export const MACHINES = {
  title: 'People and machines',
  humans: 'People',
  bot: 'Bots',
  monitor: 'Monitors',
  prefetch: 'Prefetches',
  excluded: 'Excluded',
  gpc: 'Asked not to be counted',
} as const;

export const HOSTS = {
  title: 'Hosts',
  host: 'Host',
  pageViews: 'Page views',
  requests: 'Requests',
  minute: 'Last minute',
  hour: 'Last hour',
  status: 'Status',
  filter: 'Filter by name',
  fine: 'fine',
  wrong: 'not fine',
  emptyTitle: 'No route yet',
  empty: 'Start a container with the label sluice.domain=example.com, or write a site into the Sluicefile and save it:',
  example: 'example.com {\n  reverse_proxy 127.0.0.1:3000\n}',
  noTraffic: 'No request in this period.',
  routes: (count: number, text: string) => (count === 1 ? 'The route' : `All ${text} routes, also those without requests`),
} as const;

export const ROUTES = {
  host: 'Host',
  handler: 'Handled by',
  origin: 'Origin',
  conditions: 'State',
  since: 'Since',
  posted: 'Admin API',
  overrides: 'overrides the route of a controller',
  https: { auto: null, internal: 'internal authority', provided: 'provided certificate', off: 'HTTP only' },
  responds: (status: number) => `responds ${status}`,
  redirects: (count: number) => `${count} ${count === 1 ? 'redirect' : 'redirects'}`,
  blocks: (count: number) => `${count} path ${count === 1 ? 'block' : 'blocks'}`,
  files: 'files',
  maintenance: 'in maintenance: visitors get 503',
  challenged: 'under_attack: browsers solve a challenge first',
  nothing: 'no upstream',
  accepted: 'Accepted',
  resolved: 'Resolved',
  programmed: 'Programmed',
  meaning: { accepted: 'The controller understood it', resolved: 'It has a reachable target', programmed: 'This proxy serves it' },
  holds: 'yes',
  fails: 'no',
  unknown: 'not reported',
  empty: 'There are no routes.',
  noMatch: 'No route matches the filter.',
  problems: 'Not routed',
  source: (source: string) => `source ${source}`,
} as const;

export const UPSTREAMS = {
  address: 'Target',
  state: 'State',
  inRotation: 'in rotation',
  out: 'out of rotation',
  inFlight: 'In flight',
  hosts: 'Hosts',
  also: 'also for',
  lastFailure: 'Last failure',
  failures: (count: string) => `${count} since the start`,
  none: 'none',
  empty: 'No route has a target.',
  noMatch: 'No target matches the filter.',
  more: (count: string) => `and ${count} more`,
} as const;

export const CERTIFICATES = {
  names: 'Names',
  source: 'Source',
  issuer: 'Issuer',
  expires: 'Expires',
  renews: 'Renewal',
  state: 'State',
  valid: 'valid',
  expiring: 'expires soon',
  left: (time: string) => `in ${time}`,
  expired: 'expired',
  missing: 'missing',
  failing: 'renewal fails',
  sources: {
    acme: 'certificate authority (ACME)',
    pushed: 'Admin API',
    applied: 'controller',
    file: 'certificate directory',
    internal: 'internal authority',
  },
  notRenewed: 'not by Sluice',
  nextTry: (time: string) => `next attempt ${time}`,
  empty: 'There are no certificates. Set email in the Sluicefile’s global options, and certificates are ordered for public names.',
} as const;

export const SETTINGS = {
  name: 'Setting',
  value: 'Value',
  origin: 'Set by',
  origins: { default: 'default', file: 'Sluicefile', flag: 'flag', environment: 'environment' } as Record<string, string>,
  none: 'not set',
  yes: 'yes',
  no: 'no',
  process: 'This process',
  version: 'Version',
  restart: (version: string) => `${version} is installed and runs after a restart`,
  instance: 'Instance',
  generation: 'Generation',
  workers: 'Workers',
  serving: (serving: string, configured: string) => `${serving} of ${configured} serving`,
  controller: (id: string) => (id === 'controller' ? 'Controller' : `Controller ${id}`),
  connected: 'connected',
  away: 'away; its routes are still served',
  lastApplied: (time: string) => `last change ${time}`,
  reload: 'Last reload',
  reloadOk: 'succeeded',
  reloadFailed: 'failed',
} as const;

export const ERRORS = {
  title: 'The figures could not be loaded',
  network: 'The proxy does not respond. It may be restarting; this page tries again by itself.',
  historyOff: 'No history is kept (analytics_retention). Live figures are shown all the same.',
  noAnalytics: 'no analytics for domain',
} as const;

export const HOST = {
  visitorsNow: (visitors: number) => `${visitors} ${visitors === 1 ? 'visitor' : 'visitors'} now`,
  lastMinute: (text: string, requests: number) => `${text} ${requests === 1 ? 'request' : 'requests'} in the last minute`,
  cached: (share: string) => `${share} from the cache in the last hour`,
  quietTitle: 'No figures yet',
  quiet: 'This host has had no request so far. Open it in a browser, and its figures appear here.',
  quietWildcard: 'Each host that this route serves has figures of its own: choose it from the hosts of the overview, or search for it.',
  route: 'Route',
  home: 'A visit of /',
  certificate: 'Certificate',
  targets: (count: string) => `Targets (${count})`,
  noTarget: 'This host has no target.',
  near: (what: string) => `Similar: ${what}`,
  unroutedTitle: 'Not routed',
  unrouted: 'There is no route for this host, so its visitors get 404. What has been counted so far is kept.',
  unroutedQuiet:
    'There is no route for this host, and nothing has been counted for it. Check the name, or add a site or a container with it.',
  origin: 'Origin',
  source: 'Source',
  since: 'Since',
  blocks: 'Path blocks',
} as const;
