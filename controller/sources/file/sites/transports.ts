import { firstOf } from '../../../../shared/config-file/directive.ts';
import type { RouteDraft } from '../../../../shared/route.ts';
import { ownPool, type PoolSpec } from '../../../../shared/upstreams/pools.ts';
import type { TransportSpec } from '../../../../shared/upstreams/transport.ts';
import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';
import type { SiteDraft } from '../directives/rule.ts';

/** Reports transports that do not fit the upstreams of a site or of one of its blocks. */
export function reportTransports(site: SiteDraft, report: DiagnosticReport): void {
  for (const draft of [site, ...site.handles.map((handle) => handle.draft)]) {
    const pool = draft === site ? poolOf(site.members) : ownPool(poolOf(site.members), poolOf(draft.members));
    const wrong = pool === null ? null : faultOf(pool);
    if (wrong === null) continue;
    const own = firstOf(draft.seen, 'transport');
    if (own) report.error(own, `${own.text}: ${wrong}`);
    else {
      const upstreams = firstOf(draft.seen, 'reverse_proxy');
      if (upstreams)
        report.error(upstreams, `the transport of the site applies here too: ${wrong}, or a transport of its own beside this line`);
    }
  }
}

const poolOf = ({ upstreams = [], tls = false, ...options }: RouteDraft): PoolSpec<unknown> => ({ ...options, upstreams, tls });

/** What to write instead; null if it is valid. Without any valid upstream there is nothing to compare with. */
function faultOf({ upstreams, tls, transport }: PoolSpec<unknown>): string | null {
  if (transport == null || upstreams.length === 0) return null;
  const { protocol, insecure, ca } = transport;
  if (insecure && ca !== undefined) return 'ca verifies the certificate and insecure skips verification; keep one of them';
  if (protocol === 'h2' && !tls) return 'h2 is over TLS: write h2c, or https:// before the upstreams';
  if (protocol === 'h2c' && tls) return 'h2c is without TLS: write h2, or the upstreams without https://';
  return !tls && isAboutTls(transport) ? 'certificate options need TLS: write https:// before the upstreams' : null;
}

const isAboutTls = ({ server_name: name, ca, insecure, client_certificate: own }: TransportSpec): boolean =>
  name !== undefined || ca !== undefined || insecure === true || own !== undefined;
