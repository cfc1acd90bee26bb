/**
 * Search engines whose crawlers' addresses resolve to a host name that the operator documents: the text in their User-Agent (lower case),
 * and the domains of those host names. None of the domains contains machines of the operator's customers.
 */
export const BOTS = {
  googlebot: {
    agents: ['googlebot', 'google-inspectiontool', 'googleother', 'storebot-google', 'adsbot-google', 'mediapartners-google'],
    domains: ['googlebot.com', 'google.com'],
  },
  bingbot: { agents: ['bingbot', 'bingpreview', 'adidxbot', 'msnbot'], domains: ['search.msn.com'] },
  applebot: { agents: ['applebot'], domains: ['applebot.apple.com'] },
  yandexbot: { agents: ['yandex'], domains: ['yandex.ru', 'yandex.net', 'yandex.com'] },
  baiduspider: { agents: ['baiduspider'], domains: ['baidu.com', 'baidu.jp'] },
  slurp: { agents: ['slurp'], domains: ['crawl.yahoo.net', 'yse.yahoo.net'] },
  seznambot: { agents: ['seznambot'], domains: ['seznam.cz'] },
  petalbot: { agents: ['petalbot'], domains: ['petalsearch.com', 'aspiegel.com'] },
  mojeekbot: { agents: ['mojeekbot'], domains: ['mojeek.com'] },
} as const satisfies Record<string, { readonly agents: readonly string[]; readonly domains: readonly string[] }>;

export type BotName = keyof typeof BOTS;
export const BOT_NAMES = Object.keys(BOTS) as BotName[];
export const isBotName = (text: string): text is BotName => Object.hasOwn(BOTS, text);
