import { quote, unquoted } from '../../../../shared/config-file/quote.ts';
import type { Word } from '../../../../shared/config-file/word.ts';
import type { UpstreamSpec } from '../../../../shared/route.ts';
import { parseUpstream, socketPath } from '../../../../shared/values/address.ts';
import { CADDY_REVERSE_PROXY } from './caddy-words.ts';
import type { Context, Rule, SiteDraft } from './rule.ts';

const MOST_UPSTREAMS = 10_000;

export const reverseProxy: Rule<SiteDraft> = {
  name: 'reverse_proxy',
  form: 'reverse_proxy <host:port>|unix/<path> [<host:port>|unix/<path> …]',
  scopes: ['site', 'handle'],
  args: [1, MOST_UPSTREAMS],
  block: 'none',
  foreign: CADDY_REVERSE_PROXY,
  repeats: false,
  answers: true,
  read({ args }, draft, { report }) {
    const tlsOfFirst = schemeOf(args[0]?.text ?? '') === 'https://';
    const upstreams: UpstreamSpec[] = [];
    const seen = new Set<string>();
    for (const word of args) {
      const scheme = schemeOf(word.text);
      const text = word.text.slice(scheme.length);
      if (!isUpstream(word, scheme, text, report)) continue;
      const address = parseUpstream(text);
      // Host names are case-insensitive, paths are not.
      const name = socketPath(text) === null ? text.toLowerCase() : text;
      if (!address.ok) report.error(word, `reverse_proxy ${quote(word.text)}: ${address.reason}`);
      else if ((scheme === 'https://') !== tlsOfFirst)
        report.error(word, `reverse_proxy ${quote(word.text)}: upstreams of one pool must all have https://, or none of them`);
      else if (seen.has(name)) report.error(word, `reverse_proxy ${quote(word.text)}: this upstream is listed twice; delete one`);
      else upstreams.push({ address: address.value, weight: 1, state: 'healthy' });
      seen.add(name);
    }
    draft.members.tls = tlsOfFirst;
    draft.members.upstreams = upstreams;
  },
};

/** `http://`, `https://`, any other scheme, or nothing. */
function schemeOf(text: string): string {
  const end = text.indexOf('://');
  return end < 0 ? '' : text.slice(0, end + 3);
}

/** Gives a more specific reason where the intention is clear. */
function isUpstream(word: Word, scheme: string, text: string, report: Context['report']): boolean {
  const refuse = (why: string): boolean => {
    report.error(word, `reverse_proxy ${quote(word.text)}: ${why}`);
    return false;
  };
  if (word.text.startsWith('/') || word.text === '*')
    return refuse('to select a path, write "handle /api/* {", reverse_proxy inside it, and "}"');
  if (scheme !== '' && scheme !== 'http://' && scheme !== 'https://')
    return refuse('an upstream is host:port, http://host:port or https://host:port');
  if (/^unix[/:+@]/i.test(text)) return true;
  const slash = text.indexOf('/');
  return slash < 0 || refuse(`an upstream has no path: write ${scheme}${unquoted(text.slice(0, slash))}`);
}
