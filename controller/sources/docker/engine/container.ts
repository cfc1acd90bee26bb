/** The parts of a container that routes need, read from the engine's inspection. */
export type Container = {
  readonly id: string;
  readonly name: string;
  /** RFC 3339, as written by the engine. */
  readonly createdAt: string;
  readonly image: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Sorted, without UDP ports. */
  readonly exposedTcpPorts: readonly number[];
  /** The networks on which it has an address, by name. */
  readonly networks: readonly ContainerNetwork[];
  /** `bridge`, `host`, `none`, `container:ID`, or a network's name. */
  readonly networkMode: string;
  readonly publishedPorts: readonly PublishedPort[];
  readonly status: EngineStatus;
  readonly health: ContainerHealth;
  /** RFC 3339; null if it never ran. */
  readonly startedAt: string | null;
  /** RFC 3339; null if it has never ended, or only the engine's list is known. */
  readonly finishedAt: string | null;
  /** The stop signal of its image; null means TERM. */
  readonly stopSignal: string | null;
  /** How long it may take to stop before it is killed, if its owner has set that; otherwise 0. */
  readonly stopTimeoutSecs: number;
  readonly composeProject: string | null;
  readonly composeService: string | null;
};

export type ContainerNetwork = { readonly name: string; readonly id: string; readonly ipv4: string | null; readonly ipv6: string | null };
export type PublishedPort = { readonly containerPort: number; readonly hostIp: string; readonly hostPort: number };

const STATUSES = ['created', 'running', 'paused', 'restarting', 'removing', 'exited', 'dead'] as const;
export type EngineStatus = (typeof STATUSES)[number];
const HEALTHS = ['starting', 'healthy', 'unhealthy'] as const;
export type ContainerHealth = 'none' | (typeof HEALTHS)[number];

/** A day: more than a connection can wait for. */
const MAX_STOP_SECS = 86_400;

type Nullable<T> = T | null | undefined;
type RawNetwork = { NetworkID?: Nullable<string>; IPAddress?: Nullable<string>; GlobalIPv6Address?: Nullable<string> };
type RawPorts = Readonly<Record<string, Nullable<readonly { HostIp?: string; HostPort?: string }[]>>>;

/** The parts read of an inspection. Engines leave out different members, so everything but the id may be missing. */
export type Inspection = {
  readonly Id: string;
  readonly Name?: Nullable<string>;
  readonly Created?: Nullable<string>;
  readonly State?: Nullable<{
    Status?: Nullable<string>;
    StartedAt?: Nullable<string>;
    FinishedAt?: Nullable<string>;
    Health?: Nullable<{ Status?: Nullable<string> }>;
  }>;
  readonly HostConfig?: Nullable<{ NetworkMode?: Nullable<string> }>;
  readonly Config?: Nullable<{
    Image?: Nullable<string>;
    Labels?: Nullable<Readonly<Record<string, string>>>;
    ExposedPorts?: Nullable<object>;
    StopSignal?: Nullable<string>;
    StopTimeout?: Nullable<number>;
  }>;
  readonly NetworkSettings?: Nullable<{ Networks?: Nullable<Readonly<Record<string, Nullable<RawNetwork>>>>; Ports?: Nullable<RawPorts> }>;
};

/** Never throws: missing and unknown values are read as absent. */
export function readContainer({ Id: id, Name, Created, State, HostConfig, Config, NetworkSettings }: Inspection): Container {
  const labels = Config?.Labels ?? {};
  return {
    id,
    name: (Name || id.slice(0, 12)).replace(/^\//, ''),
    createdAt: Created ?? '',
    image: Config?.Image ?? '',
    labels,
    exposedTcpPorts: exposed(Object.keys(Config?.ExposedPorts ?? {})),
    networks: networks(NetworkSettings?.Networks ?? {}),
    networkMode: HostConfig?.NetworkMode ?? '',
    publishedPorts: published(NetworkSettings?.Ports ?? {}),
    status: STATUSES.find((status) => status === State?.Status) ?? 'exited',
    health: HEALTHS.find((health) => health === State?.Health?.Status) ?? 'none',
    startedAt: time(State?.StartedAt),
    finishedAt: time(State?.FinishedAt),
    stopSignal: Config?.StopSignal || null,
    stopTimeoutSecs: stopTimeout(Config?.StopTimeout),
    composeProject: labels['com.docker.compose.project'] ?? null,
    composeService: labels['com.docker.compose.service'] ?? null,
  };
}

/** Engines write the first second of the first year for never. */
const time = (text: Nullable<string>): string | null => (text && !text.startsWith('0001-') ? text : null);

/** A negative number means that it is never killed. */
function stopTimeout(seconds: unknown): number {
  if (typeof seconds !== 'number') return 0;
  return seconds < 0 ? MAX_STOP_SECS : Math.min(seconds, MAX_STOP_SECS);
}

function exposed(ports: readonly string[]): number[] {
  const numbers = ports.map(tcpPort).filter((port) => port !== null);
  return [...new Set(numbers)].sort((a, b) => a - b);
}

/** `80/tcp` or `80`. */
function tcpPort(text: string): number | null {
  const port = Number(/^(\d{1,5})(?:\/tcp)?$/.exec(text)?.[1]);
  return port >= 1 && port <= 65_535 ? port : null;
}

function networks(raw: Readonly<Record<string, Nullable<RawNetwork>>>): ContainerNetwork[] {
  return Object.entries(raw)
    .map(([name, one]) => ({ name, id: one?.NetworkID ?? '', ipv4: one?.IPAddress || null, ipv6: one?.GlobalIPv6Address || null }))
    .filter(({ ipv4, ipv6 }) => ipv4 !== null || ipv6 !== null)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function published(raw: RawPorts): PublishedPort[] {
  return Object.entries(raw).flatMap(([name, bindings]) => {
    const containerPort = tcpPort(name);
    if (containerPort === null) return [];
    return (bindings ?? []).map(({ HostIp, HostPort }) => ({ containerPort, hostIp: HostIp ?? '', hostPort: Number(HostPort) }));
  });
}
