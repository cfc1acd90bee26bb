import type { BackendTlsPolicy } from '../objects/backend-tls-policy.ts';
import { byAge, nameOf } from '../objects/meta.ts';
import { GATEWAY_GROUP } from '../objects/object-ref.ts';
import { type Authorities, readAuthorities } from './authorities.ts';
import type { GatewaySnapshot } from './gateway-snapshot.ts';
import type { Grants } from './grants.ts';
import { fails, holds, type Verdict } from './status/verdict.ts';

/** How connections to the targets of a port use TLS; null if that is unknown, in which case there must be no connections to them at all. */
export type BackendTls = { readonly server_name: string; readonly ca?: string } | null;

/** A policy with its verdict. */
export type JudgedPolicy = { readonly policy: BackendTlsPolicy; readonly accepted: Verdict; readonly resolved: Verdict };

/** Which policy applies to which ports of Services. If there are several for the same port, the oldest applies. */
export class BackendPolicies {
  readonly judged: readonly JudgedPolicy[];
  /** By `NAMESPACE/SERVICE` and the name of a port, `*` being all of them. */
  private readonly byTarget = new Map<string, { readonly policy: BackendTlsPolicy; readonly tls: BackendTls }>();

  constructor({ backendTlsPolicies, authorities }: GatewaySnapshot, grants: Grants) {
    this.judged = [...backendTlsPolicies.values()].sort(byAge).map((policy) => {
      const { meta } = policy;
      const from = { group: GATEWAY_GROUP, kind: 'BackendTLSPolicy', namespace: meta.namespace };
      const read: Authorities = policy.wellKnown === null ? readAuthorities(policy.authorities, from, grants, authorities) : { pem: '' };
      const verdicts = verdictsOf(policy, read);
      const tls = verdicts.accepted.holds ? tlsOf(policy, read) : null;
      const rivals = policy.targets.flatMap(({ ref, section }) => {
        if (ref.kind !== 'Service' || ref.group !== '') return [];
        const key = `${nameOf({ namespace: meta.namespace, name: ref.name })} ${section ?? '*'}`;
        const rival = this.byTarget.get(key);
        if (rival === undefined) this.byTarget.set(key, { policy, tls });
        return rival === undefined ? [] : [rival.policy];
      });
      const [rival] = rivals;
      if (rival === undefined || rivals.length < policy.targets.length) return { policy, ...verdicts };
      return {
        policy,
        ...verdicts,
        accepted: fails('Conflicted', `the policy ${nameOf(rival.meta)}, which is older, has the same target`),
      };
    });
  }

  /** undefined if no policy applies. */
  of(service: string, port: string): { readonly policy: BackendTlsPolicy; readonly tls: BackendTls } | undefined {
    return this.byTarget.get(`${service} ${port}`) ?? this.byTarget.get(`${service} *`);
  }
}

function verdictsOf({ wellKnown, alternativeNames }: BackendTlsPolicy, read: Authorities): Pick<JudgedPolicy, 'accepted' | 'resolved'> {
  if (!('pem' in read)) {
    const reason = read.reason === 'kind' ? 'InvalidKind' : 'InvalidCACertificateRef';
    return { accepted: fails('NoValidCACertificate', read.message), resolved: fails(reason, read.message) };
  }
  const resolved = holds('ResolvedRefs');
  if (wellKnown !== null && wellKnown !== 'System')
    return { accepted: fails('Invalid', `wellKnownCACertificates ${wellKnown} is not supported`), resolved };
  if (alternativeNames.length > 0) return { accepted: fails('Invalid', 'subjectAltNames are not supported'), resolved };
  return { accepted: holds('Accepted'), resolved };
}

const tlsOf = ({ hostname }: BackendTlsPolicy, read: Authorities): BackendTls =>
  'pem' in read && read.pem !== '' ? { server_name: hostname, ca: read.pem } : { server_name: hostname };
