import type { CertificateRecord } from '../../../../../shared/wire/certificate.ts';
import { moment, span } from '../data/format.ts';
import { useLoaded } from '../data/load.ts';
import { linkTo } from '../data/page-location.ts';
import { DAY } from '../data/period.ts';
import { proxyTime } from '../data/proxy-time.ts';
import { searchable } from '../data/readable-host.ts';
import { Card, Waiting } from '../parts/card.tsx';
import { Cell, Filtered } from '../parts/filtered.tsx';
import { HostName } from '../parts/host-name.tsx';
import { CERTIFICATES, TEXT } from '../strings.ts';
import type { ViewProps } from './view.ts';

const REFRESH_MS = 30_000;
const COLUMNS = [
  { name: CERTIFICATES.names },
  { name: CERTIFICATES.state },
  { name: CERTIFICATES.expires },
  { name: CERTIFICATES.renews },
  { name: CERTIFICATES.issuer },
  { name: CERTIFICATES.source },
];

export function CertificatesView({ place }: ViewProps) {
  const certificates = useLoaded<CertificateRecord[]>('certificates', REFRESH_MS);
  if (certificates.value === null) return <Waiting loaded={certificates} />;
  const now = proxyTime();
  const sorted = certificates.value.toSorted((a, b) => urgencyOf(a, now) - urgencyOf(b, now));
  return (
    <>
      <h1 class="hidden">{TEXT.certificates}</h1>
      <Card title={TEXT.certificates}>
        <Filtered
          caption={TEXT.certificates}
          columns={COLUMNS}
          items={sorted}
          textOf={({ domains, issuer, source, last_error }) =>
            [...domains.map(searchable), issuer, source, last_error].join(' ').toLowerCase()
          }
          first={place.query.get('filter')}
          empty={CERTIFICATES.empty}
          noMatch={TEXT.searchNothing}
          row={(record) => <Row key={`${record.domains.join(' ')} ${record.serial}`} record={record} now={now} />}
        />
      </Card>
    </>
  );
}

/** The time of expiry; missing certificates come first. */
const urgencyOf = ({ not_after, last_error }: CertificateRecord, now: number): number =>
  not_after === null ? 0 : last_error === null ? Date.parse(not_after) : now;

type State = 'valid' | 'expiring' | 'expired' | 'missing' | 'failing';
const STYLE = { valid: 'good-text', expiring: 'warn-text', failing: 'warn-text', expired: 'poor-text', missing: 'poor-text' } as const;
/** Without renewal, this is the time to replace it. */
const SOON_MS = 14 * DAY;

function stateOf({ not_after, renew_at, last_error }: CertificateRecord, now: number): State {
  if (not_after === null) return 'missing';
  const left = Date.parse(not_after) - now;
  if (left <= 0) return 'expired';
  if (last_error !== null) return 'failing';
  return renew_at === null && left < SOON_MS ? 'expiring' : 'valid';
}

function Row({ record, now }: { record: CertificateRecord; now: number }) {
  const { domains, source, controller, issuer, not_after, renew_at, last_error, next_try } = record;
  const state = stateOf(record, now);
  const left = not_after === null ? 0 : Date.parse(not_after) - now;
  return (
    <tr>
      <th scope="row">
        {domains.map((domain) => (
          <div key={domain}>
            <a href={linkTo('hosts', domain)}>
              <HostName name={domain} />
            </a>
          </div>
        ))}
      </th>
      <Cell of={CERTIFICATES.state}>
        <span class={STYLE[state]}>{CERTIFICATES[state]}</span>
        {last_error !== null && <span class="why">{last_error}</span>}
        {next_try !== null && <span class="why">{CERTIFICATES.nextTry(moment(next_try))}</span>}
      </Cell>
      <Cell of={CERTIFICATES.expires}>
        {not_after === null ? '–' : moment(not_after)}
        {left > 0 && <span class="why">{CERTIFICATES.left(span(left / 1_000))}</span>}
      </Cell>
      <Cell of={CERTIFICATES.renews}>{renew_at === null ? CERTIFICATES.notRenewed : moment(renew_at)}</Cell>
      <Cell of={CERTIFICATES.issuer}>{issuer ?? '–'}</Cell>
      <Cell of={CERTIFICATES.source}>
        {CERTIFICATES.sources[source]}
        {controller !== undefined && <span class="why">{controller}</span>}
      </Cell>
    </tr>
  );
}
