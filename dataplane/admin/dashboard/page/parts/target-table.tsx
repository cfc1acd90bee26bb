import type { UpstreamStatus } from '../../../../../shared/wire/status.ts';
import { exact, moment } from '../data/format.ts';
import { linkTo } from '../data/place.ts';
import { UPSTREAMS } from '../strings.ts';
import { Filtered } from './filtered.tsx';

const COLUMNS = [
  { name: UPSTREAMS.address },
  { name: UPSTREAMS.state },
  { name: UPSTREAMS.inFlight, number: true },
  { name: UPSTREAMS.lastFailure },
];
const HOSTS = { name: UPSTREAMS.hosts };

type TargetTableProps = {
  readonly targets: readonly UpstreamStatus[];
  readonly filter?: string | undefined;
  /** Whether these are the targets of one host: hosts are listed only if others share one. */
  readonly ofHost?: true;
};

export function TargetTable({ targets, filter, ofHost }: TargetTableProps) {
  const isShared = !ofHost || targets.some(({ domain_count }) => domain_count > 1);
  return (
    <Filtered
      caption={UPSTREAMS.address}
      columns={isShared ? [...COLUMNS, HOSTS] : COLUMNS}
      items={targets}
      textOf={({ address, id, domains, reason }) => [address, id, reason, ...domains].join(' ').toLowerCase()}
      first={filter}
      empty={UPSTREAMS.empty}
      noMatch={UPSTREAMS.noMatch}
      row={(target) => <Target key={`${target.address} ${target.id}`} target={target} hosts={isShared} />}
    />
  );
}

function Target({
  target: { address, id, tls, transport, healthy, reason, in_flight, last_failure, domains, domain_count },
  hosts,
}: {
  target: UpstreamStatus;
  hosts: boolean;
}) {
  return (
    <tr>
      <th scope="row">
        {address} <span class="dim">{[tls ? 'TLS' : '', transport ?? '', id?.slice(0, 12) ?? ''].filter(Boolean).join(' ')}</span>
      </th>
      <td>
        <span class={healthy ? 'good-text' : 'poor-text'}>{healthy ? UPSTREAMS.inRotation : UPSTREAMS.out}</span>
        {reason !== null && <span class="why">{reason}</span>}
      </td>
      <td class="number">{exact(in_flight)}</td>
      <td>
        {last_failure === undefined ? (
          <span class="dim">{UPSTREAMS.none}</span>
        ) : (
          <>
            {last_failure.reason}
            <span class="why">
              {moment(last_failure.at)}, {UPSTREAMS.failures(exact(last_failure.count))}
            </span>
          </>
        )}
      </td>
      {hosts && (
        <td>
          {domains.map((domain) => (
            <a key={domain} href={linkTo('hosts', domain)}>
              {domain}
            </a>
          ))}
          {domain_count > domains.length && <span class="dim">{UPSTREAMS.more(exact(domain_count - domains.length))}</span>}
        </td>
      )}
    </tr>
  );
}
