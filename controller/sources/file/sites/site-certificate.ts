import { covers } from '../../../../shared/certificates/certificate-names.ts';
import { quote, unquoted } from '../../../../shared/config-file/quote.ts';
import { CATCH_ALL, type Domain, parseDomain } from '../../../../shared/values/host.ts';
import type { SourceCertificate } from '../../source.ts';
import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';
import type { SiteDraft } from '../directives/rule.ts';

/** How many names of a certificate an error lists. */
const SHOWN = 5;
/** How many names fit in one line to a data plane. */
const MAX_DOMAINS = 100;

/** A site's certificate and its addresses; `everything`: also every other host that it covers. */
export type SiteCertificate = SourceCertificate & { readonly everything: boolean };

/** The certificate must cover every address; the hosts of `*` cannot be known in advance. */
export function reportUncovered(
  { pair: draft, members: { https } }: SiteDraft,
  domains: ReadonlyMap<Domain, unknown>,
  place: Position,
  report: DiagnosticReport,
): void {
  if (https === 'internal' && domains.has(CATCH_ALL))
    report.error(
      place,
      'tls internal: no certificate can be made for every host; name the hosts, or give one with tls <certificate> <key>',
    );
  if (draft === null) return;
  const { word, pair } = draft;
  const bare = [...domains.keys()].filter((domain) => domain !== CATCH_ALL && !covers(pair.domains, domain));
  if (bare.length === 0) return;
  const has = pair.domains.slice(0, SHOWN).join(', ') + (pair.domains.length > SHOWN ? ` and ${pair.domains.length - SHOWN} more` : '');
  report.error(word, `tls ${quote(word.text)}: it is for ${has}, not for ${unquoted(bare.slice(0, SHOWN).join(', '))}`);
}
type Position = Parameters<DiagnosticReport['error']>[0];

/** The certificate sent to the data plane for a site; null if the site supplies none. */
export function certificateOf({ pair: draft }: SiteDraft, domains: ReadonlyMap<Domain, unknown>): SiteCertificate | null {
  if (draft === null) return null;
  const { chain, privateKey, domains: names } = draft.pair;
  const everything = domains.has(CATCH_ALL);
  const all = [...new Set([...domains.keys(), ...(everything ? names : [])])];
  return { domains: all.filter((domain) => parseDomain(domain).ok), certificate: chain, private_key: privateKey, everything };
}

/** The names as sent: a catch-all site takes no name from another site, and no line is too long. */
export function combineCertificates(provided: readonly SiteCertificate[]): SourceCertificate[] {
  const own = new Set(provided.filter(({ everything }) => !everything).flatMap(({ domains }) => domains));
  return provided.flatMap(({ domains, everything, ...pair }) => {
    const mine = everything ? domains.filter((domain) => !own.has(domain)) : [...domains];
    const parts: SourceCertificate[] = [];
    while (mine.length > 0) parts.push({ domains: mine.splice(0, MAX_DOMAINS), ...pair });
    return parts;
  });
}
