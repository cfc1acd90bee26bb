/** What browsers send with a navigation: the fields as of their current versions, in their order. */
const CHROMIUM = (userAgent: string, mobile: boolean, platform: string): Record<string, string> => ({
  'sec-ch-ua': '"Chromium";v="140", "Not=A?Brand";v="24", "Google Chrome";v="140"',
  'sec-ch-ua-mobile': mobile ? '?1' : '?0',
  'sec-ch-ua-platform': `"${platform}"`,
  'upgrade-insecure-requests': '1',
  'user-agent': userAgent,
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8',
  'sec-fetch-site': 'none',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-user': '?1',
  'sec-fetch-dest': 'document',
  'accept-encoding': 'gzip, deflate, br, zstd',
  'accept-language': 'en-US,en;q=0.9',
});
const FIREFOX = (userAgent: string): Record<string, string> => ({
  'user-agent': userAgent,
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'accept-language': 'en-US,en;q=0.5',
  'accept-encoding': 'gzip, deflate, br, zstd',
  'upgrade-insecure-requests': '1',
  'sec-fetch-dest': 'document',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-site': 'none',
  'sec-fetch-user': '?1',
  priority: 'u=0, i',
});
const SAFARI = (userAgent: string): Record<string, string> => ({
  'sec-fetch-dest': 'document',
  'user-agent': userAgent,
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'sec-fetch-site': 'none',
  'sec-fetch-mode': 'navigate',
  'accept-language': 'en-GB,en;q=0.9',
  priority: 'u=0, i',
  'accept-encoding': 'gzip, deflate, br',
});
const chrome = (system: string, rest = 'Chrome/140.0.0.0 Safari/537.36'): string =>
  `Mozilla/5.0 (${system}) AppleWebKit/537.36 (KHTML, like Gecko) ${rest}`;
const safari = (system: string, rest: string): string => `Mozilla/5.0 (${system}) AppleWebKit/605.1.15 (KHTML, like Gecko) ${rest}`;

const WINDOWS = 'Windows NT 10.0; Win64; x64';
const IPHONE = 'iPhone; CPU iPhone OS 18_6 like Mac OS X';

export type Browser = {
  readonly name: string;
  readonly fields: Readonly<Record<string, string>>;
  /** As they are listed: browser, system, device. */
  readonly listed: readonly [browser: string, system: string, device: string];
};

export const BROWSERS: readonly Browser[] = [
  { name: 'Chrome on Windows', fields: CHROMIUM(chrome(WINDOWS), false, 'Windows'), listed: ['Chrome', 'Windows', 'desktop'] },
  {
    name: 'Chrome on a phone',
    fields: CHROMIUM(chrome('Linux; Android 10; K', 'Chrome/140.0.0.0 Mobile Safari/537.36'), true, 'Android'),
    listed: ['Chrome', 'Android', 'mobile'],
  },
  {
    name: 'Chrome on an Android tablet',
    fields: CHROMIUM(chrome('Linux; Android 10; K'), false, 'Android'),
    listed: ['Chrome', 'Android', 'tablet'],
  },
  {
    name: 'Chrome on a Chromebook',
    fields: CHROMIUM(chrome('X11; CrOS x86_64 14541.0.0'), false, 'Chrome OS'),
    listed: ['Chrome', 'Chrome OS', 'desktop'],
  },
  {
    name: 'Edge',
    fields: CHROMIUM(`${chrome(WINDOWS)} Edg/140.0.0.0`, false, 'Windows'),
    listed: ['Microsoft Edge', 'Windows', 'desktop'],
  },
  {
    name: 'Samsung Internet',
    fields: CHROMIUM(chrome('Linux; Android 10; K', 'SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36'), true, 'Android'),
    listed: ['Samsung Internet for Android', 'Android', 'mobile'],
  },
  {
    name: 'Firefox on Linux',
    fields: FIREFOX('Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0'),
    listed: ['Firefox', 'Linux', 'desktop'],
  },
  {
    name: 'Firefox on a phone',
    fields: FIREFOX('Mozilla/5.0 (Android 15; Mobile; rv:143.0) Gecko/143.0 Firefox/143.0'),
    listed: ['Firefox', 'Android', 'mobile'],
  },
  {
    name: 'Safari on a Mac',
    fields: SAFARI(safari('Macintosh; Intel Mac OS X 10_15_7', 'Version/18.6 Safari/605.1.15')),
    listed: ['Safari', 'macOS', 'desktop'],
  },
  {
    name: 'Safari on an iPhone',
    fields: SAFARI(safari(IPHONE, 'Version/18.6 Mobile/15E148 Safari/604.1')),
    listed: ['Safari', 'iOS', 'mobile'],
  },
  {
    name: 'Safari on an iPad that does not pose as a Mac',
    fields: SAFARI(safari('iPad; CPU OS 17_5 like Mac OS X', 'Version/17.5 Mobile/15E148 Safari/604.1')),
    listed: ['Safari', 'iOS', 'tablet'],
  },
  {
    name: 'Chrome on an iPhone',
    fields: SAFARI(safari(IPHONE, 'CriOS/140.0.7339.39 Mobile/15E148 Safari/604.1')),
    listed: ['Chrome', 'iOS', 'mobile'],
  },
];

export const BOTS = [
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/140.0.0.0 Safari/537.36',
  'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
  'curl/8.5.0',
  'Wget/1.21.4',
  'python-requests/2.32.3',
  'Go-http-client/2.0',
  'okhttp/4.12.0',
  '',
] as const;

export const MONITORS = [
  'Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)',
  'Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)',
  'Better Uptime Bot Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/97.0 Safari/537.36',
  'Mozilla/5.0 (compatible; StatusCake)',
  'kube-probe/1.30',
  'ELB-HealthChecker/2.0',
  'Amazon-Route53-Health-Check-Service (ref 0a1b; report http://amzn.to/1vsZADi)',
  'GoogleHC/1.0',
  'Prometheus/3.5.0',
  'Blackbox Exporter/0.27.0',
  'Uptime-Kuma/1.23.16',
  'check_http/v2.3.3 (monitoring-plugins 2.3.3)',
] as const;
