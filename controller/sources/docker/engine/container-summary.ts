/** A container as the engine's list has it: enough to know which ones to look at, and whose an address is. */
export type ContainerSummary = {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** As the engine words it: `running`, `exited` … */
  readonly state: string;
  /** What stands in brackets at the end of the engine's words about it: `healthy`, `health: starting`, `Paused`. */
  readonly note: string;
  /** The networks that it is on, with the addresses that it has there while it runs. */
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

/** Engines leave out what is empty, or say null. @returns undefined for what has no id. */
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
