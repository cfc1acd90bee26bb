import type { UpstreamStatus } from '../../../../../shared/wire/status.ts';
import { exact, moment } from '../data/format.ts';
import { linkTo } from '../data/page-location.ts';
import { searchable } from '../data/readable-host.ts';
import { HOST, UPSTREAMS } from '../strings.ts';
import { Cell, Filtered } from './filtered.tsx';
import { HostName } from './host-name.tsx';

const COLUMNS = [
  { name: UPSTREAMS.address },
  { name: UPSTREAMS.state },
  { name: UPSTREAMS.inFlight, number: true },
  { name: UPSTREAMS.lastFailure },
];
/** How many other hosts are named beside a target of a host. */
const FEW = 3;
const HOSTS = { name: UPSTREAMS.hosts };

type TargetTableProps = {
  readonly targets: readonly UpstreamStatus[];
  readonly filter?: string | undefined;
  /** The host whose targets these are: of the others, only those are named that share one. */
  readonly of?: string;
};

export function TargetTable({ targets, filter, of }: TargetTableProps) {
  return (
    <Filtered
      caption={UPSTREAMS.address}
      columns={of === undefined ? [...COLUMNS, HOSTS] : COLUMNS}
      items={targets}
      textOf={({ address, id, domains, reason }) => [address, id, reason, ...domains.map(searchable)].join(' ').toLowerCase()}
      first={filter}
      empty={of === undefined ? UPSTREAMS.empty : HOST.noTarget}
      noMatch={UPSTREAMS.noMatch}
      row={(target) => <Target key={`${target.address} ${target.id}`} target={target} of={of} />}
    />
  );
}

function Target({ target, of }: { target: UpstreamStatus; of: string | undefined }) {
  const { address, id, tls, transport, healthy, reason, in_flight, last_failure, domains, domain_count } = target;
  const others = domains.filter((domain) => domain !== of);
  return (
    <tr>
      <th scope="row">
        {address} <span class="dim">{[tls ? 'TLS' : '', transport ?? '', id?.slice(0, 12) ?? ''].filter(Boolean).join(' ')}</span>
        {of !== undefined && others.length > 0 && (
          <span class="why">
            {UPSTREAMS.also} <Hosts domains={others.slice(0, FEW)} more={domain_count - 1 - Math.min(others.length, FEW)} />
          </span>
        )}
      </th>
      <Cell of={UPSTREAMS.state}>
        <span class={healthy ? 'good-text' : 'poor-text'}>{healthy ? UPSTREAMS.inRotation : UPSTREAMS.out}</span>
        {reason !== null && <span class="why">{reason}</span>}
      </Cell>
      <Cell of={UPSTREAMS.inFlight} number>
        {exact(in_flight)}
      </Cell>
      <Cell of={UPSTREAMS.lastFailure}>
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
      </Cell>
      {of === undefined && (
        <Cell of={UPSTREAMS.hosts}>
          <Hosts domains={domains} more={domain_count - domains.length} />
        </Cell>
      )}
    </tr>
  );
}

const Hosts = ({ domains, more }: { domains: readonly string[]; more: number }) => (
  <span class="hosts">
    {domains.map((domain) => (
      <a key={domain} href={linkTo('hosts', domain)}>
        <HostName name={domain} />
      </a>
    ))}
    {more > 0 && <span class="dim">{UPSTREAMS.more(exact(more))}</span>}
  </span>
);
