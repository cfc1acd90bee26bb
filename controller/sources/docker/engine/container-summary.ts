import { type Container, type Inspection, readContainer } from './container.ts';

/** A container in the engine's list: enough to know which ones to inspect, and which container has an address. */
export type ContainerSummary = {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Its networks, with its addresses there while it runs. */
  readonly networks: readonly { readonly id: string; readonly name: string; readonly addresses: readonly string[] }[];
  /** What an inspection would say, as far as the list says it: when it started and how it stops is not in it. */
  readonly container: Container;
};

type Raw = {
  Id?: unknown;
  Names?: unknown;
  Created?: unknown;
  Image?: unknown;
  Labels?: Readonly<Record<string, string>> | null;
  State?: unknown;
  Status?: unknown;
  Ports?: unknown;
  HostConfig?: { NetworkMode?: unknown } | null;
  NetworkSettings?: { Networks?: Readonly<Record<string, RawNetwork | null>> | null } | null;
};
type RawNetwork = { NetworkID?: unknown; IPAddress?: unknown; GlobalIPv6Address?: unknown };
type RawPort = { IP?: unknown; PrivatePort?: unknown; PublicPort?: unknown; Type?: unknown };

/** Engines leave out empty members, or send null. @returns undefined for an entry without an id. */
export function readSummary(value: unknown): ContainerSummary | undefined {
  const raw = (typeof value === 'object' && value !== null ? value : {}) as Raw;
  if (typeof raw.Id !== 'string') return undefined;
  const [first] = Array.isArray(raw.Names) ? (raw.Names as unknown[]) : [];
  const name = typeof first === 'string' ? first.replace(/^\//, '') : raw.Id.slice(0, 12);
  const labels = raw.Labels ?? {};
  const networks = Object.entries(raw.NetworkSettings?.Networks ?? {}).map(([network, one]) => ({
    id: text(one?.NetworkID),
    name: network,
    addresses: [text(one?.IPAddress), text(one?.GlobalIPv6Address)].filter((address) => address !== ''),
  }));
  return { id: raw.Id, name, labels, networks, container: readContainer(inspectionFrom(raw.Id, name, raw)) };
}

function inspectionFrom(id: string, name: string, raw: Raw): Inspection {
  const networks = Object.entries(raw.NetworkSettings?.Networks ?? {}).map(([network, one]) => {
    const [ipv4, ipv6] = [text(one?.IPAddress), text(one?.GlobalIPv6Address)];
    return [network, { NetworkID: text(one?.NetworkID), IPAddress: ipv4, GlobalIPv6Address: ipv6 }] as const;
  });
  const ports = portsFrom(Array.isArray(raw.Ports) ? (raw.Ports as unknown[]) : []);
  return {
    Id: id,
    Name: name,
    Created: createdAt(raw.Created),
    State: { Status: text(raw.State), Health: { Status: healthIn(text(raw.Status)) } },
    HostConfig: { NetworkMode: text(raw.HostConfig?.NetworkMode) },
    Config: { Image: text(raw.Image), Labels: raw.Labels ?? {}, ExposedPorts: ports },
    NetworkSettings: { Networks: Object.fromEntries(networks), Ports: ports },
  };
}

/** The last second of 9999. */
const LATEST = 253_402_300_799;

/** From seconds since 1970. */
const createdAt = (seconds: unknown): string | null =>
  typeof seconds === 'number' && seconds >= 0 && seconds <= LATEST ? new Date(seconds * 1_000).toISOString() : null;

/** `Up 2 minutes (healthy)`, `Up 1 second (health: starting)`. */
const healthIn = (status: string): string => /\((?:health: )?([^()]*)\)$/.exec(status)?.[1] ?? '';

/** By port, as `80/tcp`, where each is published. Engines list them in a different order each time, which would look like a change. */
function portsFrom(listed: readonly unknown[]): Record<string, { HostIp: string; HostPort: string }[]> {
  const ports: Record<string, { HostIp: string; HostPort: string }[]> = {};
  const inOrder = listed.map((value) => ({ value, text: JSON.stringify(value) })).sort((a, b) => (a.text < b.text ? -1 : 1));
  for (const { value } of inOrder) {
    const { IP, PrivatePort, PublicPort, Type } = (typeof value === 'object' && value !== null ? value : {}) as RawPort;
    const name = `${PrivatePort}/${Type}`;
    const bindings = ports[name] ?? [];
    ports[name] = bindings;
    if (typeof PublicPort === 'number') bindings.push({ HostIp: text(IP), HostPort: `${PublicPort}` });
  }
  return ports;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
