/** A container of the fake engine: the members that tests vary. */
export type FakeContainer = {
  readonly id: string;
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly running?: boolean;
  readonly paused?: boolean;
  readonly health?: 'starting' | 'healthy' | 'unhealthy';
  readonly address?: string;
  readonly network?: string;
  readonly port?: number;
  readonly published?: number;
  readonly stopSignal?: string;
  readonly stopTimeout?: number;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  /** What the list has in brackets after how long it has been up. */
  readonly note?: string;
};

/** A 64-digit id like an engine's: `fakeId(7)` begins with 000000000007. */
export const fakeId = (number: number): string => number.toString(16).padStart(12, '0').padEnd(64, 'f');

export type Listing = ReturnType<typeof listingOf>;

const stateOf = ({ running = true, paused = false }: FakeContainer) => (running ? (paused ? 'paused' : 'running') : 'exited');

function networksOf({ network = 'shop', address = '172.18.0.2', running = true }: FakeContainer) {
  return {
    [network]: {
      IPAMConfig: null,
      Links: null,
      Aliases: null,
      MacAddress: '',
      DriverOpts: null,
      GwPriority: 0,
      NetworkID: `${network}-id`,
      EndpointID: running ? 'e0' : '',
      Gateway: running ? '172.18.0.1' : '',
      IPAddress: running ? address : '',
      IPPrefixLen: running ? 16 : 0,
      IPv6Gateway: '',
      GlobalIPv6Address: '',
      GlobalIPv6PrefixLen: 0,
      DNSNames: null,
    },
  };
}

/** One entry of `GET /containers/json`, in the form of engine 28. */
export function listingOf(container: FakeContainer) {
  const { id, name = id.slice(0, 12), labels = {}, port = 80 } = container;
  return {
    Id: id,
    Names: [`/${name}`],
    Image: 'app',
    ImageID: `sha256:${id}`,
    Command: '/app',
    Created: 1_767_225_600,
    Ports: [{ PrivatePort: port, Type: 'tcp' }],
    Labels: labels,
    State: stateOf(container),
    Status: stateOf(container) === 'exited' ? 'Exited (0) 1 second ago' : `Up 1 second${container.note ? ` (${container.note})` : ''}`,
    HostConfig: { NetworkMode: container.network ?? 'shop' },
    NetworkSettings: { Networks: networksOf(container) },
    Mounts: [],
  };
}

/** `GET /containers/{id}/json`, in the form of engine 28, with only the members that are read here. */
export function inspectionOf(container: FakeContainer) {
  const { id, name = id.slice(0, 12), labels = {}, port = 80, health, published, startedAt = '2026-01-01T00:00:01.000000000Z' } = container;
  const { finishedAt = '0001-01-01T00:00:00Z' } = container;
  const state = stateOf(container);
  const bindings = published === undefined ? null : [{ HostIp: '127.0.0.1', HostPort: String(published) }];
  return {
    Id: id,
    Created: '2026-01-01T00:00:00.000000000Z',
    Path: '/app',
    Args: [],
    State: {
      Status: state,
      Running: state !== 'exited',
      Paused: state === 'paused',
      Restarting: false,
      OOMKilled: false,
      Dead: false,
      Pid: 1,
      ExitCode: 0,
      Error: '',
      StartedAt: startedAt,
      FinishedAt: finishedAt,
      ...(health === undefined ? {} : { Health: { Status: health, FailingStreak: 0, Log: [] } }),
    },
    Image: `sha256:${id}`,
    Name: `/${name}`,
    RestartCount: 0,
    HostConfig: { NetworkMode: container.network ?? 'shop', PortBindings: {} },
    Config: {
      Image: 'app',
      Labels: labels,
      ExposedPorts: { [`${port}/tcp`]: {} },
      ...(container.stopSignal === undefined ? {} : { StopSignal: container.stopSignal }),
      ...(container.stopTimeout === undefined ? {} : { StopTimeout: container.stopTimeout }),
    },
    NetworkSettings: { Networks: networksOf(container), Ports: { [`${port}/tcp`]: bindings } },
  };
}
