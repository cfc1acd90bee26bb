/** The relevant parts of an engine's event about a container. */
export type EngineEvent = {
  /** Without the text after a colon: `health_status: healthy` becomes `health_status`. */
  readonly action: string;
  /** The container's full id. */
  readonly id: string;
  /** Milliseconds since 1970 by the engine's clock. */
  readonly at: number;
  /** The signal of a `kill` event: a number or a name, as written by the engine. */
  readonly signal: string | undefined;
  /** For networks: the container was connected or disconnected. Such an event does not contain its labels. */
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** For networks: its id. From Podman its name, or nothing. */
  readonly network?: string;
  /** Whether what it reports may not be recorded yet: Podman reports a health check first. */
  readonly isEarly?: true;
};

/** Actions after which a container may have changed. */
const CONTAINER_ACTIONS = new Set([
  'create',
  'start',
  'restart',
  'stop',
  'kill',
  'die',
  'died',
  'destroy',
  'remove',
  'pause',
  'unpause',
  'health_status',
  'rename',
  'update',
  'oom',
]);
const NETWORK_ACTIONS = new Set(['connect', 'disconnect']);

type RawEvent = {
  Type?: unknown;
  Action?: unknown;
  status?: unknown;
  id?: unknown;
  Actor?: { ID?: unknown; Attributes?: Readonly<Record<string, unknown>> };
  time?: unknown;
  timeNano?: unknown;
  HealthStatus?: unknown;
};

/** Reads one line of the engine's event stream. @returns undefined for an irrelevant event, or text that is not one. */
export function readEvent(line: string): EngineEvent | undefined {
  const raw = parse(line);
  if (raw === undefined) return undefined;
  const attributes = raw.Actor?.Attributes ?? {};
  const action = text(raw.Action ?? raw.status)?.split(':')[0] ?? '';
  const at = typeof raw.timeNano === 'number' ? raw.timeNano / 1e6 : typeof raw.time === 'number' ? raw.time * 1_000 : 0;
  if (raw.Type === 'network') {
    const [actor, container] = [text(raw.Actor?.ID), text(attributes.container)];
    // With Podman the container is the actor.
    const [id, network] = container === undefined ? [actor, text(attributes.network) ?? ''] : [container, actor ?? ''];
    return id && NETWORK_ACTIONS.has(action) ? { action, id, at, signal: undefined, labels: undefined, network } : undefined;
  }
  const id = text(raw.Actor?.ID ?? raw.id);
  if (raw.Type !== 'container' || !id || !CONTAINER_ACTIONS.has(action)) return undefined;
  const event = { action: SAME_AS[action] ?? action, id, at, signal: text(attributes.signal), labels: strings(attributes) };
  return raw.HealthStatus === undefined ? event : { ...event, isEarly: true };
}

/** Podman's names for the same. */
const SAME_AS: Readonly<Record<string, string>> = { died: 'die', remove: 'destroy' };

function parse(line: string): RawEvent | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as RawEvent) : undefined;
  } catch {
    // The next listing contains what this line would have reported.
    return undefined;
  }
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined;

function strings(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const read: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) if (typeof value === 'string') read[name] = value;
  return read;
}
