import { issuerOf } from '../../../../shared/certificates/issuer.ts';
import { CATCH_ALL } from '../../../../shared/values/host.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import { answers, type Policy, type PolicyKind, type PolicyTools } from '../policy.ts';

/**
 * Redirects requests without TLS to the same URL over HTTPS (308 keeps the method) if certificates are managed
 * automatically, even while the first one is still being ordered, or if one was provided. A site with `off`, one
 * that cannot get a certificate, or one that says so is served over HTTP, too.
 */
export const httpsRedirect: PolicyKind = (route) => {
  if (route.https === 'off' || route.https_redirect === false) return [];
  const { domain, https, ports } = route;
  // For the catch-all route it is unknown which hosts a certificate would cover.
  const provided = https === 'provided' && domain !== CATCH_ALL;
  // Not compiled into the route: authorities and certificates may change while the site does not.
  const active = (tools: PolicyTools): boolean =>
    provided || issuerOf({ domain, https }, tools.https) !== null || (domain !== CATCH_ALL && tools.isProvided(domain));
  // A wildcard for several labels, and its certificate, which covers one.
  const covered = route.wildcard === 'many' ? domain.slice(1) : null;
  const isCovered = (host: string, tools: PolicyTools): boolean =>
    covered === null || host.slice(Math.max(0, host.indexOf('.'))) === covered || tools.isProvided(host);
  let cachedFor: PolicyTools['https'] | null = null;
  let cached: number | null = null;
  /** The port to redirect to; null if there is no redirect. */
  const target = (x: Exchange, tools: PolicyTools): number | null => {
    if (x.secure) return null;
    if (cachedFor !== tools.https) {
      cachedFor = tools.https;
      cached = active(tools) ? securePort(ports, tools) : null;
    }
    return cached === null || isChallenge(x) || !isCovered(x.host, tools) ? null : cached;
  };
  const policy: Policy = {
    name: 'https',
    decide(x, tools) {
      const port = target(x, tools);
      return port === null ? null : redirection(x, port);
    },
    explain(x, tools) {
      const port = target(x, tools);
      return port === null ? null : answers(`308 to ${location(x, port)}`);
    },
  };
  return [policy];
};

/** The HTTPS port of a site that is only served on some ports; null if none of them is one. */
function securePort(ports: readonly number[] | undefined, { https, httpsPorts }: PolicyTools): number | null {
  const [main] = httpsPorts;
  if (ports === undefined || (main !== undefined && ports.includes(main))) return https.publicPort;
  return httpsPorts.find((port) => ports.includes(port)) ?? null;
}

/** Tokens of RFC 8555 8.3. */
const CHALLENGE = /^\/\.well-known\/acme-challenge\/[\w-]{1,128}$/;

/**
 * Whether a certificate authority may be asking for a token of the upstream's own ACME client: it asks over HTTP, and perhaps because there
 * is no certificate yet. Our own tokens have been answered before.
 */
const isChallenge = ({ method, target }: Exchange): boolean => (method === 'GET' || method === 'HEAD') && CHALLENGE.test(target);

const redirection = (x: Exchange, port: number): OwnAnswer => ({
  status: 308,
  fields: `Location: ${location(x, port)}\r\n`,
  body: '',
  reason: 'redirected to HTTPS',
});

/** `*` is the target of OPTIONS for the server as a whole and has no URL of its own. */
const location = (x: Exchange, port: number): string =>
  `https://${x.host}${port === 443 ? '' : `:${port}`}${x.target === '*' ? '/' : x.target}`;
