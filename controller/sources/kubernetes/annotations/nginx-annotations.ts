import { CLUSTER_PREFIX } from '../../../../shared/name.ts';
import type { Ingress } from '../objects/ingress.ts';

/** The prefix of annotations of ingress-nginx. */
const NGINX_PREFIX = 'nginx.ingress.kubernetes.io/';

type Protection = { readonly by: string } | { readonly why: string };

const NO_EQUAL = 'an Ingress can’t say this here';
const SNIPPET = 'it may contain access rules';

/**
 * Annotations of ingress-nginx that restrict access, each with its equivalent here, or the reason why there is none. An Ingress copied from
 * there would otherwise be more open than its author intended.
 */
export const PROTECTING: ReadonlyMap<string, Protection> = new Map<string, Protection>([
  ...['whitelist-source-range', 'allowlist-source-range', 'denylist-source-range'].map((name): [string, Protection] => [
    name,
    { by: 'ip_filter' },
  ]),
  ...['auth-type', 'auth-secret'].map((name): [string, Protection] => [name, { by: 'basic_auth' }]),
  ...['auth-url', 'auth-signin'].map((name): [string, Protection] => [name, { by: 'forward_auth' }]),
  ...['limit-rps', 'limit-rpm'].map((name): [string, Protection] => [name, { by: 'rate_limit' }]),
  ...['auth-tls-secret', 'auth-tls-verify-client', 'auth-tls-match-cn'].map((name): [string, Protection] => [name, { why: NO_EQUAL }]),
  ...['enable-modsecurity', 'enable-owasp-core-rules', 'modsecurity-snippet'].map((name): [string, Protection] => [
    name,
    { why: NO_EQUAL },
  ]),
  ...['configuration-snippet', 'server-snippet', 'auth-snippet'].map((name): [string, Protection] => [name, { why: SNIPPET }]),
]);
const SWITCHED_OFF = /^(?:false|off|0|)$/;

type Foreign = { readonly reasons: readonly string[]; readonly ineffective: string | null };

/** What annotations of ingress-nginx mean for an Ingress: why it can't be served without them, and which ones have no effect. */
export function readNginxAnnotations(annotations: Ingress['annotations']): Foreign {
  const reasons: string[] = [];
  const others: string[] = [];
  for (const name of Object.keys(annotations).sort()) {
    if (!name.startsWith(NGINX_PREFIX)) continue;
    const protection = PROTECTING.get(name.slice(NGINX_PREFIX.length));
    const isOn = !SWITCHED_OFF.test((annotations[name] ?? '').trim());
    if (protection === undefined) others.push(name.slice(NGINX_PREFIX.length));
    else if (isOn && 'why' in protection)
      reasons.push(`${name} has no effect here, and ${protection.why}: remove it if the site may be open without it`);
    else if (isOn && 'by' in protection && annotations[CLUSTER_PREFIX + protection.by] === undefined)
      reasons.push(`${name} has no effect here, and the site would be open without it: write ${CLUSTER_PREFIX}${protection.by}`);
  }
  if (others.length === 0) return { reasons, ineffective: null };
  const [are, them] = others.length === 1 ? ['has', 'it'] : ['have', 'them'];
  const message = `${NGINX_PREFIX}${others.join(', ')} ${are} no effect here: write what Sluice has for ${them}, or remove ${them}`;
  return { reasons, ineffective: message.slice(0, 1_000) };
}
