/** A container in the engine's list: enough to know which ones to inspect, and which container has an address. */
export type ContainerSummary = {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The engine's state: `running`, `exited` … */
  readonly state: string;
  /** The text in brackets at the end of the engine's status: `healthy`, `health: starting`, `Paused`. */
  readonly note: string;
  /** Its networks, with its addresses there while it runs. */
  readonly networks: readonly { readonly id: string; readonly name: string; readonly addresses: readonly string[] }[];
};

type Raw = {
  Id?: unknown;
  Names?: unknown;
  Labels?: Readonly<Record<string, string>> | null;
  State?: unknown;
  Status?: unknown;
  NetworkSettings?: { Networks?: Readonly<Record<string, RawNetwork | null>> | null } | null;
};
type RawNetwork = { NetworkID?: unknown; IPAddress?: unknown; GlobalIPv6Address?: unknown };

/** Engines leave out empty members, or send null. @returns undefined for an entry without an id. */
export function readSummary(value: unknown): ContainerSummary | undefined {
  const raw = (typeof value === 'object' && value !== null ? value : {}) as Raw;
  if (typeof raw.Id !== 'string') return undefined;
  const [first] = Array.isArray(raw.Names) ? (raw.Names as unknown[]) : [];
  return {
    id: raw.Id,
    name: typeof first === 'string' ? first.replace(/^\//, '') : raw.Id.slice(0, 12),
    labels: raw.Labels ?? {},
    state: typeof raw.State === 'string' ? raw.State : '',
    note: (typeof raw.Status === 'string' && /\(([^()]*)\)$/.exec(raw.Status)?.[1]) || '',
    networks: Object.entries(raw.NetworkSettings?.Networks ?? {}).map(([name, network]) => ({
      id: typeof network?.NetworkID === 'string' ? network.NetworkID : '',
      name,
      addresses: [network?.IPAddress, network?.GlobalIPv6Address].filter((one): one is string => typeof one === 'string' && one !== ''),
    })),
  };
}
